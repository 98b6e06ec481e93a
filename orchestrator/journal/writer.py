"""The one writer of a journal: append frames and gathers, commit writes and syncs."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final, NoReturn, Self

from anyio import CancelScope, CapacityLimiter, Lock, to_thread

from orchestrator.files import OS_FILES, FileSystem, unwritable, write_whole
from orchestrator.journal.lines import FIRST_PREV, LineType, frame
from orchestrator.journal.recovery import Recovered
from spec.canonical import JsonObject
from spec.clock import Clock
from spec.errors import InputError, JournalUnwritable

_EMPTY: Final[JsonObject] = {}


class Journal:
    """An open journal. ``create`` and ``resume`` are the ways to one; the run's lock is held by whoever calls them.

    One task at a time appends, and it may append while a commit is under way: those lines belong to the next group.
    After the disk has refused once, every further call raises.

    Args:
        path: the file.
        descriptor: the file, open to append, whose every byte is synced.
        seq: the number of the next line.
        prev: the crc of the last line.
        size_bytes: the file's size.
        clock: gives lines their label of time.
        files: the disk.
    """

    def __init__(
        self, path: Path, descriptor: int, *, seq: int, prev: str, size_bytes: int, clock: Clock, files: FileSystem
    ) -> None:
        self.path = path
        self._descriptor, self._clock, self._files = descriptor, clock, files
        self._seq, self._prev = seq, prev
        self._synced_bytes = self._end_bytes = size_bytes
        self._gathered: list[bytes] = []
        self._unacknowledged = 0
        self._stopped = False
        self._failure: JournalUnwritable | None = None
        self._lock = Lock(fast_acquire=True)
        self._thread = CapacityLimiter(
            1
        )  # of its own: arms that fill the common pool of threads must not hold up a sync

    @classmethod
    def create(cls, path: Path, head: JsonObject, *, clock: Clock, files: FileSystem = OS_FILES) -> Self:
        """Begin the journal of a new run: when this returns, file, head and directory entry are on the disk.

        Args:
            path: the file, which must not exist, in a directory that does.
            head: the head's body.
            clock: gives lines their label of time.
            files: the disk.

        Raises:
            InputError: the file exists.
            JournalUnwritable: the disk refused; no file is left behind if it lets us remove it.
            ValueError: the head is not JSON.
        """
        data, crc = frame(0, FIRST_PREV, LineType.HEAD, clock.utc_now(), None, head)
        try:
            descriptor = files.create(path)
            try:
                write_whole(files, descriptor, data)
                files.fsync(descriptor)
                files.fsync_dir(path.parent)
            except BaseException:
                with contextlib.suppress(OSError):  # the first error is the one to report
                    files.unlink(path)
                files.close(descriptor)
                raise
        except FileExistsError as error:
            raise InputError(f"{path}: exists; `resume` goes on with a run") from error
        except OSError as error:
            raise unwritable(path, error) from error
        return cls(path, descriptor, seq=1, prev=crc, size_bytes=len(data), clock=clock, files=files)

    @classmethod
    def resume(cls, path: Path, recovered: Recovered, *, clock: Clock, files: FileSystem = OS_FILES) -> Self:
        """Go on with the journal of an earlier session, of which ``recover`` has just told.

        What is to be cut is cut, and all that is kept is synced, since the last session may have died before its sync.

        Args:
            path: the file.
            recovered: what ``recover`` gave for it.
            clock: gives lines their label of time.
            files: the disk.

        Raises:
            JournalUnwritable: the disk refused.
        """
        try:
            descriptor = files.open_append(path)
            try:
                if recovered.cut is not None:
                    files.truncate(descriptor, recovered.size_bytes)
                files.fsync(descriptor)
            except BaseException:
                files.close(descriptor)
                raise
        except OSError as error:
            raise unwritable(path, error) from error
        return cls(
            path,
            descriptor,
            seq=recovered.seq,
            prev=recovered.prev,
            size_bytes=recovered.size_bytes,
            clock=clock,
            files=files,
        )

    def append(self, line_type: LineType, key: str | None = None, body: JsonObject = _EMPTY) -> int:
        """Add a line to the group that the next commit writes. Acknowledges nothing.

        Args:
            line_type: what the line says; ``head`` and ``commit`` are the journal's own.
            key: the trial that it speaks of, or None.
            body: its further fields; numbers must be finite (``frame`` says what is checked).

        Returns:
            The offset in bytes where the line will stand.

        Raises:
            ValueError: the line cannot be written as it stands, or the journal is closed; the group is as before.
            JournalUnwritable: the disk refused earlier.
        """
        if self._stopped:
            self._refuse()
        if line_type is LineType.HEAD or line_type is LineType.COMMIT:
            raise ValueError(f"a {line_type} line is written by the journal itself")
        offset = self._gather(line_type, key, body)
        self._unacknowledged += 1
        return offset

    async def commit(self) -> None:
        """Bring all lines appended so far to the disk: one write, one sync. When it returns, they are acknowledged.

        Without such lines it does nothing. Once begun it is not cancelled halfway.

        Raises:
            JournalUnwritable: the disk refused, now or earlier; the lines are not acknowledged and never will be.
            ValueError: the journal is closed.
        """
        async with self._lock:
            if self._stopped:
                self._refuse()
            if self._unacknowledged:
                await self._flush()
                self._gather(LineType.COMMIT, None, {"offset": self._synced_bytes})

    async def finish(self, body: JsonObject) -> None:
        """Close the session as it should be closed: the ``end`` line, and the ``commit`` that vouches for it, synced.

        Args:
            body: the ``end`` line's body.

        Raises:
            JournalUnwritable: the disk refused, now or earlier.
            ValueError: the body is not JSON, or the journal is closed.
        """
        self.append(LineType.END, body=body)
        await self.commit()
        async with self._lock:
            if self._stopped:
                self._refuse()
            await self._flush()
            self._stopped = True

    def close(self) -> None:
        """Close the file; lines that were not committed are dropped. A second call does nothing."""
        self._stopped = True
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):  # what was acknowledged is synced, the rest is nobody's
                self._files.close(self._descriptor)
            self._descriptor = -1

    def _gather(self, line_type: LineType, key: str | None, body: JsonObject) -> int:
        data, crc = frame(self._seq, self._prev, line_type, self._clock.utc_now(), key, body)
        offset = self._end_bytes
        self._gathered.append(data)
        self._seq, self._prev, self._end_bytes = self._seq + 1, crc, offset + len(data)
        return offset

    async def _flush(self) -> None:
        """Write and sync the group. Shielded: a group must not lie half written while others append behind it."""
        group, end_bytes = b"".join(self._gathered), self._end_bytes
        self._gathered, self._unacknowledged = [], 0
        try:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._write_and_sync, group, limiter=self._thread)
        except BaseException as error:
            self._stopped = True
            cause = error if isinstance(error, OSError) else OSError(f"the write was broken off: {error!r}")
            self._failure = unwritable(self.path, cause)
            if isinstance(error, OSError):
                raise self._failure from error
            raise
        self._synced_bytes = end_bytes

    def _write_and_sync(self, group: bytes) -> None:
        try:
            write_whole(self._files, self._descriptor, group)
            self._files.datasync(self._descriptor)
        except OSError:
            with contextlib.suppress(OSError):  # as far as the disk lets us; recovery cuts the rest
                self._files.truncate(self._descriptor, self._synced_bytes)
            raise

    def _refuse(self) -> NoReturn:
        if self._failure is not None:
            raise JournalUnwritable(str(self._failure)) from self._failure
        raise ValueError(f"{self.path}: the journal is closed")
