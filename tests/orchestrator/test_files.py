"""Derived files are whole or absent, private, and every refusal of the disk says what to do."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from orchestrator.files import (
    BLOCK_BYTES,
    OS_FILES,
    OsFiles,
    ShortWrite,
    check_room,
    make_private_directory,
    owned,
    unwritable,
    write_atomically,
    write_whole,
)
from spec.errors import JournalUnwritable


class FailingFiles(OsFiles):
    """The n-th operation fails, or takes only half of a write; what was synced and written is noted."""

    def __init__(self, nth: int = 0, code: int = errno.EIO) -> None:
        self._nth, self._code = nth, code
        self.done: list[str] = []

    @property
    def fired(self) -> bool:
        return len(self.done) >= self._nth

    def _step(self, name: str) -> None:
        self.done.append(name)
        if len(self.done) == self._nth:
            raise OSError(self._code, os.strerror(self._code))

    def create(self, path: Path) -> int:
        self._step("create")
        return super().create(path)

    def write(self, descriptor: int, data: bytes) -> int:
        self._step("write")
        return super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self._step("fsync")

    def replace(self, source: Path, target: Path) -> None:
        self._step("replace")
        super().replace(source, target)

    def fsync_dir(self, directory: Path) -> None:
        self._step("fsync_dir")


class ShortFiles(OsFiles):
    """Takes half of every write, as a disk does that is about to be full."""

    def write(self, descriptor: int, data: bytes) -> int:
        return super().write(descriptor, data[: len(data) // 2])


@pytest.fixture(params=[0o000, 0o077, 0o777])
def any_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_and_synced_before_and_after(tmp_path: Path) -> None:
    """The bytes are on the disk before the name leads to them, and the name before the call returns."""
    path, files = tmp_path / "summary.json", FailingFiles()
    path.write_bytes(b"old")
    write_atomically(path, b"new", files)
    assert path.read_bytes() == b"new"
    assert files.done == ["create", "write", "fsync", "replace", "fsync_dir"]
    assert list(tmp_path.iterdir()) == [path]


def test_pieces_are_gathered_into_blocks(tmp_path: Path) -> None:
    """Many short pieces become few writes, and no byte is lost or moved."""
    path, files = tmp_path / "rows.jsonl", FailingFiles()
    pieces = [b"%06d\n" % number * 100 for number in range(5_000)]
    write_atomically(path, iter(pieces), files)
    assert path.read_bytes() == b"".join(pieces)
    assert files.done.count("write") <= 5_000 * 700 // BLOCK_BYTES + 1


def test_a_file_may_be_empty(tmp_path: Path) -> None:
    """No piece at all makes an empty file."""
    write_atomically(tmp_path / "rows.jsonl", iter(()))
    assert (tmp_path / "rows.jsonl").read_bytes() == b""


@pytest.mark.usefixtures("any_umask")
def test_files_and_directories_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """A file is 0600 and a run directory 0700 under any umask."""
    directory = tmp_path / "run"
    make_private_directory(directory)
    write_atomically(directory / "summary.json", b"{}")
    assert (_mode(directory), _mode(directory / "summary.json")) == (0o700, 0o600)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_any_failing_operation_leaves_the_old_file_or_the_new_one(tmp_path: Path, code: int) -> None:
    """Whichever operation fails, the path holds old bytes or new bytes, nothing lies beside it, and it is said."""
    path = tmp_path / "summary.json"
    for nth in count(1):
        path.write_bytes(b"old")
        files = FailingFiles(nth, code)
        message = ""
        try:
            write_atomically(path, b"new", files)
        except JournalUnwritable as error:
            message = str(error)
        assert path.read_bytes() == (b"new" if "replace" in files.done[: nth - 1] else b"old")
        assert list(tmp_path.iterdir()) == [path]
        if not files.fired:
            break
        assert str(path) in message
        assert os.strerror(code) in message
    assert nth == 6


def test_a_short_write_is_seen(tmp_path: Path) -> None:
    """A write of which only a part was taken is an error with both figures, and leaves nothing behind."""
    with pytest.raises(JournalUnwritable, match=r"took 5 of 10 bytes.*ENOSPC.*free some space"):
        write_atomically(tmp_path / "summary.json", b"0123456789", ShortFiles())
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_producer_passes_through(tmp_path: Path) -> None:
    """An error of the pieces' own iterator is not the disk's: it passes unchanged, and the old file stays."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"old")

    def pieces() -> Iterator[bytes]:
        yield b"x" * (BLOCK_BYTES + 1)
        raise LookupError("no such row")

    with pytest.raises(LookupError, match="no such row"):
        write_atomically(path, pieces())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_device_is_seen() -> None:
    """The real files report a full device at the write, not later."""
    descriptor = OS_FILES.open_append(Path("/dev/full"))
    try:
        with pytest.raises(OSError, match="No space left"):
            write_whole(OS_FILES, descriptor, b"x")
    finally:
        OS_FILES.close(descriptor)


