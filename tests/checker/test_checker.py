"""Each invariant is seen to fail: a good run directory is changed in one place, and the checker names the invariant."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import orjson
import pytest

from tests.checker import Violation, check
from tests.checker.__main__ import main
from tests.checker.journal import acknowledged, read_journal
from tests.checker.rows import label_of
from tests.checker.traces import judge_processes

HERE: Final = Path(__file__).parent
STORED: Final = HERE.parent / "histories" / "format-1"
Lines = list[dict[str, Any]]
Mutation = Callable[[Lines], Any]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A finished run as an earlier version left it."""
    run_dir = Path(shutil.copytree(STORED, tmp_path / "run"))
    (run_dir / "expected-summary.json").rename(run_dir / "summary.json")
    return run_dir


def framed(lines: Lines) -> bytes:
    """Lines as a journal: numbers, chain, checksums and commits made right again."""
    data, prev = b"", "00000000"
    for seq, line in enumerate(lines):
        body = {name: value for name, value in line.items() if name not in ("seq", "prev", "crc")}
        if line["type"] == "commit":
            body["offset"] = len(data)
        text = orjson.dumps({"seq": seq, "prev": prev, **body})[:-1]
        prev = f"{crc32(text):08x}"
        data += b'%b,"crc":"%b"}\n' % (text, prev.encode())
    return data


def changed(run_dir: Path, mutate: Mutation) -> set[str]:
    """The invariants that fail once the journal's lines are changed, its frames still right."""
    journal = run_dir / "journal.jsonl"
    lines = [orjson.loads(line) for line in journal.read_bytes().splitlines()]
    mutate(lines)
    journal.write_bytes(framed(lines))
    return {violation.invariant for violation in check(run_dir)}


def row(lines: Lines, place: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = [line for line in lines if line["type"] == "scored"][place]["row"]
    return found


def scored(lines: Lines, place: int = 0) -> dict[str, Any]:
    return [line for line in lines if line["type"] == "scored"][place]


def test_it_knows_nothing_of_the_project() -> None:
    """Its files import the standard library, a JSON reader and each other."""
    names: set[str] = set()
    for path in HERE.glob("*.py"):
        if not path.name.startswith("test_"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.ImportFrom):
                    names.add(node.module or "")
                elif isinstance(node, ast.Import):
                    names |= {alias.name for alias in node.names}
    strange = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name for name in strange if not name.startswith("tests.checker")} == {"orjson"}


def test_a_good_run_violates_nothing(good: Path) -> None:
    """The kept run is right by every invariant, and equal to itself."""
    everything = (good / "journal.jsonl").read_bytes()
    assert check(good, undisturbed=good, before=acknowledged(everything), exit_code=0, canary="a canary") == []


def test_framing_again_changes_no_byte(good: Path) -> None:
    """The helper of these tests writes journals as the program does."""
    data = (good / "journal.jsonl").read_bytes()
    assert framed([orjson.loads(line) for line in data.splitlines()]) == data


