"""The two seams of the oracle: a channel reads a record, a kind's oracle side judges what was read.

Everything here is plain: an oracle process is built from fields that can be sent to it, and answers in JSON values.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from spec.canonical import Json, JsonObject
from spec.reading import ReadPath, Tables


class Timekeeper(Protocol):
    """Where the oracle's time comes from."""

    def monotonic(self) -> float:
        """Seconds that never go backwards; only differences mean anything."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class ReadFailed(NamedTuple):
    """A reading that is not clean; a value, since "unknown" is an answer.

    Attributes:
        reason: what went wrong, for the report; never a credential.
    """

    reason: str


Fetch = Callable[[str, Sequence[int]], Awaitable[bytes]]
"""Reads in-memory fixtures of one worker: worker id, fixture handles -> JSON bytes (``oracle.channels.snapshot``)."""


class ChannelContext:
    """What a channel is made with; its factory is called once a process, as ``factory(context)``.

    No tuple and no dataclass: nothing that prints it may print a credential.

    Attributes:
        fetch: reads the in-memory records of workers.
        time: where time comes from.
        credentials: name -> value of the read credentials that the provider asked for. They were environment
            variables of the driver, and stand in the environment of no process any more.
    """

    __slots__ = ("credentials", "fetch", "time")

    def __init__(self, fetch: Fetch, time: Timekeeper, credentials: Mapping[str, str]) -> None:
        self.fetch, self.time, self.credentials = fetch, time, credentials


class Channel(Protocol):
    """One way of reading records, with its own connection and credentials."""

    name: str

    batches: bool
    """True where reading many records at once is cheaper than one by one, and none of them can hold up the rest."""

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        """Read several records once each; one answer a path, in order.

        Never raises for a record that cannot be read: that is a ``ReadFailed``.
        """

    async def close(self) -> None:
        """Give the connections back."""


class Subject(NamedTuple):
    """The trial that is judged, as the oracle is told of it.

    Attributes:
        key: the trial's key.
        task_id: which of the tasks that the oracle side was built with.
        params: the trial's values.
        channel: the channel that reads its record.
    """

    key: str
    task_id: str
    params: JsonObject
    channel: str


class Patience(NamedTuple):
    """How long a live record is waited for.

    Attributes:
        timeout_s: polling goes on until the contract holds or this is over.
        settle_s: then the record is read once more after this.
    """

    timeout_s: float
    settle_s: float


class Judgement(NamedTuple):
    """What the oracle side concludes from readings.

    Attributes:
        readable: False where the state is unknown; then ``reason`` says why and ``body`` is empty.
        holds: the contract holds (a live record need not be polled further).
        reason: one sentence for the report.
        body: what the kind's driver side needs for the row; plain JSON.
        seen: the difference that was seen, small, or None where nothing is to be said.
    """

    readable: bool
    holds: bool
    reason: str
    body: JsonObject
    seen: Json = None


class OracleSide(Protocol):
    """A kind's part in the oracle: pure judging over what was read. Holds gold and contracts."""

    reads_before: bool
    """Whether a baseline is read before the arm runs."""

    def patience(self, task_id: str) -> Patience:
        """How long a live record of this task is waited for."""

    def judge(
        self, subject: Subject, report: JsonObject, before: Tables | None, after: Tables | ReadFailed
    ) -> Judgement:
        """Judge one trial. ``before`` is None where ``reads_before`` is False."""
