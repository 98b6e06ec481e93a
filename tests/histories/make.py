"""Makes run directories of the present format: ``python tests/histories/make.py tests/histories/format-1``.

A directory here is never made again once it is released: it is what an old run looks like. Beside the files of the run
that later versions must read stands ``expected-summary.json``, what they must make of it, byte for byte. A name that
ends in ``-sessions`` gives a run of several sessions: trials that stay without a fixture and are tried again, a late
answer that is refused, a plan that grows and shrinks and an arm that changes, each accepted.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from orchestrator.__main__ import main as orchestrator
from orchestrator.engine.driver import Driver
from orchestrator.engine.links import WorkerLink
from providers.mockmed import MockMed
from spec.messages import Opened

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ("run.toml", "manifest.json", "journal.jsonl", "episodes.jsonl")
BROKEN: Final = ("partial", "session")
"""Tasks of the anchor whose fixtures do not open in the first session."""

SESSIONS: Final = """\
format = 1
[run]
name = "sessions"
trials = 2
attempts = 2
[engine]
kind = "inline"
[[arms]]
name = "screen_only"
[[arms]]
name = "effect_verified"
"""


def whole(run_dir: Path) -> None:
    """Run the full pack once, inline."""
    shutil.copy(ROOT / "configs" / "full.toml", run_dir.parent / "full.toml")
    config = ["--config", f"{run_dir.parent}/full.toml", "--inline", "--quiet", "--set", "run.trials=1"]
    subprocess.run([sys.executable, "-m", "orchestrator", *config, "--run-dir", str(run_dir)], check=True)


def in_sessions(run_dir: Path) -> None:
    """Run the anchor in five sessions, and give it a new plan in three of them."""
    path = run_dir.parent / "sessions.toml"
    path.write_text(SESSIONS)
    with _broken_fixtures(), _late_answers():
        _call("run", "--config", path, "--run-dir", run_dir)
    _call("resume", run_dir, "--retry", "infrastructure")
    _call("resume", run_dir, "--set", "run.trials=3")
    _call("resume", run_dir, "--accept-changes", "--set", "arms.effect_verified.deadline_s=60")
    tasks = 'provider.tasks=["*ok", "*partial", "*double", "*session"]'
    _call("resume", run_dir, "--accept-changes", "--set", tasks, "--set", "run.trials=2")


def _call(*words: object) -> None:
    code = orchestrator([*map(str, words), "--quiet"])
    if code:
        raise SystemExit(f"{words}: exit {code}")


def _broken_fixtures() -> AbstractContextManager[object]:
    """Fixtures of some tasks do not open."""
    open_fixture = MockMed.open

    async def opened(self: MockMed, task: Any, payload: Any) -> Any:
        if task.task_id.endswith(BROKEN):
            raise OSError("no fixture today")
        return await open_fixture(self, task, payload)

    return patch.object(MockMed, "open", opened)


def _late_answers() -> AbstractContextManager[object]:
    """The first fixtures are told of twice; the driver refuses what it has heard before."""
    hear: Callable[[Driver, WorkerLink, Any], None] = Driver._on_worker_event

    def heard(self: Driver, link: WorkerLink, event: Any) -> None:
        hear(self, link, event)
        if isinstance(event, Opened) and event.ordinal < 2:
            hear(self, link, event)

    return patch.object(Driver, "_on_worker_event", heard)


def main(target: Path) -> None:
    """Make a run in a folder that is nowhere, and keep what a later version needs."""
    with tempfile.TemporaryDirectory() as name:
        run_dir = Path(name) / "run"
        (in_sessions if target.name.endswith("-sessions") else whole)(run_dir)
        target.mkdir(parents=True)
        for kept in KEPT:
            text = (run_dir / kept).read_text()
            (target / kept).write_text(text.replace(name, "/nowhere").replace(platform.platform(), "Linux"))
        shutil.copy(run_dir / "summary.json", target / "expected-summary.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
