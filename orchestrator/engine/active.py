"""A trial on its way: which phase it is in, and which events may come then."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from orchestrator.engine.links import OracleLink, WorkerLink
from spec.messages import Failed, Finished, Judged, Opened, OracleEvent, Ready, Returned, Unread
from spec.trial import Trial


class Phase(StrEnum):
    """Where a trial is on its way."""

    OPENING = "opening"
    BASELINE = "baseline"
    RUNNING = "running"
    READING = "reading"
    COMMITTING = "committing"


TrialEvent = Opened | Finished | Failed | Returned | OracleEvent

EXPECTED: Final[Mapping[type[TrialEvent], tuple[Phase, ...]]] = {
    Opened: (Phase.OPENING,),
    Ready: (Phase.BASELINE,),
    Finished: (Phase.RUNNING,),
    Failed: (Phase.OPENING, Phase.BASELINE, Phase.RUNNING),
    Returned: (Phase.OPENING, Phase.BASELINE, Phase.RUNNING),
    Judged: (Phase.READING,),
    Unread: (Phase.BASELINE, Phase.READING),
}
"""In which phases a trial can be when an event about it arrives; at any other time it is an old one or told twice."""


HELD: Final = (Phase.OPENING, Phase.BASELINE, Phase.RUNNING)
"""In which phases a trial is in its worker's hands: lost with it."""

ASKED: Final = (Phase.BASELINE, Phase.READING)
"""In which phases a trial waits for an answer of its oracle: lost with it."""


class Active:
    """A leased trial that is not yet committed.

    Attributes:
        link, oracle: the places of its worker and its oracle.
        host: the worker that opened its fixture.
        generation: who of the oracle's place read its baseline.
        outlives: whether its record outlives its worker; known once its fixture stands.
        leased_at, since: when it was leased and when it entered its phase, seconds of the monotonic clock.
        last_event: what was heard of it last.
    """

    __slots__ = (
        "finished",
        "generation",
        "host",
        "last_event",
        "leased_at",
        "link",
        "oracle",
        "outlives",
        "phase",
        "since",
        "trial",
    )

    def __init__(self, trial: Trial, link: WorkerLink, oracle: OracleLink, now: float) -> None:
        self.trial, self.link, self.oracle = trial, link, oracle
        self.leased_at = self.since = now
        self.phase = Phase.OPENING
        self.last_event = "leased"
        self.generation = oracle.generation
        self.host = link.peer
        self.outlives = False
        self.finished: Finished | None = None
