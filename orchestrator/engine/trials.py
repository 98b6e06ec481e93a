"""The trials on their way, and how an attempt of one ends: as a row, for a repetition, or counted apart.

Plain functions that never wait. An end takes effect when its line is durable: only then is the fixture closed, the
trial forgotten, and the next attempt leased.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from anyio.abc import TaskGroup

from orchestrator.engine.active import EXPECTED, Active, Phase, TrialEvent
from orchestrator.engine.committer import Committer, Entry
from orchestrator.engine.leasing import Leasing
from orchestrator.engine.links import OracleLink, WorkerLink
from orchestrator.engine.rules import Rules
from orchestrator.journal import LineType
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from spec.canonical import Json, JsonObject
from spec.clock import Clock
from spec.messages import Cause
from spec.trial import Trial

BACKOFF_FIRST_S: Final = 0.2
BACKOFF_MAX_S: Final = 30.0

_APART: Final = {
    Cause.UNREADABLE: (LineType.UNREADABLE, Standing.UNREADABLE),
    Cause.KILLED_WORKER: (LineType.UNREADABLE, Standing.UNREADABLE),
    Cause.STOPPED: (LineType.CANCELLED, Standing.CANCELLED),
}
"""How a trial is counted apart; every other cause is infrastructure."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A trial whose last attempt failed and that waits out its back-off.

    Attributes:
        attempt: the one that failed.
        why: how it failed.
        since, until: seconds of the monotonic clock.
    """

    attempt: int
    why: str
    since: float
    until: float


class Trials:
    """What is on its way; see the module.

    Args:
        plan: the trials of the run.
        ledger: how they stand; kept up to date.
        leasing: which go out next.
        committer: where every line goes.
        trial_digest: (ordinal, seed) -> content digest of the trial.
        rules: what to go by.
        clock: where time comes from.

    Attributes:
        active: ordinal -> the trial on its way.
        repeats: ordinal -> the trial in its back-off.
        now: when something was heard or leased last, seconds of the monotonic clock.
        losses: workers and oracles lost since the last trial ended.
        draining: whether nothing is repeated any more.
        cancelling: whether what would be repeated is cancelled.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        ledger: Ledger,
        leasing: Leasing,
        committer: Committer,
        trial_digest: Callable[[int, int], str],
        rules: Rules,
        clock: Clock,
    ) -> None:
        self.plan, self.ledger, self.leasing, self.committer = plan, ledger, leasing, committer
        self._trial_digest, self._rules, self._clock = trial_digest, rules, clock
        self.active: dict[int, Active] = {}
        self._cancelled: set[int] = set()
        self._by_worker: dict[WorkerLink, dict[int, Active]] = {}
        self.repeats: dict[int, Repeat] = {}
        self.now = clock.monotonic()
        self.losses = 0
        self.draining = self.cancelling = False
        self._tasks: TaskGroup | None = None
        self._move_on: Callable[[], None] = _nothing

    def open(self, tasks: TaskGroup, move_on: Callable[[], None]) -> None:
        """From now on trials may be repeated: ``tasks`` waits out their back-offs, then ``move_on`` is called."""
        self._tasks, self._move_on = tasks, move_on
        self.tick()

    def close(self) -> None:
        """Nothing is repeated any more."""
        self._tasks = None

    def tick(self) -> None:
        """Something was heard."""
        self.now = self._clock.monotonic()

    def start(self, trial: Trial, link: WorkerLink, oracle: OracleLink) -> Active:
        """A trial is leased."""
        self.tick()
        self.ledger.started(trial.ordinal, trial.attempt)
        active = self.active[trial.ordinal] = Active(trial, link, oracle, self.now)
        self._by_worker.setdefault(link, {})[trial.ordinal] = active
        return active

    def of_worker(self, link: WorkerLink) -> Collection[Active]:
        """What is on its way at one place."""
        return self._by_worker.get(link, {}).values()

    def current(self, event: TrialEvent) -> Active | None:
        """The trial that an event speaks of, or None (and a journal line) where the event is late or told twice."""
        ordinal, attempt, what = event.ordinal, event.attempt, type(event)
        active = self.active.get(ordinal)
        if active is not None and active.trial.attempt == attempt and active.phase in EXPECTED[what]:
            active.last_event = what.__name__
            return active
        if not self.draining:
            why = f"{what.__name__} of attempt {attempt} came late"
            self.committer.add(Entry(LineType.REFUSED, self.plan.key(ordinal), {"attempt": attempt, "why": why}))
        return None

    def enter(self, active: Active, phase: Phase) -> None:
        """A trial enters its next phase."""
        active.phase, active.since = phase, self.now

    def end_arm(self, active: Active) -> None:
        """A trial's arm has ended, or will not run."""
        self.leasing.arm_ended(active.link, active.trial.arm)

    def release(self, active: Active) -> None:
        """Let go of a trial that has not run; it stays owed."""
        self.end_arm(active)
        self._forget(active)

    # Ends of attempts

    def scored(self, active: Active, body: JsonObject) -> None:
        """A trial has its row."""
        digest = self._trial_digest(active.trial.ordinal, active.trial.seed)
        whole: dict[str, Json] = {"attempt": active.trial.attempt, "trial_digest": digest, **body}
        self._end(active, LineType.SCORED, Standing.SCORED, whole)

    def failed(self, active: Active, cause: Cause, detail: str, *, alone: bool = False) -> None:
        """Repeat a trial with a fresh fixture, or count it apart when its attempts are used up.

        Args:
            active: the trial.
            cause: why its attempt did not come to a reading.
            detail: one sentence about it.
            alone: whether it has to be repeated in a worker of its own.
        """
        failures = self.ledger.failed(active.trial.ordinal)
        if failures >= self._rules.attempts:
            self.count_apart(active, cause, detail)
            return
        self.enter(active, Phase.COMMITTING)
        again = self._suspect_alone if alone else self.leasing.again
        self._failed(active, cause, {"detail": detail}, lambda: self._repeat(active, failures, detail, again))

    def failed_blameless(self, group: Sequence[Active], detail: str, *, apart: bool) -> None:
        """Have trials repeated whose attempt ended with their worker and does not count against them.

        Args:
            group: the trials.
            detail: one sentence about the end.
            apart: whether one of their arms may have done it: nobody knows which, so they are repeated apart, in
                smaller groups each time, which is what bounds it.
        """

        def all_durable() -> None:  # the lines are added in one turn, so one commit has them all
            for active in group:
                self._forget(active)
            again = [active for active in group if not self._is_cancelled(active)]
            if self.draining:
                return
            if apart:
                self.leasing.suspect(active.trial.ordinal for active in again)
            else:
                for active in again:
                    self.leasing.again(active.trial.ordinal)

        for place, active in enumerate(group, start=1):
            self.enter(active, Phase.COMMITTING)
            more: dict[str, Json] = {"detail": detail, "counted": False}
            self._failed(active, Cause.WORKER_LOST, more, all_durable if place == len(group) else _nothing)

    def count_apart(self, active: Active, cause: Cause, detail: str) -> None:
        """End a trial without a row."""
        self.enter(active, Phase.COMMITTING)
        trial = active.trial
        line, standing = _APART.get(cause, (LineType.INFRASTRUCTURE, Standing.INFRASTRUCTURE))
        digest = self._trial_digest(trial.ordinal, trial.seed)
        body: dict[str, Json] = {"attempt": trial.attempt, "cause": cause, "detail": detail, "trial_digest": digest}
        self._end(active, line, standing, body)

    def cancel_owed(self, ordinal: int, seed: int) -> None:
        """Cancel a trial that is not on its way; a second time does nothing."""
        if ordinal in self._cancelled:
            return
        self._cancelled.add(ordinal)
        self.repeats.pop(ordinal, None)
        body: dict[str, Json] = {
            "attempt": self.ledger.next_attempt(ordinal) - 1,
            "cause": Cause.STOPPED,
            "detail": "the run was stopped before the trial was done",
            "trial_digest": self._trial_digest(ordinal, seed),
        }
        ended = partial(self.ledger.ended, ordinal, Standing.CANCELLED)
        self.committer.add(Entry(LineType.CANCELLED, self.plan.key(ordinal), body, ended))

    def _failed(self, active: Active, cause: Cause, more: dict[str, Json], durable: Callable[[], None]) -> None:
        body: dict[str, Json] = {"attempt": active.trial.attempt, "cause": cause, **more}
        self.committer.add(Entry(LineType.FAILED, active.trial.key, body, lambda _: durable()))

    def _end(self, active: Active, line: LineType, standing: Standing, body: JsonObject) -> None:
        def committed(offset_bytes: int) -> None:
            self.ledger.ended(active.trial.ordinal, standing, offset_bytes)
            self.losses = 0
            self._forget(active)

        self.committer.add(Entry(line, active.trial.key, body, committed))

    def _suspect_alone(self, ordinal: int) -> None:
        self.leasing.suspect([ordinal])

    def _repeat(self, active: Active, failures: int, why: str, again: Callable[[int], None]) -> None:
        self._forget(active)
        if not self._is_cancelled(active) and not self.draining and self._tasks is not None:
            backoff_s = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** (failures - 1))
            now = self._clock.monotonic()
            self.repeats[active.trial.ordinal] = Repeat(active.trial.attempt, why, now, now + backoff_s)
            self._tasks.start_soon(self._repeat_later, active.trial.ordinal, backoff_s, again)

    def _is_cancelled(self, active: Active) -> bool:
        """Cancel a trial whose attempt has failed, where the rest of the run is cancelled."""
        if self.cancelling:
            self.cancel_owed(active.trial.ordinal, active.trial.seed)
        return self.cancelling

    async def _repeat_later(self, ordinal: int, backoff_s: float, again: Callable[[int], None]) -> None:
        await self._clock.sleep(backoff_s)
        if self.repeats.pop(ordinal, None) is not None:
            again(ordinal)
            self._move_on()

    def _forget(self, active: Active) -> None:
        ordinal = active.trial.ordinal
        del self.active[ordinal]
        del self._by_worker[active.link][ordinal]
        active.link.close(ordinal)
        active.oracle.forget(ordinal)
        self.leasing.committed(active.link)


def _nothing() -> None:
    """Nobody waits."""