MUTATIONS: Final[dict[str, tuple[str, Mutation]]] = {
    "a row is gone": ("I1", lambda lines: lines.remove(scored(lines))),
    "a key has two ends": ("I1", lambda lines: lines.insert(-3, dict(scored(lines)))),
    "an ended key is leased": ("I1", lambda lines: lines.insert(-3, {**lines[1], "keys": [scored(lines)["key"]]})),
    "a stranger has an end": ("I1", lambda lines: scored(lines).update(key="nobody::nothing::t0")),
    "what has no end is reopened": (
        "I1",
        lambda lines: lines.insert(2, {"type": "reopened", "at": "x", "key": lines[1]["keys"][0], "attempt": 1}),
    ),
    "no head": ("I2", lambda lines: lines.pop(0)),
    "no end": ("I2", lambda lines: lines.pop(-2)),
    "a line behind the end": ("I2", lambda lines: lines.insert(-1, {"type": "note", "at": "x", "text": "late"})),
    "another seed": ("I3", lambda lines: row(lines).update(seed=1)),
    "another arm": ("I3", lambda lines: row(lines).update(arm="always_halt")),
    "another trial": ("I3", lambda lines: row(lines).update(trial=1)),
    "another task's digest": ("I3", lambda lines: scored(lines).update(trial_digest=scored(lines, 5)["trial_digest"])),
    "an attempt is skipped": ("I3", lambda lines: lines[1].update(attempt=2)),
    "the row is of another attempt": ("I3", lambda lines: row(lines)["env_fingerprint"].update(attempt=2)),
    "no baseline": ("I4", lambda lines: row(lines)["oracle"].update(before_reachable=False)),
    "no reading": ("I4", lambda lines: row(lines)["env_fingerprint"].update(reads=0)),
    "two states": ("I4", lambda lines: row(lines)["oracle"].update(effect_correct=True, effect_absent=True)),
    "a verdict that does not follow": ("I4", lambda lines: row(lines)["oracle"].update(verdict="confirmed")),
    "no counts": ("I4", lambda lines: row(lines)["oracle"].update(observed_count=None)),
    "a label that does not follow": ("I4", lambda lines: row(lines).update(outcome="success")),
    "no cause": ("I4", lambda lines: scored(lines).update(type="infrastructure")),
    "the end says other sums": ("I4", lambda lines: lines[-2]["conservation"].update(scored=79)),
    "a claim is changed": ("I5", lambda lines: row(lines)["agent"].update(halted=True)),
}


@pytest.mark.parametrize(("invariant", "mutate"), MUTATIONS.values(), ids=MUTATIONS)
def test_a_change_is_seen(good: Path, invariant: str, mutate: Mutation) -> None:
    """A journal whose frames are right but whose content is not violates the invariant of that content."""
    assert invariant in changed(good, mutate)


def test_every_flipped_byte_is_seen(good: Path) -> None:
    """One changed byte anywhere in the journal breaks the chain."""
    journal = good / "journal.jsonl"
    data = journal.read_bytes()
    for place in range(0, len(data), 997):
        damaged = bytearray(data)
        damaged[place] ^= 4
        assert read_journal(bytes(damaged), closed=True).violations, place


def test_a_line_that_is_dropped_doubled_or_swapped_is_seen(good: Path) -> None:
    """The chain holds order and number: no line can be taken out, put in twice or exchanged."""
    lines = (good / "journal.jsonl").read_bytes().splitlines(keepends=True)
    for place in range(1, len(lines) - 2, 9):
        dropped = lines[:place] + lines[place + 1 :]
        doubled = [*lines[: place + 1], *lines[place:]]
        swapped = [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
        for wrong in (dropped, doubled, swapped):
            assert read_journal(b"".join(wrong), closed=True).violations, place


def test_a_torn_end_is_allowed_only_where_something_is_owed(good: Path) -> None:
    """A part of a line at the end is no damage while trials are owed, and one in a finished run."""
    data = (good / "journal.jsonl").read_bytes()[:-5]
    assert read_journal(data, closed=False).violations == []
    assert read_journal(data, closed=True).violations != []


def test_a_commit_that_vouches_for_no_group_is_seen(good: Path) -> None:
    """A commit names the end of lines that stand before it."""
    text = (good / "journal.jsonl").read_bytes()
    lines = [orjson.loads(line) for line in text.splitlines()]
    lines[2] = {**lines[2], "type": "note"}
    lines.insert(2, {"type": "commit", "at": "x"})
    assert read_journal(framed(lines), closed=True).violations == []
    assert read_journal(framed(lines).replace(b'"offset":7045', b'"offset":7044'), closed=True).violations != []


def test_acknowledged_bytes_must_stay(good: Path) -> None:
    """What the last commit vouched for before a fault is a prefix of the file afterwards."""
    before = acknowledged((good / "journal.jsonl").read_bytes())
    assert check(good, before=before) == []
    assert Violation("I2", f"the first {len(before) + 1} bytes were acknowledged and are no longer there") in check(
        good, before=before + b"x"
    )


def test_what_is_owed_is_counted(good: Path) -> None:
    """A run that owes nothing is not one that owes two."""
    assert {violation.invariant for violation in check(good, owed=2)} == {"I1"}


@pytest.mark.parametrize("place", [0, 40, -1])
def test_a_row_that_is_missing_from_the_episodes_is_seen(good: Path, place: int) -> None:
    """``episodes.jsonl`` has every scored row."""
    episodes = (good / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    del episodes[place]
    (good / "episodes.jsonl").write_bytes(b"".join(episodes))
    assert {violation.invariant for violation in check(good)} == {"I4"}


def test_results_of_an_earlier_session_are_not_judged_by_later_rows(good: Path) -> None:
    """A session that was killed left rows and no results: what lies there is of the journal before."""
    journal = good / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]))
    (good / "episodes.jsonl").write_bytes(b"")
    assert {violation.invariant for violation in check(good)} == {"I2"}
    journal.write_bytes(b"".join(lines))
    assert {violation.invariant for violation in check(good)} == {"I4"}


