"""For Python users, notebooks included: run a configuration, try an arm, read a finished run.

::

    from orchestrator import evaluate, load, run

    result = run("configs/reference.toml")
    result.arms["screen_only"]["swer"]["rate"]

    async def my_agent(task, environment): ...
    evaluate(my_agent, "mockmed", trials=3).table().aggregate("outcome, count(*)")

Each call returns when the run has ended. Where an event loop already runs in the calling thread, as in a notebook, the
run has a thread of its own; an interrupt then ends it in order, and what is owed can be resumed.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from orchestrator.callables import is_registered, reference_to
from orchestrator.config import LoadedConfig, RunConfig, config_from_mapping, load_config
from orchestrator.config.effective import effective_toml
from orchestrator.loopback import spare_loopback
from orchestrator.results import EPISODES, REPORT_HTML, read_summary
from orchestrator.watcher import Progress, Silence, Watcher
from spec.errors import InputError, RunIncomplete

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from orchestrator.session import Ended

_POLL_S: Final = 0.2
_STRANGE: Final = re.compile(r"[^a-z0-9_-]+")
_NAME_CHARS_MAX: Final = 64

Config = str | Path | Mapping[str, Any] | RunConfig | LoadedConfig
"""What ``run`` takes: a file, its tables as a mapping, or a configuration made before."""


@dataclass(frozen=True)
class Result:
    """A run that has ended.

    Attributes:
        run_dir: where its files lie.
        summary: ``summary.json``.
        exit_code: as the command would have ended; None where the run was only loaded.
        lost: why it ended early, or "".
    """

    run_dir: Path
    summary: Mapping[str, Any] = field(repr=False)
    exit_code: int | None = None
    lost: str = ""

    @property
    def arms(self) -> Mapping[str, Mapping[str, Any]]:
        """The summary of each arm; a rate stands with its counts, interval and bounds."""
        arms: Mapping[str, Mapping[str, Any]] = self.summary["arms"]
        return arms

    @property
    def conservation(self) -> Mapping[str, int]:
        """Where every planned trial is."""
        line: Mapping[str, int] = self.summary["conservation"]
        return line

    @property
    def report(self) -> Path:
        """The report, one HTML file."""
        return self.run_dir / REPORT_HTML

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The scored rows in plan order, one at a time from the file."""
        try:
            with (self.run_dir / EPISODES).open("rb") as lines:
                for line in lines:
                    yield orjson.loads(line)
        except OSError as error:
            raise InputError(f"{self.run_dir / EPISODES}: cannot be read: {error.strerror}") from error

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The scored rows in plan order, all of them in memory."""
        return list(self)

    def table(self) -> DuckDBPyRelation:
        """The scored rows as a DuckDB relation, read from the file when it is asked.

        ``.filter("arm = 'a'")``, ``.aggregate("arm, outcome, count(*)")``, ``.df()`` and ``.pl()`` work on it; nested
        fields are structs, as in ``agent.reported_success``.

        Raises:
            InputError: the run has no scored row, so that there is no column to speak of.
        """
        import duckdb

        path = self.run_dir / EPISODES
        if next(iter(self), None) is None:
            raise InputError(f"{path}: no trial is scored, so there is no table")
        return duckdb.read_json(str(path), format="newline_delimited")


def run(config: Config, *, run_dir: Path | str | None = None, watcher: Watcher | None = None) -> Result:
    """Run a configuration from its first trial.

    Args:
        config: a TOML file, its tables as a mapping, a ``RunConfig``, or what ``load_config`` gave.
        run_dir: a new or empty directory; None makes one under ``run.dir``.
        watcher: is told what happens, from the run's thread.

    Raises:
        OrchestratorError: as the command; each says what to do.
    """
    from orchestrator.session import run as run_session

    loaded = _loaded(config)
    spare_loopback(os.environ)
    directory = None if run_dir is None else Path(run_dir)
    ended = _apart(lambda told: run_session(loaded, run_dir=directory, watcher=told), watcher or Silence())
    return Result(ended.run_dir, ended.summary, ended.exit_code, ended.lost)


def evaluate(
    arm: Callable[..., Any] | str,
    provider: str | Mapping[str, Any] = "mockmed",
    *,
    trials: int = 10,
    options: Mapping[str, Any] | None = None,
    run_dir: Path | str | None = None,
    watcher: Watcher | None = None,
    **tables: Mapping[str, Any],
) -> Result:
    """Try one arm, in this process unless ``engine`` says otherwise.

    Args:
        arm: a function ``(task, environment)``, a class that makes one, an arm's name, or ``"module:attribute"``.
        provider: a provider's name, ``"module:attribute"``, or the whole table, as in ``{"use": ..., "pack": ...}``.
        trials: repetitions of each task.
        options: the arm's options.
        run_dir: a new or empty directory; None makes one under ``run.dir``.
        watcher: is told what happens.
        **tables: further tables of the configuration, as in ``engine={"in_flight": 8}`` or ``run={"seed": 1}``.

    Raises:
        InputError: an arm that exists in this process only was to run on Ray.
        OrchestratorError: as for ``run``.
    """
    use = arm if isinstance(arm, str) else reference_to(arm)
    name = _arm_name(arm)
    mapping: dict[str, Any] = {
        **tables,
        "run": {"name": name, "trials": trials, **tables.get("run", {})},
        "engine": {"kind": "inline", **tables.get("engine", {})},
        "provider": {"use": provider} if isinstance(provider, str) else dict(provider),
        "arms": [{"name": name, "use": use, "options": dict(options or {})}],
    }
    if is_registered(use) and mapping["engine"]["kind"] != "inline":
        raise InputError(f"{name} exists in this process only; put it into a module to run it on Ray")
    return run(mapping, run_dir=run_dir, watcher=watcher)


def load(run_dir: Path | str) -> Result:
    """Read a run that has ended.

    Raises:
        InputError: there is no summary; the command ``report`` makes one from the journal.
    """
    return Result(Path(run_dir), read_summary(Path(run_dir)))


def _loaded(config: Config) -> LoadedConfig:
    if isinstance(config, LoadedConfig):
        return config
    if isinstance(config, RunConfig):
        return LoadedConfig(config, None, Path.cwd(), effective_toml(config))
    if isinstance(config, Mapping):
        return config_from_mapping(config, Path.cwd(), environ=os.environ)
    return load_config(config, environ=os.environ)


def _arm_name(arm: Callable[..., Any] | str) -> str:
    """A name for the arm in keys and reports, made of its own."""
    own = arm.rpartition(":")[2] if isinstance(arm, str) else getattr(arm, "__name__", type(arm).__name__)
    return _STRANGE.sub("_", own.lower()).strip("_")[:_NAME_CHARS_MAX] or "arm"


class _Interruptible:
    """Passes everything on, and ends the run where somebody asked for it."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.asked = threading.Event()

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        self._watcher.started(run_dir, planned, owed)

    def notice(self, text: str) -> None:
        self._watcher.notice(text)

    def progress(self, progress: Progress) -> None:
        if self.asked.is_set():
            raise RunIncomplete("the run was interrupted")
        self._watcher.progress(progress)

    def ended(self) -> None:
        self._watcher.ended()


def _apart(session: Callable[[Watcher], Ended], watcher: Watcher) -> Ended:
    """Run a session here, or in a thread of its own where an event loop runs in this one."""
    if not _loop_runs_here():
        return session(watcher)
    told = _Interruptible(watcher)
    ended: list[Ended] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            ended.append(session(told))
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            raised.append(error)

    thread = threading.Thread(target=work, name="orchestrator-run")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_S)
    except KeyboardInterrupt:
        told.asked.set()
        thread.join()
        raise
    if raised:
        raise raised[0]
    return ended[0]


def _loop_runs_here() -> bool:
    import asyncio

    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False
