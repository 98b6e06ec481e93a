"""A provider that is declared in a TOML file; see docs/bring-your-record.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from providers.declared.checks import missing_variables
from providers.declared.contracts import effects
from providers.declared.loading import load_declaration
from providers.declared.manifest import declared_manifest
from providers.declared.model import Declaration, RecordTable, TaskTable
from providers.declared.params import draw, trial_seed
from spec.canonical import JsonObject
from spec.contract import Param
from spec.errors import ConfigError, ProviderFault
from spec.reading import RecordSchema
from spec.task import OracleSpec, Task
from spec.trial import Payload

if TYPE_CHECKING:  # clients of services and databases take longer to import than a plan may take
    from providers.declared.fixture import DeclaredFixture
    from providers.declared.shared import Shared

FORMAT: Final = "1"
"""Changes whenever the same declaration comes to mean something else."""

PREFIX: Final = "sha256:"
DIGEST_CHARS: Final = 16


class Declared:
    """A system of record that somebody else runs, with its tasks, from one TOML file.

    Args:
        pack: a declaration is one pack; its name, or the configuration's default.
        split: ``dev``, ``test`` or ``all``.
        options: ``file``, the declaration, from the configuration's folder.
        folder: the configuration's folder.

    Raises:
        ConfigError: the options are not right, or no task is in the split.
        ConfigErrors: with every problem of the declaration.
    """

    def __init__(
        self,
        pack: str = "anchor",
        split: str = "dev",
        options: Mapping[str, Any] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._loaded = loaded = load_declaration(options or {}, folder or Path())
        self._declaration = loaded.declaration
        if pack not in ("anchor", self._declaration.name):
            hint = f"leave it out, or write {self._declaration.name!r}"
            raise ConfigError(f"{pack!r} is no pack of this declaration", key="provider.pack", hint=hint)
        self._split = split
        self._tables = {
            table.id: table for table in self._declaration.tasks if split == "all" or table.split.value == split
        }
        if not self._tables:
            message = f"the declaration has no task in the split {split!r}"
            raise ConfigError(message, key="provider.split", hint='write split = "all"')
        self._tasks = {name: _task(self._declaration, table) for name, table in self._tables.items()}
        self._lock = anyio.Lock()
        self._shared: Shared | None = None

    @property
    def name(self) -> str:
        """Short name, as in reports."""
        return self._declaration.name

    @property
    def version(self) -> str:
        """What is declared, and the contents of every file that it names."""
        return f"{self._declaration.version}+{FORMAT}.{self._loaded.digest.removeprefix(PREFIX)[:DIGEST_CHARS]}"

    @property
    def schema(self) -> RecordSchema:
        """How the judge tells rows apart."""
        return _schema(self._declaration.record)

    @property
    def read_credentials(self) -> Sequence[str]:
        """Environment variables that only the oracle gets."""
        return tuple(self._declaration.record.read_credentials)

    def tasks(self) -> Sequence[Task]:
        """The tasks of the chosen split, in the file's order."""
        return tuple(self._tasks.values())

    def payload(self, task: Task, trial: int, run_seed: int) -> Payload:
        """The trial's seed and parameters, from run seed, task and trial alone."""
        table = self._tables[task.task_id]
        seed = trial_seed(run_seed, task.task_id, trial)
        return Payload(seed, draw({**self._declaration.params, **table.params}, seed))

    async def open(self, task: Task, payload: Payload) -> DeclaredFixture:
        """Reset the record for a trial.

        Raises:
            ProviderFault: something declared fails.
        """
        from providers.declared.fixture import open_fixture
        from providers.declared.shared import open_shared

        table = self._tables.get(task.task_id)
        if table is None:
            raise ProviderFault(f"the declaration has no task {task.task_id!r} in this split")
        async with self._lock:
            if self._shared is None:
                self._shared = await open_shared(self._loaded)
        wiring = draw({**self._declaration.wiring, **table.wiring}, payload.seed)
        return await open_fixture(self._shared, table, {**wiring, **payload.params})

    def check(self) -> None:
        """Look whether a run can have what is declared.

        Raises:
            ConfigErrors: with every problem found.
        """
        problems = [*missing_variables(self._declaration)]
        if problems:
            raise self._loaded.source.errors(problems)
        if self._declaration.check:
            from providers.declared.looking import look

            look(self._loaded)

    def manifest(self) -> JsonObject:
        """The public manifest; see ``providers.declared.manifest``."""
        return declared_manifest(self._loaded, self._split, self.tasks(), self.payload)

    async def close(self) -> None:
        """Give back what the trials shared."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.close()


def _task(declaration: Declaration, table: TaskTable) -> Task:
    params = {**declaration.params, **table.params}
    contract = effects(table.contract)
    terms = [term for effect in contract for term in (*effect.match.values(), effect.value, *effect.also.values())]
    return Task(
        task_id=table.id,
        title=table.title,
        goal=table.goal,
        category=table.category,
        contract=contract,
        oracle=OracleSpec(
            declaration.record.channel,
            trial_unique_payload=any(isinstance(term, Param) and params[term.name].is_unique for term in terms),
        ),
        correct_action_available=table.correct_action_available,
        substrate=table.substrate,
        reversible=table.axes.reversible,
        effect_declared=table.axes.effect_declared,
        split=table.split,
        settle_s=table.settle_s,
    )


def _schema(record: RecordTable) -> RecordSchema:
    kept = record.bookkeeping
    keys = {table: tuple(fields) for table, fields in record.keys.items()}
    return RecordSchema(record.main_table, record.id_field, tuple(kept.fields), tuple(kept.tables), keys)
