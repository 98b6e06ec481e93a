"""What can be seen of a run at work: plain values, for whoever looks from outside."""

from __future__ import annotations

from typing import Final, NamedTuple

WAITING_TO_REPEAT: Final = "waiting to repeat"
"""The phase of a trial whose last attempt failed and whose next one waits out its back-off."""


class TrialView(NamedTuple):
    """A trial on its way.

    Attributes:
        key: the trial.
        attempt: which execution of it this is, from 1.
        phase: of ``orchestrator.engine.active.Phase``, or ``WAITING_TO_REPEAT``.
        worker, oracle: who has it; "" where nobody has.
        age_s: seconds since it was leased.
        phase_age_s: seconds since it entered its phase.
        last_event: what was heard of it last, as in ``Opened``; ``leased`` before that.
        waits_for: what has to happen next, and how long that may take, as a sentence.
    """

    key: str
    attempt: int
    phase: str
    worker: str
    oracle: str
    age_s: float
    phase_age_s: float
    last_event: str
    waits_for: str


class RunView(NamedTuple):
    """A run at work, at one moment.

    Attributes:
        paused: whether somebody has asked for no new leases.
        draining: whether it ends when what runs has ended.
        silent_s: seconds since anything was heard of a worker or an oracle.
        in_flight_max: how many arms may run at once, in all.
        trials: what is on its way.
    """

    paused: bool
    draining: bool
    silent_s: float
    in_flight_max: int
    trials: tuple[TrialView, ...]
