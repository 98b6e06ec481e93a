"""A run as it lies in its directory: its own configuration, prepared again, and its journal, read again.

What a run was made from stands as digests in the line that opened its last session. Whoever reads its rows again needs
the same tasks; whoever goes on with it needs the same everything, or has to accept what changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import orjson

from orchestrator.config import LoadedConfig, load_config
from orchestrator.config.rules import is_reference, nearest
from orchestrator.content import Content
from orchestrator.history import JOURNAL_NAME, History, read_latest
from orchestrator.journal import JOURNAL_FORMAT, LineReader, recover
from orchestrator.manifest import earned_info, read_manifest
from orchestrator.plan import Plan
from orchestrator.preparation import Prepared, prepare
from orchestrator.rundir import RUN_TOML
from orchestrator.shapes import check_head, check_opening
from spec.canonical import JsonObject
from spec.errors import ConfigErrors, InputError, JournalDamaged

_KEYS_SHOWN: Final = 40
_NO_REASONS: Final[Mapping[str, Sequence[str]]] = {}


@dataclass(frozen=True, slots=True)
class Stored:
    """A run directory, read.

    Attributes:
        prepared: the run's configuration, prepared in this process.
        history: its journal, read against that.
    """

    run_dir: Path
    prepared: Prepared
    history: History

    @property
    def run_id(self) -> str:
        """The run's name."""
        return str(self.history.recovered.head["run_id"])

    @property
    def parts(self) -> Mapping[str, Any]:
        """What the trials of the run's latest plan are made of."""
        return cast(Mapping[str, Any], self.history.session["parts"])

    @property
    def known(self) -> dict[str, Any]:
        """What the run's figures are about, from its last session: arms and options may have changed since."""
        session = {name: self.history.session[name] for name in ("plan_digest", "isolation")}
        return {**session, **earned_info(self.run_dir)}

    @property
    def content(self) -> Content:
        """What the trials of the run's latest plan are made of, trial by trial."""
        return Content(self.parts, self.prepared.plan)

    @property
    def seed(self) -> Callable[[int], int] | None:
        """Ordinal -> seed, where the provider is still the one that drew them."""
        return self.prepared.seed if self.parts["provider"] == self.prepared.parts["provider"] else None


def holds_run(run_dir: Path) -> bool:
    """Whether a run has begun in a directory, its journal or not."""
    return (run_dir / JOURNAL_NAME).exists() or (run_dir / RUN_TOML).exists()


def read_head(run_dir: Path) -> dict[str, Any]:
    """The journal's first line, which says what the run was made from.

    Raises:
        InputError: there is no run, or another version of this program wrote it.
        JournalHeadless: the first line is not whole and nothing follows it.
        JournalDamaged: the first line is not what was written.
    """
    journal = run_dir / JOURNAL_NAME
    if not journal.is_file():
        if (run_dir / RUN_TOML).is_file():
            raise InputError(
                f"{run_dir}: the run ended before its journal began, so nothing was started; "
                "remove the directory and start the run anew"
            )
        raise InputError(f"{run_dir}: there is no run here: it has no {JOURNAL_NAME}")
    try:
        with LineReader(journal) as lines:
            head: dict[str, Any] = orjson.loads(lines.read(0))
    except OSError as error:
        raise InputError(f"{journal}: cannot be read: {error.strerror}") from error
    except JournalDamaged:
        recover(journal, lambda line: None)  # tells a headless journal from a damaged one
        raise
    if head.get("format") != JOURNAL_FORMAT:
        raise InputError(f"{journal}: is of format {head.get('format')!r}, this version reads {JOURNAL_FORMAT}")
    check_head(head)
    return head


def load_run_config(
    run_dir: Path, environ: Mapping[str, str], *, sets: Sequence[str] = (), key: tuple[str, str] | None = None
) -> LoadedConfig:
    """The run's own configuration.

    Args:
        run_dir: the run directory.
        environ: environment variables for ``${NAME}``.
        sets: ``key=value`` texts that change it.
        key: task glob and arm to narrow it to; None: all of it.

    Raises:
        ConfigErrors: with every problem found.
    """
    folder = read_manifest(run_dir).get("config_folder")
    home = Path(folder) if isinstance(folder, str) else run_dir
    tasks, arms = ((key[0],), (key[1],)) if key else ((), ())
    return load_config(run_dir / RUN_TOML, environ=environ, sets=sets, folder=home, tasks=tasks, arms=arms)


