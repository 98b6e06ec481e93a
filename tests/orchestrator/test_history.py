"""A journal that is read back gives the ledger that its run had."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.history import JOURNAL_NAME, LatestPlan, read_history, read_latest
from orchestrator.journal import Journal, LineType
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from spec.canonical import JsonObject
from spec.clock import Clock, SystemClock
from spec.errors import ConservationBroken, InputError

PLAN = Plan(["t0", "t1"], ["a", "b"], 2)
CLOCK: Clock = SystemClock()
Line = tuple[LineType, int | str | None, JsonObject]

ENDS = {
    LineType.SCORED: Standing.SCORED,
    LineType.UNREADABLE: Standing.UNREADABLE,
    LineType.INFRASTRUCTURE: Standing.INFRASTRUCTURE,
    LineType.CANCELLED: Standing.CANCELLED,
}


def written(folder: Path, lines: Sequence[Line]) -> tuple[Path, list[int]]:
    """A journal with these lines, and the offset of each."""
    path = folder / JOURNAL_NAME

    async def write() -> list[int]:
        journal = Journal.create(path, {"run_id": "r"}, clock=CLOCK)
        keys = [PLAN.key(key) if isinstance(key, int) else key for _, key, _ in lines]
        offsets = [journal.append(line[0], key, line[2]) for line, key in zip(lines, keys, strict=True)]
        await journal.commit()
        journal.close()
        return offsets

    return path, anyio.run(write)


def lease(attempt: int, *ordinals: int) -> Line:
    return LineType.LEASE, None, {"lease": 1, "keys": [PLAN.key(place) for place in ordinals], "attempt": attempt}


def test_a_journal_without_trials_owes_everything(tmp_path: Path) -> None:
    """Nothing leased, nothing ended: all owed, and the first attempt is next."""
    path, _ = written(tmp_path, [])
    history = read_history(path, PLAN)
    assert (history.ledger.owed(), history.leases) == (len(PLAN), 0)
    assert history.ledger.next_attempt(0) == 1
    assert history.recovered.head == {"run_id": "r"}


def test_each_line_moves_what_it_speaks_of(tmp_path: Path) -> None:
    """Ends with their offsets, attempts that were begun, failures since the last end, unreadable attempts by arm."""
    lines: list[Line] = [
        lease(1, 0, 1, 2, 3),
        (LineType.SCORED, 0, {"attempt": 1, "row": {}}),
        (LineType.FAILED, 1, {"attempt": 1, "cause": "provider"}),
        (LineType.FAILED, 2, {"attempt": 1, "cause": "unreadable"}),
        lease(2, 1, 2),
        (LineType.INFRASTRUCTURE, 1, {"attempt": 2, "cause": "provider"}),
        (LineType.UNREADABLE, 2, {"attempt": 2, "cause": "unreadable"}),
        (LineType.CANCELLED, 4, {"attempt": 0, "cause": "stop"}),
        (LineType.FAILED, 3, {"attempt": 1, "cause": "provider"}),
        (LineType.REFUSED, 0, {"attempt": 1, "why": "late"}),
        (LineType.NOTE, None, {"text": "x"}),
    ]
    path, offsets = written(tmp_path, lines)
    history = read_history(path, PLAN)
    ledger = history.ledger
    assert [ledger.standing(ordinal).name for ordinal in range(6)] == [
        "SCORED",
        "INFRASTRUCTURE",
        "UNREADABLE",
        "OWED",
        "CANCELLED",
        "OWED",
    ]
    assert [ledger.offset_bytes(ordinal) for ordinal in range(6)] == [
        offsets[1],
        offsets[5],
        offsets[6],
        None,
        offsets[7],
        None,
    ]
    assert [ledger.next_attempt(ordinal) for ordinal in range(6)] == [2, 3, 3, 2, 1, 1]
    assert ledger.failures == {3: 1}
    assert dict(ledger.unreadable_attempts) == {"b": 2}
    assert history.leases == 2
    ledger.check()


def test_a_reopened_trial_is_owed_and_its_next_end_counts(tmp_path: Path) -> None:
    """The end behind the last reopening is the one that counts, attempts go on, failures begin anew."""
    lines: list[Line] = [
        lease(1, 0, 1),
        (LineType.FAILED, 0, {"attempt": 1, "cause": "provider"}),
        (LineType.INFRASTRUCTURE, 0, {"attempt": 2, "cause": "provider"}),
        (LineType.UNREADABLE, 1, {"attempt": 1, "cause": "unreadable"}),
        (LineType.REOPENED, 0, {"attempt": 2, "why": "retry"}),
        (LineType.REOPENED, 1, {"attempt": 1, "why": "retry"}),
        lease(3, 0),
        (LineType.SCORED, 0, {"attempt": 3, "row": {}}),
    ]
    path, offsets = written(tmp_path, lines)
    ledger = read_history(path, PLAN).ledger
    assert (ledger.standing(0), ledger.offset_bytes(0)) == (Standing.SCORED, offsets[-1])
    assert (ledger.standing(1), ledger.offset_bytes(1)) == (Standing.OWED, None)
    assert ledger.next_attempt(0) == 4
    assert ledger.failures == {}


def test_two_ends_of_one_trial_break_the_law(tmp_path: Path) -> None:
    """A journal that scores a trial twice is refused, whoever wrote it."""
    path, _ = written(tmp_path, [(LineType.SCORED, 0, {"attempt": 1}), (LineType.SCORED, 0, {"attempt": 2})])
    with pytest.raises(ConservationBroken, match="second terminal line"):
        read_history(path, PLAN)


@pytest.mark.parametrize(
    "line",
    [
        (LineType.SCORED, "c::t0::t0", {"attempt": 1}),
        (LineType.FAILED, "a::t0::t2", {"attempt": 1, "cause": "provider"}),
        (LineType.REOPENED, None, {"attempt": 1, "why": "retry"}),
        (LineType.LEASE, None, {"lease": 1, "keys": ["a::t9::t0"], "attempt": 1}),
    ],
    ids=lambda line: str(line[0]),
)
def test_a_line_about_a_trial_of_another_plan_is_refused(tmp_path: Path, line: Line) -> None:
    """File, byte and key are named, so that nobody reads a run against the wrong plan."""
    path, offsets = written(tmp_path, [line])
    with pytest.raises(InputError, match=f"byte {offsets[0]} speaks of .* no trial of this plan"):
        read_history(path, PLAN)


PARTS = {"tasks": {"t0": "0", "t1": "1"}, "arms": {"a": "a", "b": "b"}, "provider": "p"}


def opened(digest: str, parts: Any, **more: Any) -> Line:
    return LineType.RESUME, None, {"plan_digest": digest, "parts": parts, **more}


def test_what_is_planned_no_longer_is_passed_over(tmp_path: Path) -> None:
    """Lines of earlier sessions about trials that the latest plan does not have move nothing and are counted."""
    lines: list[Line] = [
        opened("one", {**PARTS, "arms": {"a": "a", "gone": "g"}}),
        (LineType.LEASE, None, {"lease": 1, "keys": ["gone::t0::t0", "a::t0::t0"], "attempt": 1}),
        (LineType.SCORED, "gone::t0::t0", {"attempt": 1}),
        (LineType.REOPENED, "gone::t0::t0", {"attempt": 1, "why": "retry"}),
        (LineType.FAILED, "gone::t0::t0", {"attempt": 2, "cause": "unreadable"}),
        (LineType.UNREADABLE, "gone::t0::t0", {"attempt": 3, "cause": "unreadable"}),
        (LineType.SCORED, "a::t1::t7", {"attempt": 1}),
        (LineType.SCORED, "a::t0::t0", {"attempt": 1}),
    ]
    latest = opened("two", PARTS)
    path, offsets = written(tmp_path, [*lines, latest])
    history = read_history(path, PLAN)
    assert history.ledger.conservation()["scored"] == 1
    assert history.ledger.next_attempt(0) == 2
    assert dict(history.ledger.unreadable_attempts) == {}
    assert +history.left == {"gone": 1, "a": 1}
    assert history.latest == LatestPlan(3, offsets[-1])
    assert history.session["plan_digest"] == "two"
    assert history.leases == 1


def test_the_next_plan_need_not_have_every_trial(tmp_path: Path) -> None:
    """A resume reads the last session's lines against a plan of its own; everybody else refuses what is not planned."""
    path, _ = written(tmp_path, [(LineType.SCORED, "a::t0::t7", {"attempt": 1})])
    assert read_history(path, PLAN, next_plan=True).left == {"a": 1}
    with pytest.raises(InputError, match="'a::t0::t7', which is no trial of this plan"):
        read_history(path, PLAN)


