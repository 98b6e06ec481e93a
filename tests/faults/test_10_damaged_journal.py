"""Row 10: a torn end is cut with one notice and its trial rerun; damage in the middle is refused with its place."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from orchestrator.journal import Journal, Line, LineType, recover
from spec.errors import JournalDamaged
from tests.checker import check
from tests.checker.journal import acknowledged, read_journal
from tests.faults.card import CardOfTest, Scale
from tests.faults.in_process import call, finish, go_on, small_config
from tests.orchestrator.test_journal_recovery import LabelClock, QuickFiles

ROW: Final = (10, "torn tail, flipped bits, dropped, repeated and swapped lines")
DAMAGED: Final = 6
FLIPS: Final = 200
CUT: Final = "are cut"


class Made(NamedTuple):
    """A finished run.

    Attributes:
        lines: its journal, line by line.
        starts: where each begins, and the end of the last.
        rows: the places of the scored lines.
    """

    run_dir: Path
    lines: list[bytes]
    starts: list[int]
    rows: list[int]

    @property
    def data(self) -> bytes:
        """The whole journal."""
        return b"".join(self.lines)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Nine trials, in small groups."""
    folder = tmp_path_factory.mktemp("made")
    run_dir = finish(small_config(folder), folder / "run")
    lines = (run_dir / "journal.jsonl").read_bytes().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return Made(run_dir, lines, starts, [place for place, line in enumerate(lines) if b'"type":"scored"' in line])


@pytest.fixture
def damage(made: Made, tmp_path: Path) -> Callable[[bytes], Path]:
    """Makes a run directory that is the finished one but for its journal."""

    def make(data: bytes) -> Path:
        run_dir = tmp_path / "run"
        shutil.rmtree(run_dir, ignore_errors=True)
        shutil.copytree(made.run_dir, run_dir)
        (run_dir / "journal.jsonl").write_bytes(data)
        return run_dir

    return make


def recovery_problems(path: Path, data: bytes, made: Made, portal: BlockingPortal) -> list[str]:
    """What is wrong with how a journal is read that breaks off at some byte, and gone on with."""
    path.write_bytes(data)
    lines: list[Line] = []
    recovered = recover(path, lines.append)
    whole = max(start for start in made.starts if start <= len(data))
    found = []
    if b"".join(line.data for line in lines) != data[:whole]:
        found.append("I2: other lines were read than are whole")
    if (recovered.cut is None) is not (whole == len(data)):
        found.append(f"I2: {len(data) - whole} torn bytes, and the notice is {recovered.cut}")
    journal = Journal.resume(path, recovered, clock=LabelClock(), files=QuickFiles())
    journal.append(LineType.NOTE, body={"text": "on"})
    portal.call(journal.commit)
    journal.close()
    told = read_journal(path.read_bytes(), closed=False)
    if told.violations or not path.read_bytes().startswith(data[:whole]):
        found.append(f"I2: what is gone on with is no journal: {told.violations}")
    return found


@pytest.mark.timeout(300)
def test_every_byte_of_the_last_two_rows(card: CardOfTest, scale: Scale, made: Made, tmp_path: Path) -> None:
    """Broken off at each byte of its last two rows, the journal keeps its whole lines and can be appended to."""
    row, step = card.row(*ROW), scale(smoke=23, quick=1, full=1)
    sizes = range(made.starts[made.rows[-2]], made.starts[made.rows[-1] + 1], step)

    with start_blocking_portal() as portal:
        for size in sizes:
            found = recovery_problems(tmp_path / "journal.jsonl", made.data[:size], made, portal)
            row.trial()
            row.inject()
            row.violations(f"broken off at byte {size}: {problem}" for problem in found)