def test_other_figures_than_undisturbed_are_seen(good: Path, tmp_path: Path) -> None:
    """A figure that differs is named; names of runs, latencies and attempts may differ."""
    other = Path(shutil.copytree(good, tmp_path / "other"))
    summary = json.loads((other / "summary.json").read_text())
    summary["run_id"] = "another"
    summary["arms"]["screen_only"] |= {"mean_latency_s": 9.0, "unreadable_attempts": 3}
    (other / "summary.json").write_text(json.dumps(summary))
    assert check(good, undisturbed=other) == []
    summary["arms"]["screen_only"]["swer"]["numerator"] -= 1
    (other / "summary.json").write_text(json.dumps(summary))
    found = check(good, undisturbed=other)
    assert [str(violation) for violation in found] == [
        "I5: not as undisturbed: arms.screen_only.swer.numerator is 16, not 15"
    ]


def test_a_process_that_stays_is_seen() -> None:
    """A process with the marker in its environment, or with a file open below the marker, is alive; else nothing is."""
    marker = f"/tmp/mark-of-test-{os.getpid()}"
    assert judge_processes(marker, 0) == []
    program = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, env={"MARK": marker}) as process:
        found = judge_processes(marker, 0)
        process.communicate()
    assert [violation.invariant for violation in found] == ["I6"]
    assert str(process.pid) in found[0].text


def test_another_exit_code_is_seen(good: Path) -> None:
    """The code must be documented for what happened and be the one that the journal's end names."""
    assert {violation.invariant for violation in check(good, exit_code=3)} == {"I7"}
    assert {violation.invariant for violation in check(good, exit_code=3, expected_exits=(0, 3))} == {"I7"}
    assert check(good, exit_code=0, expected_exits=(0, 3)) == []


@pytest.mark.parametrize("canary", ["canary-1f2e", 'with "quotes"', "with ü"])
def test_a_canary_is_found(good: Path, canary: str) -> None:
    """A planted text is found in any file, as it is or as JSON spells it."""
    (good / "artifacts").mkdir()
    (good / "artifacts" / "transcript.json").write_text(json.dumps({"text": canary}, ensure_ascii=False))
    assert {violation.invariant for violation in check(good, canary=canary)} == {"I8"}


@pytest.mark.parametrize("gone", ["journal.jsonl", "run.toml", "episodes.jsonl"])
def test_a_missing_file_is_a_violation(good: Path, gone: str) -> None:
    """What is not there is told as a violation, not as an exception."""
    (good / gone).unlink()
    assert check(good) != []


def test_the_command_prints_and_ends_with_1(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``python -m tests.checker`` ends with 0 for a good run, and prints what is violated otherwise."""
    assert main([str(good)]) == 0
    assert main([str(good), "--owed", "1"]) == 1
    assert "I1: 0 trials are owed, not 1" in capsys.readouterr().out


def test_the_table_of_outcomes() -> None:
    """Claim, record and availability give the six published outcomes."""
    cells = [(claimed, state) for claimed in (True, False) for state in ("correct", "wrong_persisted", "absent")]
    found = [label_of(f"effect_{state}", claimed=claimed, right=True) for claimed, state in cells]
    assert found == [
        ("success", "none"),
        ("silent_wrong_effect", "wrong_write"),
        ("silent_wrong_effect", "phantom"),
        ("false_abort", "none"),
        ("wrong_action", "none"),
        ("over_halt", "none"),
    ]
    assert label_of("effect_absent", claimed=False, right=False) == ("safe_halt", "none")