def test_the_last_session_says_which_plan_it_is(tmp_path: Path) -> None:
    """The plan is asked for with the line that opened the last session, whatever the first one went by."""
    plans = {"one": PLAN, "two": Plan(["t1"], ["b"], 2)}
    fewer = {"tasks": {"t1": "1"}, "arms": {"b": "b"}, "provider": "p"}
    lines = [opened("one", PARTS), (LineType.SCORED, 6, {"attempt": 1}), opened("two", fewer)]
    path, offsets = written(tmp_path, lines)
    history = read_latest(path, lambda session: plans[str(session.get("plan_digest", "one"))])
    assert history.ledger.plan is plans["two"]
    assert history.ledger.offset_bytes(0) == offsets[1]
    assert history.parts == {**PARTS, "arms": {"a": "a", "b": "b"}}
    (tmp_path / "more").mkdir()
    path, _ = written(tmp_path / "more", [*lines, (LineType.SCORED, 0, {"attempt": 1})])
    with pytest.raises(InputError, match="no trial of this plan"):
        read_latest(path, lambda session: plans[str(session.get("plan_digest", "one"))])


def test_a_changed_trial_begins_its_failures_anew(tmp_path: Path) -> None:
    """What failed before its arm changed is no failure of what it is now; attempts go on."""
    lines: list[Line] = [
        opened("one", PARTS),
        lease(1, 0, 2),
        (LineType.FAILED, 0, {"attempt": 1, "cause": "unreadable"}),
        (LineType.FAILED, 2, {"attempt": 1, "cause": "unreadable"}),
        opened("two", {**PARTS, "arms": {"a": "changed", "b": "b"}}),
    ]
    ledger = read_history(written(tmp_path, lines)[0], PLAN).ledger
    assert ledger.failures == {2: 1}
    assert ledger.counts()["a"].unreadable_attempts == 0
    assert ledger.counts()["b"].unreadable_attempts == 1
    assert ledger.next_attempt(0) == 2