@pytest.mark.timeout(600)
def test_a_torn_run_is_resumed(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    made: Made,
    damage: Callable[[bytes], Path],
) -> None:
    """Resumed, a run with a torn end gives one notice, runs the torn trial again, and has the undisturbed results."""
    row = card.row(*ROW)
    inside = range(made.starts[made.rows[-2]], made.starts[made.rows[-1] + 1])
    for size in rng.sample(inside, scale(smoke=2, quick=12, full=150)):
        data = made.data[:size]
        run_dir = damage(data)
        said = call(capfd, "resume", run_dir, "--json")
        before = acknowledged(data)
        found = [str(one) for one in check(run_dir, undisturbed=made.run_dir, before=before, exit_code=said.code)]
        torn = size not in made.starts
        notices = said.err.count(CUT)
        if notices != torn:
            found.append(f"I2: {notices} notices for {'a' if torn else 'no'} torn line: {said.err}")
        row.trial()
        row.inject(torn)
        row.violations(f"broken off at byte {size}: {problem}" for problem in found)


def flipped(data: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed)


def damages(made: Made, rng: random.Random, flips: int) -> Iterator[tuple[str, bytes, int]]:
    """What was done, the journal that it gives, and the byte at which the damage begins."""
    data, lines = made.data, made.lines
    for _ in range(flips):
        place = rng.randrange(len(data))
        yield f"a bit of byte {place}", flipped(data, place, rng.randrange(8)), _line_start(made.starts, place)
    for number in made.rows:
        dropped = [*lines[:number], *lines[number + 1 :]]
        repeated = [*lines[: number + 1], *lines[number:]]
        swapped = [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
        for what, changed in (("dropped", dropped), ("repeated", repeated), ("swapped", swapped)):
            first = next(place for place, line in enumerate(changed) if line != lines[place])
            yield f"line {number} {what}", b"".join(changed), made.starts[first]


def _line_start(starts: Sequence[int], place: int) -> int:
    return max(start for start in starts if start <= place)


def test_damage_is_found_where_it_is(
    card: CardOfTest, scale: Scale, rng: random.Random, made: Made, tmp_path: Path
) -> None:
    """Two hundred flipped bits, and each row dropped, repeated and swapped: refused at its byte, never skipped.

    Only what no commit vouches for any more, the last commit itself, may be cut instead.
    """
    row, path = card.row(*ROW), tmp_path / "journal.jsonl"
    unvouched = made.starts[-2]
    for what, data, begins in damages(made, rng, scale(smoke=FLIPS, quick=FLIPS, full=5 * FLIPS)):
        path.write_bytes(data)
        row.trial()
        row.inject()
        try:
            cut = recover(path, lambda line: None).cut
        except JournalDamaged as error:
            if error.offset_bytes != begins or begins >= unvouched:
                row.violations([f"I2: {what}: refused at byte {error.offset_bytes} and not at {begins}"])
        else:
            if cut is None or cut.offset_bytes != begins or begins < unvouched:
                row.violations([f"I2: {what}: taken, with {cut}"])
        if path.read_bytes() != data:
            row.violations([f"I2: {what}: reading changed the file"])


@pytest.mark.timeout(600)
def test_a_damaged_run_is_refused_by_every_command(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    made: Made,
    damage: Callable[[bytes], Path],
) -> None:
    """Resume, report, status and verify end with 6 and name the byte; the journal stays as it was found."""
    row = card.row(*ROW)
    wrong = [each for each in damages(made, rng, scale(smoke=5, quick=20, full=FLIPS)) if each[2] < made.starts[-2]]
    for what, data, begins in rng.sample(wrong, scale(smoke=2, quick=12, full=len(wrong))):
        run_dir = damage(data)
        row.trial()
        row.inject()
        for command in ("resume", "report", "status", "verify"):
            said = call(capfd, command, run_dir, "--json")
            if said.code != DAMAGED or f"byte {begins}" not in said.message or "Traceback" in said.err:
                row.violations(
                    [f"I7: {command}, {what}: exit code {said.code}, {said.message!r} and not byte {begins}"]
                )
        if (run_dir / "journal.jsonl").read_bytes() != data:
            row.violations([f"I2: {what}: a command changed the journal"])


def test_a_run_that_was_not_touched_is_taken(
    capfd: pytest.CaptureFixture[str], damage: Callable[[bytes], Path], made: Made
) -> None:
    """The same commands take the same run where nothing was done to it."""
    run_dir = damage(made.data)
    assert [call(capfd, command, run_dir, "--json").code for command in ("report", "status", "verify")] == [0, 0, 0]
    assert go_on(capfd, run_dir).code == 0
