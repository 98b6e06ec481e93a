"""Standard output belongs to the answer, whoever else writes to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.output import error_json, failure_answer, plain_error, say, stdout_kept, to_json
from spec.errors import ConfigError, ConfigErrors, RunLocked


def test_only_the_kept_descriptor_reaches_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    """While it is kept, everything else that is written to standard output lands on standard error."""
    print("before")
    with stdout_kept() as kept:
        print("printed")
        os.write(1, b"raw\n")
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        kept.write_line(b"answer")
    print("after")
    sys.stdout.flush()
    out, err = capfd.readouterr()
    assert out == "before\nanswer\nafter\n"
    assert sorted(err.splitlines()) == ["child", "printed", "raw"]


def test_a_closed_stream_is_opened_again(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an arm has closed Python's own standard error, words for people still reach the descriptor."""
    monkeypatch.setattr(sys, "stderr", os.fdopen(os.dup(2), "w"))
    with stdout_kept() as kept:
        sys.stderr.close()
        kept.mend_streams()
        say("a word")
    assert capfd.readouterr() == ("", "a word\n")


def test_an_error_says_what_is_known() -> None:
    """Unknown parts are null, and of several problems the first stands in the answer."""
    first = ConfigError("unknown key", file="a.toml", line=3, key="run.x", hint="did you mean 'y'?")
    assert error_json(ConfigErrors([first, ConfigError("other")])) == {
        "file": "a.toml",
        "line": 3,
        "key": "run.x",
        "message": "unknown key",
        "hint": "did you mean 'y'?",
    }
    assert error_json(ConfigError("x")) == error_json(RunLocked("x")) == plain_error("x")


def test_failures_have_the_form_of_their_command() -> None:
    """Run and resume answer with their full line, the others with exit and error."""
    assert b'"conservation":null' in failure_answer("resume", 2, {})
    assert failure_answer("plan", 2, {}) == b'{"exit":2,"error":{}}'


@pytest.mark.parametrize("words", [["plan", "--config"], ["--json", "--quiet", "--inline", "--limit", "1", "--config"]])
def test_a_reader_that_went_away_ends_nothing(
    spawn: Callable[..., subprocess.Popen[str]], words: list[str], config: Path, tmp_path: Path
) -> None:
    """With its standard output closed by the reader, a command ends as it would have, without a word."""
    process: Any = spawn([*words, config], tmp_path)
    process.stdout.close()
    _, err = process.communicate(timeout=50)
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize(("closed", "lines"), [("<&-", 1), (">&-", 0), ("2>&-", 1), ("<&- >&- 2>&-", 0)])
def test_closed_streams_disturb_nothing(config: Path, tmp_path: Path, closed: str, lines: int) -> None:
    """Started with standard streams closed, a run ends as it would have, and its journal holds only its own lines."""
    words = f'exec "$0" -m orchestrator --config "$1" --run-dir "$2" --limit 1 --json {closed}'
    command = ["sh", "-c", words, sys.executable, str(config), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert done.stdout.count("\n") == lines
    assert all(line.startswith(b'{"seq":') for line in (tmp_path / "run" / "journal.jsonl").read_bytes().splitlines())


@given(st.text(max_size=20))
def test_an_answer_in_json_steers_no_terminal(text: str) -> None:
    """Whatever a text from outside holds, it is read back as it was, and nothing unprintable is printed."""
    printed = to_json({"text": text})
    assert orjson.loads(printed)["text"] == text
    assert printed.decode().isprintable()
