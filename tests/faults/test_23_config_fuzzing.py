"""Row 23: any configuration gives a plan, or code 2 with place and reason, within a second, and nothing is made."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.faults.card import CardOfTest, Recorder, Scale
from tests.faults.in_process import Said, call
from tests.orchestrator.config.test_fuzz import SEEDS, changed_bytes, changed_structure

ROW: Final = (23, "config fuzzing")
PLANNED: Final = 0
REFUSED: Final = 2
SECONDS_MAX: Final = 1.0
MIB: Final = 1 << 20
OF_THE_WHOLE: Final = ("TOML", "UTF-8", "bytes", "nested too deep")
"""What a message says that speaks of a file as a whole."""

GOOD: Final = b'format = 1\n[run]\ntrials = 1\n[[arms]]\nname = "a"\nuse = "screen_only"\n'


def trials(number: int) -> bytes:
    return GOOD.replace(b"trials = 1", b"trials = %d" % number)


BY_HAND: Final = {
    "ten megabytes": GOOD + b"# " + b"x" * 10 * MIB,
    "ten megabytes of tables": b"[[arms]]\n" * (10 * MIB // 9),
    "bad UTF-8": GOOD + b'\n[provider]\nuse = "\xff"\n',
    "NUL": GOOD + b"\0",
    "deep": b"a = " + b"[" * 100_000,
    "deep tables": b"a." * 100_000 + b"b = 1",
    "unknown key": GOOD + b"[engine]\nworker = 1\n",
    "unknown table": GOOD + b"[engines]\n",
    "no trial": trials(0),
    "negative": trials(-1),
    "10^9 trials": trials(10**9),
    "10^30 trials": trials(10**30),
    "two arms of a name": GOOD + b'[[arms]]\nname = "a"\nuse = "always_halt"\n',
    "a thousand arms": GOOD + b"".join(b'[[arms]]\nname = "a%d"\nuse = "screen_only"\n' % n for n in range(1000)),
    "nothing": b"",
    "a directory of names": b"x" * MIB,
}


def problems(said: Said, folder: Path, data: bytes, seconds: float) -> Iterator[str]:
    """What is wrong with an answer to a configuration."""
    if said.code not in (PLANNED, REFUSED):
        yield f"I7: exit code {said.code}: {said.err[-300:]}"
    elif said.code == REFUSED:
        error = said.json["error"]
        if not error["message"] or not error["file"]:
            yield f"I7: refused with {error}"
        if not error["key"] and not error["line"] and not any(word in error["message"] for word in OF_THE_WHOLE):
            yield f"I7: refused without a place: {error}"
        lines = data.count(b"\n") + 1
        if error["line"] is not None and not 1 <= error["line"] <= lines:
            yield f"I7: line {error['line']} of {lines}"
    if "Traceback" in said.err + said.out:
        yield f"I7: a traceback: {said.err[-300:]}"
    if seconds > SECONDS_MAX:
        yield f"it took {seconds:.2f} s of processor"
    if (ray := sys.modules.get("ray")) is not None and ray.is_initialized():
        yield "Ray was started"
    if [entry.name for entry in folder.iterdir()] != ["run.toml"]:
        yield f"files were made: {sorted(entry.name for entry in folder.iterdir())}"


def plan(capfd: pytest.CaptureFixture[str], row: Recorder, folder: Path, data: bytes, what: str = "") -> None:
    """Ask for the plan of a configuration and note what was wrong with the answer."""
    (folder / "run.toml").write_bytes(data)
    began = time.process_time()
    said = call(capfd, "plan", "--config", folder / "run.toml", "--json")
    seconds = time.process_time() - began
    row.trial()
    row.inject()
    row.violations(f"{what or data!r:.500}: {problem}" for problem in problems(said, folder, data, seconds))


@pytest.mark.parametrize("strategy", [changed_bytes, changed_structure], ids=["bytes", "structure"])
@pytest.mark.timeout(900)
def test_mutated_configurations(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    strategy: Callable[[], Any],
) -> None:
    """A thousand times each, bytes or keys and values of the shipped configurations are changed."""
    row = card.row(*ROW)
    call(capfd, "plan", "--config", write(tmp_path, SEEDS[0]), "--json")  # imports are nobody's second

    @settings(
        max_examples=scale(smoke=25, quick=250, full=1000),
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @seed(rng.getrandbits(32))
    @given(strategy())
    def judge(data: bytes) -> None:
        plan(capfd, row, tmp_path, data)

    check_all: Callable[[], None] = judge
    check_all()


def write(folder: Path, data: bytes) -> Path:
    path = folder / "run.toml"
    path.write_bytes(data)
    return path


@pytest.mark.timeout(300)
def test_configurations_by_hand(card: CardOfTest, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Ten megabytes, bad UTF-8, NUL, depth, unknown keys, no, negative and 10^9 trials; the shipped ones."""
    row = card.row(*ROW)
    call(capfd, "plan", "--config", write(tmp_path, GOOD), "--json")
    shipped = {f"shipped {number}": data for number, data in enumerate([GOOD, *SEEDS])}
    for name, data in chain(BY_HAND.items(), shipped.items()):
        plan(capfd, row, tmp_path, data, name)