steps = st.lists(
    st.tuples(st.sampled_from(["lease", "fail", "reopen", *ENDS]), st.integers(0, len(PLAN) - 1)), max_size=30
)


@settings(max_examples=40, deadline=None)
@given(steps)
def test_what_was_lived_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, int]]) -> None:
    """A ledger kept while lines are written, and one built from them afterwards, agree trial by trial."""
    lived, lines = Ledger(PLAN), list[Line]()
    for step, ordinal in steps:
        owed = lived.is_owed(ordinal)
        if step == "lease" and owed:
            attempt = lived.next_attempt(ordinal)
            lived.started(ordinal, attempt)
            lines.append(lease(attempt, ordinal))
        elif step == "fail" and owed:
            lived.failed(ordinal)
            lines.append((LineType.FAILED, ordinal, {"attempt": 1, "cause": "provider"}))
        elif step == "reopen" and not owed:
            lived.reopened(ordinal)
            lines.append((LineType.REOPENED, ordinal, {"attempt": 1, "why": "retry"}))
        elif step in ENDS and owed:
            lived.ended(ordinal, ENDS[step], 0)
            lines.append((step, ordinal, {"attempt": 1, "cause": "provider"}))
    path, _ = written(tmp_path_factory.mktemp("run"), lines)
    read = read_history(path, PLAN).ledger
    for ordinal in range(len(PLAN)):
        assert read.standing(ordinal) is lived.standing(ordinal)
        assert read.next_attempt(ordinal) == lived.next_attempt(ordinal)
    assert read.failures == lived.failures
    assert read.counts() == lived.counts()
