"""The ledger agrees with a naive account of every trial, at every moment."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from orchestrator.ledger import Ledger, Standing, conservation
from orchestrator.plan import Plan
from spec.errors import ConservationBroken

PLAN = Plan(["t0", "t1", "t2"], ["a", "b"], 3)
ENDED = [standing for standing in Standing if standing is not Standing.OWED]
ordinals = st.integers(0, len(PLAN) - 1)


class Account(RuleBasedStateMachine):
    """Every step is taken by the ledger and written down in plain dictionaries beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(PLAN)
        self.ended: dict[int, tuple[Standing, int]] = {}
        self.attempts = dict.fromkeys(range(len(PLAN)), 0)
        self.failures = dict.fromkeys(range(len(PLAN)), 0)

    @rule(ordinal=ordinals)
    def lease(self, ordinal: int) -> None:
        attempt = self.ledger.next_attempt(ordinal)
        assert attempt == self.attempts[ordinal] + 1
        self.ledger.started(ordinal, attempt)
        self.attempts[ordinal] = attempt

    @rule(ordinal=ordinals, attempt=st.integers(1, 50))
    def replay_a_lease(self, ordinal: int, attempt: int) -> None:
        self.ledger.started(ordinal, attempt)
        self.attempts[ordinal] = max(self.attempts[ordinal], attempt)

    @rule(ordinal=ordinals)
    def fail(self, ordinal: int) -> None:
        if ordinal not in self.ended:
            self.failures[ordinal] += 1
            assert self.ledger.failed(ordinal) == self.failures[ordinal]

    @rule(ordinal=ordinals, standing=st.sampled_from(ENDED), offset_bytes=st.integers(0, 2**40))
    def end(self, ordinal: int, standing: Standing, offset_bytes: int) -> None:
        if ordinal in self.ended:
            with pytest.raises(ConservationBroken, match="second terminal line"):
                self.ledger.ended(ordinal, standing, offset_bytes)
            return
        self.ledger.ended(ordinal, standing, offset_bytes)
        self.ended[ordinal] = standing, offset_bytes
        self.failures[ordinal] = 0

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def reopen(self, data: st.DataObject) -> None:
        ordinal = data.draw(st.sampled_from(sorted(self.ended)))
        self.ledger.reopened(ordinal)
        del self.ended[ordinal]

    @invariant()
    def every_trial_is_where_it_should_be(self) -> None:
        for ordinal in range(len(PLAN)):
            standing, offset_bytes = self.ended.get(ordinal, (Standing.OWED, None))
            assert self.ledger.standing(ordinal) is standing
            assert self.ledger.is_owed(ordinal) is (ordinal not in self.ended)
            assert self.ledger.offset_bytes(ordinal) == offset_bytes
            assert self.ledger.next_attempt(ordinal) == self.attempts[ordinal] + 1
        assert self.ledger.failures == {ordinal: n for ordinal, n in self.failures.items() if n}

    @invariant()
    def nothing_is_lost(self) -> None:
        self.ledger.check()
        line = self.ledger.conservation()
        standings = [standing for standing, _ in self.ended.values()]
        assert line == {
            "planned": len(PLAN),
            **{standing.name.lower(): standings.count(standing) for standing in ENDED},
            "owed": len(PLAN) - len(self.ended),
        }
        assert self.ledger.owed() == line["owed"]

    @invariant()
    def arms_are_counted_apart(self) -> None:
        for arm, counts in self.ledger.counts().items():
            mine = [place for place in range(len(PLAN)) if PLAN.arms[PLAN.arm_of(place)] == arm]
            ends = [self.ended[place][0] for place in mine if place in self.ended]
            found = (counts.scored, counts.unreadable, counts.infrastructure, counts.cancelled)
            assert found == tuple(ends.count(standing) for standing in ENDED)
            assert (counts.planned, counts.owed) == (len(mine), len(mine) - len(ends))


TestAccount = Account.TestCase
TestAccount.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_second_terminal_line_changes_nothing() -> None:
    """The refused end leaves the first one as it was."""
    ledger = Ledger(PLAN)
    ledger.ended(4, Standing.SCORED, 100)
    with pytest.raises(ConservationBroken, match="b::t0::t1"):
        ledger.ended(4, Standing.CANCELLED, 200)
    assert (ledger.standing(4), ledger.offset_bytes(4)) == (Standing.SCORED, 100)
    ledger.check()


@pytest.mark.parametrize("standing", ENDED)
def test_check_notices_a_standing_that_was_tampered_with(standing: Standing) -> None:
    """A trial whose standing changed behind the sums is found."""
    ledger = Ledger(PLAN)
    ledger._standings[7] = standing
    with pytest.raises(ConservationBroken, match="do not agree"):
        ledger.check()


@pytest.mark.parametrize("standing", list(Standing))
def test_check_notices_a_sum_that_was_tampered_with(standing: Standing) -> None:
    """A count that changed behind the trials is found."""
    ledger = Ledger(PLAN)
    ledger._by_arm[1][standing] += 1
    with pytest.raises(ConservationBroken, match="do not agree"):
        ledger.check()


def test_unreadable_attempts_are_told_by_arm() -> None:
    """They stand beside the ends and are no part of the conservation line."""
    ledger = Ledger(PLAN)
    ledger.unreadable_attempts["b"] += 3
    counts = ledger.counts()
    assert [counts[arm].unreadable_attempts for arm in PLAN.arms] == [0, 3]
    assert conservation(counts) == ledger.conservation()


def test_a_million_trials_cost_megabytes() -> None:
    """The ledger's own tables are 13 bytes a trial: standing, attempts, place in the journal."""
    plan = Plan([f"t{place}" for place in range(100)], ["a", "b"], 5000)
    ledger = Ledger(plan)
    tables = (ledger._standings, ledger._attempts, ledger._offsets)
    assert sum(table.__sizeof__() for table in tables) < 14 * len(plan)


def test_what_failed_under_another_plan_is_forgotten() -> None:
    """Attempts that a changed trial had before count neither as its failures nor as its arm's unreadable readings."""
    ledger = Ledger(Plan(["a", "b"], ["x"], 2))
    for ordinal in (0, 3):
        ledger.failed(ordinal)
        ledger.unread(ordinal)
    ledger.changed(lambda ordinal: ordinal == 3)
    assert ledger.failures == {0: 1}
    assert ledger.counts()["x"].unreadable_attempts == 1


def test_what_ended_before_a_place_is_counted() -> None:
    """Trials whose terminal line stands before it, and none that is owed."""
    ledger = Ledger(Plan(["a", "b"], ["x"], 2))
    for ordinal, offset_bytes in ((0, 0), (1, 99), (2, 100)):
        ledger.ended(ordinal, Standing.SCORED, offset_bytes)
    assert [ledger.ended_before(place) for place in (0, 1, 100, 101)] == [0, 1, 2, 3]
