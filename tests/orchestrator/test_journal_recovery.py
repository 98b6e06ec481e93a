"""Reading a journal back keeps every acknowledged line, cuts only what nobody vouched for, and names damage."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final
from zlib import crc32

import anyio
import pytest

from orchestrator.files import OsFiles
from orchestrator.journal import Cut, Journal, JournalHeadless, Line, LineType, Recovered, recover
from orchestrator.journal.lines import FIRST_PREV, frame
from spec.canonical import JsonObject
from spec.clock import SystemClock
from spec.errors import InputError, JournalDamaged

GROUPS: Final = 4
GROUP_LINES: Final = 3
HEAD: Final[JsonObject] = {"run_id": "r", "format": 1}


class LabelClock(SystemClock):
    """A clock whose labels are always the same."""

    def utc_now(self) -> str:
        return "2026-01-31T12:00:00.000000Z"


class QuickFiles(OsFiles):
    """The real files without the wait for the disk, which these tests do not need."""

    def datasync(self, descriptor: int) -> None:
        pass

    def fsync(self, descriptor: int) -> None:
        pass

    def fsync_dir(self, directory: Path) -> None:
        pass


async def _session(journal: Journal, name: str, finish: bool) -> None:
    number = count()
    for _ in range(GROUPS):
        for _ in range(GROUP_LINES):
            journal.append(LineType.SCORED, f"{name}::t{next(number)}", {"attempt": 1, "row": {"text": "päth\n\u2028"}})
        await journal.commit()
    if finish:
        await journal.finish({"exit": 0})
    journal.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@pytest.fixture
def finished(path: Path) -> bytes:
    journal = Journal.create(path, HEAD, clock=LabelClock(), files=QuickFiles())
    anyio.run(_session, journal, "a", True)
    return path.read_bytes()


def _read(path: Path) -> tuple[Recovered, list[Line]]:
    lines: list[Line] = []
    return recover(path, lines.append), lines


def _starts(data: bytes) -> list[int]:
    """Where each line begins, and the end of the last."""
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _split(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def test_a_finished_journal_comes_back_as_it_was_written(path: Path, finished: bytes) -> None:
    """Every line once, in order, with number, type, key and offset; where to go on; and that it ended."""
    recovered, lines = _read(path)
    assert b"".join(line.data for line in lines) == finished
    assert [line.offset_bytes for line in lines] == _starts(finished)[:-1]
    assert [line.seq for line in lines] == list(range(len(lines)))
    assert [line.key for line in lines if line.type is LineType.SCORED] == [f"a::t{number}" for number in range(12)]
    assert [line.type for line in lines[:1] + lines[-2:]] == [LineType.HEAD, LineType.END, LineType.COMMIT]
    assert recovered == Recovered(HEAD, (HEAD,), len(lines), finished[-11:-3].decode(), len(finished), None, True)


def test_each_commit_names_the_end_of_a_group(path: Path, finished: bytes) -> None:
    """A commit's offset is where a group's last line ends, and it stands behind that place."""
    _, lines = _read(path)
    commits = [(line.body()["offset"], line.offset_bytes) for line in lines if line.type is LineType.COMMIT]
    assert len(commits) == GROUPS + 1
    assert all(offset == place for offset, place in commits)
    assert set(_starts(finished)) >= {offset for offset, _ in commits}


def test_a_second_session_appends(path: Path, finished: bytes) -> None:
    """A later session goes on behind the last line without touching a byte; both sessions' bodies are told."""
    recovered, _ = _read(path)
    journal = Journal.resume(path, recovered, clock=LabelClock(), files=QuickFiles())
    journal.append(LineType.RESUME, body={"trials": 3})
    anyio.run(_session, journal, "b", False)
    assert path.read_bytes().startswith(finished)
    again, lines = _read(path)
    assert again.sessions == (HEAD, {"trials": 3})
    assert not again.ended
    assert [line.seq for line in lines] == list(range(len(lines)))


def test_keys_that_json_escapes_come_back(path: Path) -> None:
    """Quotes, backslashes, line breaks and empty text in a key are read back as they were given."""
    keys = ["", '"', "\\", '\\"', "\n\x00\x1b", "ü\u2028", 'a","key":"b', '{"seq":0']
    journal = Journal.create(path, HEAD, clock=LabelClock(), files=QuickFiles())
    for key in keys:
        journal.append(LineType.NOTE, key, {"text": key})
    anyio.run(journal.commit)
    journal.close()
    assert [line.key for line in _read(path)[1][1:]] == keys


