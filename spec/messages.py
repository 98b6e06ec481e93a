"""What travels between driver, workers and oracles, in batches.

The driver posts ``WorkerOrders`` and ``OracleOrders``; workers and oracles answer with events. Every event names the
trial by its ordinal and the attempt, so that a late answer of an old attempt is recognised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from spec.canonical import Json, JsonObject
from spec.reading import ReadPath
from spec.report import ArmFault
from spec.trial import Trial


class Cause(StrEnum):
    """Why an attempt did not come to a reading."""

    PROVIDER = "provider"
    UNREADABLE = "unreadable"
    WORKER_LOST = "worker_lost"
    ORACLE_LOST = "oracle_lost"
    KILLED_WORKER = "killed_worker"
    STOPPED = "stopped"
    INTERNAL = "internal"


class WorkerOrders(NamedTuple):
    """What the driver wants of a worker.

    Attributes:
        lease: trials to open fixtures for.
        go: ordinals whose baseline is read: their arms may run.
        close: ordinals whose fixtures are no longer needed.
        permits: arm -> how many of it may run here at once; None leaves them as they are.
        halt: start nothing more, and hand back what has not started.
        settle: where it is not 0: answer with it in ``Settled`` as soon as no more arms run than are permitted.
    """

    lease: Sequence[Trial] = ()
    go: Sequence[int] = ()
    close: Sequence[int] = ()
    permits: Mapping[str, int] | None = None
    halt: bool = False
    settle: int = 0


class Opened(NamedTuple):
    """A fresh fixture stands; the oracle may read its baseline."""

    ordinal: int
    attempt: int
    read_path: ReadPath


class Finished(NamedTuple):
    """The arm is done and its environment is sealed.

    Attributes:
        report: the kind's report as plain JSON.
        fault: how the arm broke the rules, or None.
        detail: one sentence about the fault or about a crash after the report.
        started_at, finished_at: wall time, labels only.
        latency_s: seconds that the arm ran.
    """

    ordinal: int
    attempt: int
    report: JsonObject
    fault: ArmFault | None
    detail: str
    started_at: str
    finished_at: str
    latency_s: float


class Failed(NamedTuple):
    """An attempt ended without a reading; not the arm's fault."""

    ordinal: int
    attempt: int
    cause: Cause
    detail: str


class Returned(NamedTuple):
    """A trial that had not started was handed back, since the worker halts."""

    ordinal: int
    attempt: int


class Settled(NamedTuple):
    """No more arms run in the worker than the permits allow that came with this order to settle."""

    settle: int


class Noted(NamedTuple):
    """Something worth a line in the journal that changes no trial."""

    text: str


WorkerEvent = Opened | Finished | Failed | Returned | Settled | Noted


class ReadBefore(NamedTuple):
    """Read the baseline of a trial and keep it."""

    ordinal: int
    attempt: int
    key: str
    task_id: str
    params: JsonObject
    read_path: ReadPath


class ReadAfter(NamedTuple):
    """Read the record of a trial after its arm, and judge it."""

    ordinal: int
    attempt: int
    report: JsonObject


class OracleOrders(NamedTuple):
    """What the driver wants of an oracle.

    Attributes:
        forget: ordinals whose baselines are no longer needed.
    """

    before: Sequence[ReadBefore] = ()
    after: Sequence[ReadAfter] = ()
    forget: Sequence[int] = ()


class Ready(NamedTuple):
    """The baseline is kept; the arm may run."""

    ordinal: int
    attempt: int


class Judged(NamedTuple):
    """The record was read and judged.

    Attributes:
        reads: how often it was read after the arm.
        holds: the contract holds.
        reason: one sentence for the report.
        body: what the kind's driver side needs for the row.
        seen: the difference that was seen, or None.
    """

    ordinal: int
    attempt: int
    reads: int
    holds: bool
    reason: str
    body: JsonObject
    seen: Json


class Unread(NamedTuple):
    """The record stayed unreadable within the limits of this attempt."""

    ordinal: int
    attempt: int
    reads: int
    reason: str


OracleEvent = Ready | Judged | Unread
