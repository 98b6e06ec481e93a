"""The program in this process: quick, and every seam can be reached; for faults that need no process of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import pytest

from orchestrator.__main__ import main
from orchestrator.config import load_config
from orchestrator.session import run

SMALL: Final = """\
format = 1
[run]
name = "small"
trials = {trials}
[engine]
kind = "inline"
in_flight = 1
lease_max = 1
[limits]
group_commit_ms = 0
disk_free_min_bytes = 0
"""

ARM: Final = """\
[[arms]]
name = "{name}"
use = "{use}"
"""


class Said(NamedTuple):
    """What the program said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one line on standard output."""
        found: dict[str, Any] = orjson.loads(self.out)
        return found

    @property
    def message(self) -> str:
        """The error's message, or ""."""
        error = self.json["error"]
        return "" if error is None else str(error["message"])


def call(capfd: pytest.CaptureFixture[str], *words: object) -> Said:
    """Carry a command line out in this process, on real descriptors."""
    capfd.readouterr()
    code = main([str(word) for word in words])
    return Said(code, *capfd.readouterr())


def begin(capfd: pytest.CaptureFixture[str], config: Path, run_dir: Path, *more: object) -> Said:
    """``run`` with ``--json``."""
    return call(capfd, "run", "--config", config, "--run-dir", run_dir, "--json", "--quiet", *more)


def go_on(capfd: pytest.CaptureFixture[str], run_dir: Path, *more: object) -> Said:
    """``resume`` with ``--json``."""
    return call(capfd, "resume", run_dir, "--json", "--quiet", *more)


def finish(config: Path, run_dir: Path) -> Path:
    """A run that nothing befalls, without the command line; gives its directory."""
    assert run(load_config(config, environ={}), run_dir=run_dir).exit_code == 0
    return run_dir


def small_config(folder: Path, *, trials: int = 1, arms: Sequence[tuple[str, str]] = (("a", "screen_only"),)) -> Path:
    """A configuration without Ray whose journal grows in small groups.

    Args:
        folder: where it is written.
        trials: of each of the nine tasks.
        arms: name and ``use`` of each.
    """
    path = folder / "small.toml"
    path.write_text(SMALL.format(trials=trials) + "".join(ARM.format(name=name, use=use) for name, use in arms))
    return path
