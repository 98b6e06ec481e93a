"""Every way in which a command comes to nothing has its exit code and its words."""

from __future__ import annotations

import signal
from pathlib import Path

import click
import pytest

from orchestrator.cli.failures import told
from orchestrator.cli.interrupts import Interrupted
from spec.errors import ConfigError, ConfigErrors, ConservationBroken, JournalDamaged, JournalUnwritable, RunLocked


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (ConfigErrors([ConfigError("wrong")]), 2),
        (click.UsageError("misused"), 2),
        (JournalUnwritable("full"), 4),
        (RunLocked("taken"), 5),
        (JournalDamaged("j", 7, "torn"), 6),
        (ConservationBroken("lost one"), 70),
        (ZeroDivisionError("unforeseen"), 70),
        (Interrupted(signal.SIGINT), 130),
        (KeyboardInterrupt(), 130),
        (Interrupted(signal.SIGTERM), 143),
    ],
)
def test_each_error_has_its_exit_code(error: BaseException, exit_code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The code is the promised one, one line says why, and nothing is on standard output."""
    assert told(error, verbose=False).exit_code == exit_code
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


def test_control_characters_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    """What a user's text smuggles in does not reach the terminal as it is."""
    told(ConfigErrors([ConfigError("a\x1b[31m\nb"), ConfigError("second")]), verbose=False)
    assert capsys.readouterr().err == "error: a\\x1b[31m b\nerror: second\n"


def test_a_traceback_has_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the run's log where there is a run, on request otherwise, and where neither works the words say how."""
    error = ZeroDivisionError("unforeseen")
    assert "the traceback stands in" in str(told(error, verbose=False, run_dir=tmp_path).error)
    assert "ZeroDivisionError" in (tmp_path / "log.jsonl").read_text()
    assert "-v shows the traceback" in str(told(error, verbose=False, run_dir=tmp_path / "none").error)
    capsys.readouterr()
    told(error, verbose=True)
    assert "ZeroDivisionError: unforeseen\n" in capsys.readouterr().err


def test_what_is_interrupted_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a run directory, the way to resume is named."""
    told(Interrupted(signal.SIGTERM), verbose=False, run_dir=tmp_path)
    assert capsys.readouterr().err == f"interrupted by SIGTERM; `resume {tmp_path}` goes on\n"