def test_a_cut_at_every_byte_of_the_last_two_lines(path: Path, finished: bytes) -> None:
    """Wherever the file breaks off, whole lines are kept, the torn rest is cut with a notice, and the run goes on."""
    starts = _starts(finished)
    for size in range(starts[-3], len(finished)):
        path.write_bytes(finished[:size])
        recovered, lines = _read(path)
        whole = max(start for start in starts if start <= size)
        assert sum(len(line.data) for line in lines) == recovered.size_bytes == whole
        expected = None if size == whole else Cut(whole, size - whole, "the line has no line break")
        assert recovered.cut == expected
        assert recovered.ended is (whole >= starts[-2])
        journal = Journal.resume(path, recovered, clock=LabelClock(), files=QuickFiles())
        journal.append(LineType.NOTE, body={"text": "on"})
        anyio.run(journal.commit)
        journal.close()
        assert path.read_bytes().startswith(finished[:whole])
        assert _read(path)[1][-1].body() == {"text": "on"}


def test_a_cut_says_what_is_lost() -> None:
    """The notice of a cut names the bytes, the place and the reason."""
    text = str(Cut(120, 7, "the line has no line break"))
    assert text == "the last 7 bytes of the journal, from byte 120, are cut: the line has no line break"


def test_a_flipped_bit_anywhere(path: Path, finished: bytes) -> None:
    """One flipped bit in front of the last commit is damage with its offset; in that commit itself it costs only it."""
    starts = _starts(finished)
    chance = random.Random(11)
    breaks = [start - 1 for start in starts[1:]]
    places = [chance.randrange(len(finished)) for _ in range(400)] + breaks
    for place in places:
        bad = bytearray(finished)
        bad[place] ^= 1 << chance.randrange(8)
        path.write_bytes(bad)
        line_start = max(start for start in starts if start <= place)
        if line_start < starts[-2]:
            with pytest.raises(JournalDamaged) as info:
                recover(path, lambda line: None)
            assert info.value.offset_bytes == line_start
        else:
            recovered, _ = _read(path)
            assert recovered.cut is not None
            assert recovered.cut.offset_bytes == recovered.size_bytes == line_start
            assert recovered.ended


@pytest.mark.parametrize(
    ("why", "change"),
    [
        ("does not follow|number is not", lambda lines, place: lines[:place] + lines[place + 1 :]),
        ("number is not", lambda lines, place: lines[: place + 1] + lines[place:]),
        ("number is not", lambda lines, place: [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]),
    ],
    ids=["dropped", "repeated", "swapped"],
)
def test_a_line_out_of_place_is_damage(
    path: Path, finished: bytes, why: str, change: Callable[[list[bytes], int], list[bytes]]
) -> None:
    """A dropped, repeated or swapped line is found at its place, wherever later lines were committed."""
    lines = _split(finished)
    for place in range(len(lines) - 3):
        changed = change(lines, place)
        path.write_bytes(b"".join(changed))
        first = next(number for number, line in enumerate(changed) if line != lines[number])
        with pytest.raises(JournalDamaged, match=why) as info:
            recover(path, lambda line: None)
        assert info.value.offset_bytes == sum(map(len, lines[:first]))


def test_a_line_of_another_run_does_not_follow(path: Path, finished: bytes) -> None:
    """A line that is right by itself and has the right number, but another past, is damage."""
    lines = _split(finished)
    lines[2] = frame(2, "0123abcd", LineType.NOTE, "t", None, {}).data
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalDamaged, match="does not follow the one before it"):
        recover(path, lambda line: None)


def test_damage_that_nobody_vouched_for_is_cut(path: Path, finished: bytes) -> None:
    """Behind the last commit, damage costs the lines from there on, and whole lines in front of it are kept."""
    lines = _split(finished)
    kept, commit, loose = lines[:4], lines[4], lines[5:7]
    torn = bytearray(lines[7])
    torn[30] ^= 1
    path.write_bytes(b"".join([*kept, commit, *loose, bytes(torn), lines[6]]))
    recovered, read = _read(path)
    assert [line.data for line in read] == [*kept, commit, *loose]
    assert recovered.cut is not None
    assert recovered.cut.lost_bytes == len(torn) + len(lines[6])


def test_a_commit_that_lost_the_line_break_before_it_still_vouches(path: Path, finished: bytes) -> None:
    """Where the break between the last line and its commit is lost, nothing acknowledged is cut in silence."""
    place = _starts(finished)[-2] - 1
    path.write_bytes(finished[:place] + b" " + finished[place + 1 :])
    with pytest.raises(JournalDamaged) as info:
        recover(path, lambda line: None)
    assert info.value.offset_bytes == _starts(finished)[-3]


def test_a_commit_vouches_only_for_what_stands_before_its_offset(path: Path, finished: bytes) -> None:
    """A line repeated just before the last commit is cut with it: that commit vouched for everything in front."""
    lines = _split(finished)
    path.write_bytes(b"".join([*lines[:-1], *lines[-2:]]))
    recovered, read = _read(path)
    assert [line.data for line in read] == lines[:-1]
    assert recovered.cut == Cut(_starts(finished)[-2], len(lines[-2]) + len(lines[-1]), "the line's number is not 18")


