"""The record application as a provider: packs, payloads, fixtures.

What needs a database or the service is imported when the first fixture is opened, so that a plan stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from providers.records import generator
from providers.records.entry import Pack
from providers.records.ladder import ladder
from providers.records.manifest import pack_manifest
from providers.records.shape import FHIR_SCHEMA, SCHEMA
from providers.records.storages import take_choice
from providers.records.variants import variants
from spec.canonical import JsonObject
from spec.errors import ConfigError, ProviderFault
from spec.reading import ReadPath, RecordSchema
from spec.task import Task
from spec.text import nearest
from spec.trial import Payload

if TYPE_CHECKING:
    from providers.records.desks import WorkerDesk
    from providers.records.fixture import Prepared, RecordsFixture
    from providers.records.storage import Stored

VERSION: Final = "1.0.0"


@dataclass(frozen=True, slots=True)
class Drawing:
    """How many tasks are drawn, and from which seed; of use to one pack alone."""

    count: int
    seed: int


PACKS: Final[Mapping[str, Callable[[str, Drawing], Pack]]] = {
    "ladder": lambda channel, _: ladder(channel),
    "variants": lambda channel, _: variants(channel),
    generator.NAME: lambda channel, drawing: generator.generated(channel, drawing.count, drawing.seed),
}
SPLITS: Final = ("dev", "test", "all")
READS: Final = ("sql", "rest", "fhir")


class Records:
    """A small clinical record behind HTTP, with faults where it is written.

    Args:
        pack: a name of ``PACKS``.
        split: ``dev``, ``test`` or ``all``; only the pack ``generated`` holds tasks back.
        options: ``read``, the channel by which the oracle reads; ``count`` and ``seed`` of the pack ``generated``;
            those of ``providers.records.storages``.

    Raises:
        ConfigError: a value is not known, or the pack has no task in that split.
    """

    def __init__(self, pack: str = "ladder", split: str = "dev", options: Mapping[str, object] | None = None) -> None:
        given = dict(options or {})
        self._read = _choice(READS, given.pop("read", "sql"), "provider.options.read")
        name = _choice(tuple(PACKS), pack, "provider.pack")
        drawing = _take_drawing(given, name)
        self._storage = take_choice(given)
        if given:
            raise ConfigError(f"records has no option {next(iter(given))!r}", key="provider.options")
        self._split = _choice(SPLITS, split, "provider.split")
        self._pack = PACKS[name](self._read, drawing)
        chosen = [entry for entry in self._pack.entries if self._split in ("all", entry.task.split.value)]
        if not chosen:
            message = f"the pack {name!r} has no task in the split {self._split!r}"
            raise ConfigError(message, key="provider.split", hint="take the split 'all', or the pack 'generated'")
        self._entries = {entry.task.task_id: entry for entry in chosen}
        self._tasks = tuple(entry.task for entry in chosen)
        self._prepared: dict[str, Prepared] = {}
        self._desk: WorkerDesk | None = None

    @property
    def name(self) -> str:
        """Short name, as in reports."""
        return "records"

    @property
    def version(self) -> str:
        """Changes whenever a task or a fixture changes its meaning."""
        return VERSION

    @property
    def schema(self) -> RecordSchema:
        """The tables of the application; its echo and its diary are bookkeeping."""
        return FHIR_SCHEMA if self._read == "fhir" else SCHEMA

    @property
    def service_pid(self) -> int | None:
        """The service process, where it was started."""
        service = None if self._desk is None else self._desk.service
        return None if service is None else service.pid

    @property
    def read_credentials(self) -> Sequence[str]:
        """Environment variables that the oracle reads the record with."""
        return self._storage.read_credentials

    def check(self) -> None:
        """Look at what a run would meet, before it.

        Raises:
            ConfigErrors: the storage cannot be used.
        """
        self._storage.check()

    def tasks(self) -> Sequence[Task]:
        """The tasks of the chosen pack and split, in the pack's order."""
        return self._tasks

    def payload(self, task: Task, trial: int, run_seed: int) -> Payload:
        """The trial's seed and values."""
        return self._pack.payload(task.task_id, trial, run_seed)

    async def open(self, task: Task, payload: Payload) -> RecordsFixture:
        """A fresh record for one trial; the first one starts the service.

        Raises:
            ProviderFault: the task is not one of this pack, or service or database are not to be had.
        """
        from providers.records.desks import WorkerDesk
        from providers.records.fixture import open_fixture, prepare
        from providers.records.read_paths import READ_PATHS, Place

        entry = self._entries.get(task.task_id)
        if entry is None:
            raise ProviderFault(f"records has no task {task.task_id!r} in this pack and split")
        if self._desk is None:
            self._desk = WorkerDesk(self._storage.make)
        desk, service = await self._desk.open()
        prepared = self._prepared.get(task.task_id)
        if prepared is None:
            prepared = self._prepared[task.task_id] = prepare(entry, SCHEMA)

        def read_path(stored: Stored, record: str) -> ReadPath:
            return READ_PATHS[self._read](Place(stored, record, service.url, desk.base.read_token_file))

        return await open_fixture(desk, prepared, payload, read_path)

    def manifest(self) -> JsonObject:
        """The public manifest; see ``providers.records.manifest``."""
        return pack_manifest(self.name, VERSION, self._pack, self._split, tuple(self._entries.values()))

    async def close(self) -> None:
        """End the service and remove its files."""
        if self._desk is not None:
            await self._desk.close()


def _take_drawing(given: dict[str, object], pack: str) -> Drawing:
    """What of a pack is drawn, taken out of a provider's options."""
    bounds = {
        "count": (generator.COUNT_DEFAULT, 1, generator.COUNT_MAX),
        "seed": (0, 0, generator.SEED_MAX),
    }
    taken = {}
    for name, (default, least, most) in bounds.items():
        if name in given and pack != generator.NAME:
            raise ConfigError(f"goes with the pack {generator.NAME!r} alone", key=f"provider.options.{name}")
        value = given.pop(name, default)
        if type(value) is not int or not least <= value <= most:
            raise ConfigError(f"must be a whole number from {least} to {most}", key=f"provider.options.{name}")
        taken[name] = value
    return Drawing(**taken)


def _choice(known: Sequence[str], value: object, key: str) -> str:
    if isinstance(value, str) and value in known:
        return value
    raise ConfigError(f"{value!r} is not known to records", key=key, hint=nearest(str(value), list(known)))
