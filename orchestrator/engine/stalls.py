"""Says what a run waits for: in a line when nothing has happened for a while, in full to whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchestrator.engine.active import Active, Phase
from orchestrator.engine.rules import Rules
from orchestrator.engine.trials import Trials
from orchestrator.engine.view import WAITING_TO_REPEAT, RunView, TrialView
from spec.clock import Clock

LOOK_S: Final = 1.0


class Stalls:
    """Looks at what is on its way; see the module.

    Args:
        trials: what is on its way.
        rules: what to go by.
        clock: where time comes from.
        notice: told in one line what a person should know.
        move_on: called once a look, so that nothing waits longer for what no event announces.
    """

    def __init__(
        self,
        trials: Trials,
        *,
        rules: Rules,
        clock: Clock,
        notice: Callable[[str], None],
        move_on: Callable[[], None],
    ) -> None:
        self._trials, self._rules, self._clock = trials, rules, clock
        self._notice, self._move_on = notice, move_on

    async def watch(self) -> None:
        """Look until cancelled, and report a silence once for each ``stall_report_s`` that it lasts."""
        reported_s = 0.0
        while True:
            await self._clock.sleep(LOOK_S)
            self._trials.leasing.refresh()
            self._move_on()
            silent_s, limit_s = self._clock.monotonic() - self._trials.now, self._rules.stall_report_s
            reported_s = min(reported_s, silent_s)
            if (
                limit_s
                and self._trials.ledger.owed()
                and not self._trials.leasing.paused
                and silent_s - reported_s >= limit_s
            ):
                reported_s = silent_s
                self._notice(self._report(silent_s))

    def _report(self, silent_s: float) -> str:
        if not self._trials.active:
            return f"no news for {silent_s:.0f} s; {self._trials.ledger.owed()} trials are owed and none is on its way"
        oldest = min(self._trials.active.values(), key=lambda active: active.since)
        waited_s = self._clock.monotonic() - oldest.since
        return (
            f"no news for {silent_s:.0f} s; {len(self._trials.active)} trials on their way, the oldest is "
            f"{oldest.trial.key}, {oldest.phase.value} for {waited_s:.0f} s: {self._waits_for(oldest)}"
        )

    def look(self) -> RunView:
        """What is on its way now."""
        now = self._clock.monotonic()
        trials = self._trials
        return RunView(
            paused=trials.leasing.paused,
            draining=trials.draining,
            silent_s=now - trials.now,
            in_flight_max=trials.leasing.in_flight,
            trials=tuple(
                [self._view(active, now) for active in trials.active.values()]
                + [self._waiting(ordinal, now) for ordinal in trials.repeats]
                + [self._suspected(ordinal) for ordinal in trials.leasing.suspected()]
            ),
        )

    def _view(self, active: Active, now: float) -> TrialView:
        return TrialView(
            key=active.trial.key,
            attempt=active.trial.attempt,
            phase=active.phase.value,
            worker=active.link.peer.name,
            oracle=active.oracle.peer.name,
            age_s=now - active.leased_at,
            phase_age_s=now - active.since,
            last_event=active.last_event,
            waits_for=self._waits_for(active),
        )

    def _waiting(self, ordinal: int, now: float) -> TrialView:
        repeat = self._trials.repeats[ordinal]
        return TrialView(
            key=self._trials.plan.key(ordinal),
            attempt=repeat.attempt + 1,
            phase=WAITING_TO_REPEAT,
            worker="",
            oracle="",
            age_s=now - repeat.since,
            phase_age_s=now - repeat.since,
            last_event=f"attempt {repeat.attempt} failed: {repeat.why}",
            waits_for=f"its next lease, in {max(0.0, repeat.until - now):.1f} s",
        )

    def _suspected(self, ordinal: int) -> TrialView:
        return TrialView(
            key=self._trials.plan.key(ordinal),
            attempt=self._trials.ledger.next_attempt(ordinal),
            phase=WAITING_TO_REPEAT,
            worker="",
            oracle="",
            age_s=0.0,
            phase_age_s=0.0,
            last_event="its worker was lost while its arm ran there",
            waits_for="a worker apart from the other trials, to see whose arm it was",
        )

    def _waits_for(self, active: Active) -> str:
        worker, oracle, rules = active.link.peer.name, active.oracle.peer.name, self._rules
        deadline_s = rules.deadlines_s[active.trial.arm]
        match active.phase:
            case Phase.OPENING:
                return f"{worker} opens its fixture; at most {rules.open_s:g} s"
            case Phase.BASELINE:
                return f"{oracle} reads its baseline; at most {rules.baseline_s:g} s"
            case Phase.RUNNING if self._trials.leasing.paused:
                return f"the run is paused; where its arm runs in {worker} already, it ends within {deadline_s:g} s"
            case Phase.RUNNING:
                return f"its arm runs in {worker} or waits for a slot; at most {deadline_s:g} s once it runs"
            case Phase.READING:
                return f"{oracle} reads the record and judges; at most about {rules.read_s:g} s"
            case _:
                return "its line in the journal is synced"