def test_a_damaged_commit_vouches_for_nothing(path: Path, finished: bytes) -> None:
    """A commit whose offset was damaged does not make damage of what is only a torn end."""
    place = finished.rindex(b'"offset":') + len(b'"offset":')
    path.write_bytes(finished[:place] + b"9" + finished[place + 1 :])
    recovered, _ = _read(path)
    assert recovered.size_bytes == _starts(finished)[-2]
    assert recovered.cut is not None


def test_garbage_behind_the_end_is_cut(path: Path, finished: bytes) -> None:
    """Zeros, noise and line breaks behind the last line are cut, however long."""
    for rest in (b"\0" * 5000, b"\n", b"\n\n\n", bytes(range(256)) * 900, finished[:50]):
        path.write_bytes(finished + rest)
        recovered, _ = _read(path)
        assert recovered.size_bytes == len(finished)
        assert recovered.cut is not None
        assert recovered.cut.lost_bytes == len(rest)


def test_a_journal_without_a_whole_head_was_never_started(path: Path, finished: bytes) -> None:
    """Cut anywhere in the head, the file is told apart from a damaged one: its run can be started anew."""
    for size in (0, 1, 17, _starts(finished)[1] - 1):
        path.write_bytes(finished[:size])
        with pytest.raises(JournalHeadless, match="nothing was started; remove this file") as info:
            recover(path, lambda line: None)
        assert info.value.path == path
    assert pickle.loads(pickle.dumps(info.value)).path == path


def test_a_damaged_head_in_front_of_committed_lines_is_damage(path: Path, finished: bytes) -> None:
    """A broken head is no excuse to start anew where later lines were committed."""
    path.write_bytes(b"x" + finished[1:])
    with pytest.raises(JournalDamaged, match="byte 0"):
        recover(path, lambda line: None)


def test_lines_that_this_version_does_not_know_are_not_cut(path: Path) -> None:
    """A right line of an unknown type, or a first line that is no head, belongs to another program: nothing is lost."""
    head, crc = frame(0, FIRST_PREV, LineType.HEAD, "t", None, HEAD)
    note = frame(1, crc, LineType.NOTE, "t", None, {}).data
    text = note[:-19].replace(b'"note"', b'"telegram"')
    unknown = text + b',"crc":"%08x"}\n' % crc32(text)
    for data in (head + unknown, frame(0, FIRST_PREV, LineType.NOTE, "t", None, {}).data):
        path.write_bytes(data)
        with pytest.raises(InputError, match="another version"):
            recover(path, lambda line: None)
        assert path.read_bytes() == data


def test_a_missing_journal_is_named(path: Path) -> None:
    """No file is an error of the input that names the path."""
    with pytest.raises(InputError, match=rf"{path}: the journal cannot be read: No such file"):
        recover(path, lambda line: None)


def test_errors_of_the_reader_pass_through(path: Path, finished: bytes) -> None:
    """What the caller's own function raises is not taken for the journal's fault."""

    def refuse(line: Line) -> None:
        raise LookupError(line.key)

    with pytest.raises(LookupError):
        recover(path, refuse)


def _read_by_key(path: Path) -> tuple[Recovered, list[tuple[str | None, int]], list[Line]]:
    scored: list[tuple[str | None, int]] = []
    others: list[Line] = []
    recovered = recover(path, others.append, lambda key, offset_bytes: scored.append((key, offset_bytes)))
    return recovered, scored, others


def test_scored_lines_can_be_told_of_by_their_key_alone(path: Path) -> None:
    """Key and place of each, in order, and everything else as ever; a key that has to be unescaped comes as a line."""
    journal = Journal.create(path, HEAD, clock=LabelClock(), files=QuickFiles())
    for key in ("a::ä::t0", 'a::"::t0', "a::\\::t0", "a::b::t1"):
        journal.append(LineType.SCORED, key, {"attempt": 1, "row": {}})
        journal.append(LineType.FAILED, key, {"attempt": 1, "cause": "provider"})
    anyio.run(journal.finish, {"exit": 0})
    journal.close()
    recovered, lines = _read(path)
    by_key, scored, others = _read_by_key(path)
    assert by_key == recovered
    assert [key for key, _ in scored] == ["a::ä::t0", "a::b::t1"]
    assert sorted([*scored, *((line.key, line.offset_bytes) for line in others)], key=lambda found: found[1]) == [
        (line.key, line.offset_bytes) for line in lines
    ]


def test_damage_is_found_just_the_same_by_key(path: Path, finished: bytes) -> None:
    """Whatever byte of a scored line is changed, both ways of reading see the same lines and say the same."""
    starts = _starts(finished)
    end = finished.rindex(b'{"seq":', 0, starts[3])
    for place in range(starts[2], end + 60):
        damaged = bytearray(finished)
        damaged[place] ^= 0x20
        path.write_bytes(damaged)
        answers: list[object] = []
        for read in (_read, _read_by_key):
            try:
                answers.append(read(path)[0])
            except (JournalDamaged, InputError) as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1], place