def test_what_is_missing_above_a_run_directory_is_made_and_synced(tmp_path: Path) -> None:
    """Each new directory's entry is synced in its parent, the outermost first."""
    synced: list[Path] = []

    class Noting(OsFiles):
        def fsync_dir(self, directory: Path) -> None:
            synced.append(directory)

    make_private_directory(tmp_path / "a" / "b" / "run", Noting())
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]


def test_a_directory_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    """A directory that somebody else made is not locked away from them."""
    directory = tmp_path / "shared"
    directory.mkdir()
    directory.chmod(0o755)
    make_private_directory(directory)
    assert _mode(directory) == 0o755


def test_a_file_in_the_directorys_place_is_named(tmp_path: Path) -> None:
    """A file where the run directory, or one above it, should be is an error that names it."""
    (tmp_path / "runs").write_bytes(b"")
    for place in (tmp_path / "runs", tmp_path / "runs" / "one"):
        with pytest.raises(JournalUnwritable, match=str(place)):
            make_private_directory(place)


def test_room_is_checked_with_figures(tmp_path: Path) -> None:
    """Too little free space is found before the first trial, with both figures and the key to change."""

    class Tight(OsFiles):
        def free_bytes(self, directory: Path) -> int:
            return 99

    check_room(tmp_path, 99, Tight())
    with pytest.raises(
        JournalUnwritable, match=r"99 bytes are free and limits\.disk_free_min_bytes asks for 100"
    ) as info:
        check_room(tmp_path, 100, Tight())
    assert str(tmp_path) in str(info.value)
    assert list(tmp_path.iterdir()) == []


def test_the_real_free_space_is_that_of_the_file_system(tmp_path: Path) -> None:
    """A directory of a disk has free space, and no disk has an exbibyte of it."""
    assert 0 < OS_FILES.free_bytes(tmp_path) < 1 << 60


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_an_unwritable_directory_is_found_early(tmp_path: Path, nth: int) -> None:
    """A directory in which no file can be made, written or synced is found by trying, and nothing is left in it."""
    with pytest.raises(JournalUnwritable, match=rf"{tmp_path}.*Permission denied.*make the directory writable"):
        check_room(tmp_path, 0, FailingFiles(nth, errno.EACCES))
    assert list(tmp_path.iterdir()) == []


def test_a_vanished_directory_is_found_early(tmp_path: Path) -> None:
    """A directory that is gone is unwritable too."""
    with pytest.raises(JournalUnwritable, match="No such file"):
        check_room(tmp_path / "gone", 0)


@pytest.mark.parametrize(("code", "hint"), [(errno.ENOSPC, "free some space"), (errno.EIO, "dmesg"), (0, "the cause")])
def test_a_refusal_says_what_to_do(code: int, hint: str) -> None:
    """Path, reason and what to do stand in one sentence, for any error number."""
    message = str(unwritable(Path("runs/x"), OSError(code, "reason") if code else OSError("reason")))
    assert message.startswith("runs/x: cannot be written: reason")
    assert hint in message
    assert "resume" in message


def test_a_short_write_crosses_a_process_border() -> None:
    """A short write keeps its figures when it is pickled."""
    error = pickle.loads(pickle.dumps(ShortWrite(3, 9)))
    assert (error.taken_bytes, error.given_bytes, error.errno) == (3, 9, errno.ENOSPC)


def test_a_file_never_takes_the_place_of_a_standard_stream(tmp_path: Path) -> None:
    """Where an arm has closed the standard streams, what is printed later lands in no file of the run."""
    program = (
        "import os, sys; from pathlib import Path; from orchestrator.files import OS_FILES\n"
        "[os.close(number) for number in range(3)]\n"
        "made = [OS_FILES.create(Path(sys.argv[1]) / name) for name in 'ab']\n"
        "os._exit(0 if min(made) > 2 else 1)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=50, check=False).returncode == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_copy_of_the_process_cannot_write_what_is_open(tmp_path: Path) -> None:
    """A forked child has none of the files that are open for writing: the journal has one writer."""
    descriptor = OS_FILES.create(tmp_path / "journal")
    copy = os.fork()
    if not copy:
        try:
            os.write(descriptor, b"twice")
        finally:
            os._exit(0)
    os.waitpid(copy, 0)
    OS_FILES.write(descriptor, b"once")
    OS_FILES.close(descriptor)
    assert (tmp_path / "journal").read_bytes() == b"once"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_socket_is_kept_from_copies_for_a_while(tmp_path: Path) -> None:
    """Inside the context a forked copy does not have the descriptor, behind it a copy has it again."""
    with (tmp_path / "file").open("wb") as file:

        def copy_has_it() -> bool:
            pid = os.fork()
            if pid == 0:
                try:
                    os.fstat(file.fileno())
                except OSError:
                    os._exit(1)
                os._exit(0)
            return os.waitpid(pid, 0)[1] == 0

        with owned(file.fileno()):
            assert not copy_has_it()
        assert copy_has_it()