def prepare_again(loaded: LoadedConfig) -> Prepared:
    """Prepare a run's own configuration, and say so where the folder that it needs is gone.

    Raises:
        ConfigErrors: something that it names cannot be had.
        InputError: what it names lay in a folder that is no longer there.
    """
    try:
        return prepare(loaded)
    except ConfigErrors as error:
        config = loaded.config
        uses = [config.run.kind, config.provider.use, *(arm.use for arm in config.arms)]
        needed = [use for use in uses if is_reference(use)]
        if not needed or loaded.folder.is_dir():
            raise
        raise InputError(
            f"{loaded.folder}, the folder of the run's configuration, is gone, and {', '.join(needed)} "
            f"cannot be found without it: {error.errors[0].message}"
        ) from error


def stored_plan(session: JsonObject, loaded: LoadedConfig) -> Plan:
    """The plan of a session from a run's files alone, without its provider.

    Args:
        session: the body of the line that opened it; a head does not say how many trials there are.
        loaded: the run's own configuration.

    Raises:
        InputError: the session does not say.
    """
    check_opening(session)
    if "parts" not in session:
        raise InputError("the line that opens a session does not say what its trials are made of")
    parts = cast(Mapping[str, Any], session["parts"])
    trials = cast(int, session.get("trials", loaded.config.run.trials))
    return Plan(tuple(parts["tasks"]), tuple(parts["arms"]), trials)


def open_stored(run_dir: Path, environ: Mapping[str, str]) -> Stored:
    """Read a run for its rows: the tasks have to be those that it was judged by.

    Raises:
        InputError: there is no run, its tasks have changed since, or its run.toml is not that of its last session.
        JournalDamaged: its journal is damaged before its last commit.
    """
    read_head(run_dir)
    loaded = load_run_config(run_dir, environ)
    prepared = prepare_again(loaded)
    history = read_latest(run_dir / JOURNAL_NAME, lambda session: stored_plan(session, loaded))
    stored = Stored(run_dir, prepared, history)
    changed = task_changes(stored.parts, prepared.parts)
    if changed:
        raise InputError(f"{run_dir}: cannot be read again with this version of its tasks: {'; '.join(changed)}")
    if not history.ledger.plan.is_same(prepared.plan):
        raise InputError(
            f"{run_dir / RUN_TOML}: has other arms or another number of trials than the run's last session; "
            "put it back, or let `resume --accept-changes` go on with it"
        )
    return stored


def task_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """How the tasks of two plans differ, one sentence a difference."""
    old, new = before["tasks"], after["tasks"]
    found = _differences("task", old, new, _NO_REASONS)
    if not found and list(old) != list(new):
        found.append("the tasks stand in another order")
    return found


def part_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], reasons: Mapping[str, Sequence[str]] = _NO_REASONS
) -> list[str]:
    """How the parts of two plans differ, one sentence a difference.

    Args:
        before: parts of the earlier plan.
        after: parts of the later one.
        reasons: ``arm NAME`` or ``provider`` -> what about it has changed, as far as somebody knows.
    """
    found = task_changes(before, after) + _differences("arm", before["arms"], after["arms"], reasons)
    if before["provider"] != after["provider"]:
        why = reasons.get("provider") or ["its version, its options, its code or the run's seed"]
        found.append(f"the provider ({', '.join(why)}) has changed")
    return found


def _differences(
    what: str, old: Mapping[str, str], new: Mapping[str, str], reasons: Mapping[str, Sequence[str]]
) -> list[str]:
    """Changed, vanished and added entries; a change of an arm is its options, its deadline or its code."""
    found = []
    for name in old:
        if name in new and old[name] != new[name]:
            why = reasons.get(f"{what} {name}", ())
            found.append(f"{what} {name} has changed" + (f" ({', '.join(why)})" if why else ""))
    found += [f"{what} {name} is gone" for name in old if name not in new]
    return found + [f"{what} {name} is new" for name in new if name not in old]


def find_trial(plan: Plan, key: str) -> int:
    """The ordinal of a key.

    Raises:
        InputError: the plan has no such trial; with the nearest one.
    """
    ordinal = plan.find(key)
    if ordinal is None:
        known = [plan.key(place) for place in range(0, len(plan), plan.trials)][:_KEYS_SHOWN]
        raise InputError(f"{key!r} is no trial of this run; {nearest(key, known)}")
    return ordinal
