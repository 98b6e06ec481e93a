"""Over any sequence of sessions, changes and kills: attempts rise by one, and what is kept belongs to the plan."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import anyio
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.content import Content
from orchestrator.history import JOURNAL_NAME, History, LatestPlan, begin, read_history
from orchestrator.journal import Journal, LineReader, LineType
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from spec.clock import Clock, SystemClock

CLOCK: Final[Clock] = SystemClock()
ENDS: Final = {
    "score": (LineType.SCORED, Standing.SCORED),
    "unread": (LineType.UNREADABLE, Standing.UNREADABLE),
    "lose": (LineType.INFRASTRUCTURE, Standing.INFRASTRUCTURE),
}

plans = st.tuples(
    st.lists(st.sampled_from(["t0", "t1"]), min_size=1, unique=True),
    st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["old", "new"]), min_size=1),
    st.integers(1, 2),
)
moves = st.lists(st.tuples(st.sampled_from(["lease", "fail", *ENDS]), st.integers(0, 7)), max_size=12)
lives = st.lists(st.tuples(plans, moves, st.booleans(), st.integers(0, 10**6)), min_size=1, max_size=6)


def parts_of(drawn: tuple[list[str], dict[str, str], int]) -> tuple[Plan, dict[str, Any]]:
    tasks, arms, trials = drawn
    parts = {"tasks": {task: f"of {task}" for task in tasks}, "arms": arms, "provider": "p"}
    return Plan(tasks, list(arms), trials), parts


class Life:
    """One session on the level of ledger and journal, as ``continue_run`` and the driver work on them."""

    def __init__(self, path: Path, plan: Plan, parts: dict[str, Any]) -> None:
        self.path, self.plan, self.content = path, plan, Content(parts, plan)
        self.running: dict[int, int] = {}
        body: dict[str, Any] = {"plan_digest": str(parts), "parts": parts, "trials": plan.trials}
        if not path.exists():
            self.ledger, self.journal = Ledger(plan), Journal.create(path, {"run_id": "r", **body}, clock=CLOCK)
            return
        history = read_history(path, plan, next_plan=True)
        self.ledger = history.ledger
        self.journal = Journal.resume(path, history.recovered, clock=CLOCK)
        self.journal.append(LineType.RESUME, None, body)
        begin(self.ledger, history.parts, parts)
        self._reopen()

    def _reopen(self) -> None:
        """Owe again what is another trial now, and what was unreadable, as with ``--retry unreadable``."""
        with LineReader(self.path) as lines:
            for ordinal in range(len(self.plan)):
                offset_bytes = self.ledger.offset_bytes(ordinal)
                if offset_bytes is None:
                    continue
                stale = orjson.loads(lines.read(offset_bytes))["trial_digest"] != self.content.digest(ordinal, 0)
                if stale or self.ledger.standing(ordinal) is Standing.UNREADABLE:
                    attempt = self.ledger.next_attempt(ordinal) - 1
                    why = "changed" if stale else "retry"
                    self.journal.append(LineType.REOPENED, self.plan.key(ordinal), {"attempt": attempt, "why": why})
                    self.ledger.reopened(ordinal)

    async def live(self, moves: list[tuple[str, int]], end_well: bool) -> None:
        await self.journal.commit()
        for move, place in moves:
            self.move(move, place % len(self.plan))
            if place % 3 == 0:
                await self.journal.commit()
        if end_well:
            await self.journal.finish({"exit": 3, "conservation": self.ledger.conservation()})
        self.journal.close()

    def move(self, move: str, ordinal: int) -> None:
        key = self.plan.key(ordinal)
        if move == "lease":
            if self.ledger.is_owed(ordinal) and ordinal not in self.running:
                attempt = self.running[ordinal] = self.ledger.next_attempt(ordinal)
                self.ledger.started(ordinal, attempt)
                self.journal.append(LineType.LEASE, None, {"lease": 1, "keys": [key], "attempt": attempt})
            return
        attempt = self.running.pop(ordinal, 0)
        if not attempt:
            return
        body: dict[str, Any] = {"attempt": attempt, "cause": "unreadable" if move == "unread" else "provider"}
        if move == "fail":
            self.ledger.failed(ordinal)
            self.journal.append(LineType.FAILED, key, body)
            return
        if move == "unread":
            self.ledger.unreadable_attempts[self.plan.arms[self.plan.arm_of(ordinal)]] += 1
        line_type, standing = ENDS[move]
        body["trial_digest"] = self.content.digest(ordinal, 0)
        self.ledger.ended(ordinal, standing, self.journal.append(line_type, key, body))


def check_attempts(path: Path) -> None:
    """By the lines alone: leases of a key count 1, 2, 3 ...; every other line names the latest of them."""
    latest: defaultdict[str, int] = defaultdict(int)
    for line in map(orjson.loads, path.read_bytes().splitlines()):
        if line["type"] == "lease":
            for key in line["keys"]:
                assert line["attempt"] == latest[key] + 1
                latest[key] = line["attempt"]
        elif "key" in line:
            assert line["attempt"] == latest[line["key"]]


def check_kept(path: Path, plan: Plan, parts: dict[str, Any], history: History) -> None:
    """Every end that counts is one of the latest plan, and the counts are those of such ends."""
    content = Content(parts, plan)
    with LineReader(path) as lines:
        for ordinal in range(len(plan)):
            offset_bytes = history.ledger.offset_bytes(ordinal)
            if offset_bytes is not None:
                line = orjson.loads(lines.read(offset_bytes))
                assert (line["key"], line["trial_digest"]) == (plan.key(ordinal), content.digest(ordinal, 0))
    history.ledger.check()


@settings(max_examples=150, deadline=None)
@given(lives)
def test_attempts_rise_and_plans_never_mix(tmp_path_factory: pytest.TempPathFactory, lives: list[Any]) -> None:
    """Sessions with plans of their own, some killed and cut anywhere: the laws hold after each, by file and ledger."""
    path = tmp_path_factory.mktemp("run") / JOURNAL_NAME
    for drawn, moves, end_well, cut in lives:
        plan, parts = parts_of(drawn)
        life = Life(path, plan, parts)
        begun = path.stat().st_size
        anyio.run(life.live, moves, end_well)
        history = read_history(path, plan)
        check_attempts(path)
        check_kept(path, plan, parts, history)
        for ordinal in range(len(plan)):
            if end_well:
                assert history.ledger.next_attempt(ordinal) == life.ledger.next_attempt(ordinal)
        if end_well:
            assert history.ledger.counts() == life.ledger.counts()
            assert history.ledger.failures == life.ledger.failures
        else:  # what was not synced is lost; so may be any of it
            size = path.stat().st_size
            with path.open("rb+") as file:
                file.truncate(begun + cut % (size - begun + 1))


def test_a_new_plan_is_counted_once(tmp_path: Path) -> None:
    """Sessions under the same plan are one plan; going back to an earlier one is a third."""
    path = tmp_path / JOURNAL_NAME
    one, two = ((["t0"], {"a": word}, 1) for word in ("old", "new"))
    for drawn in (one, one, two, two, one):
        plan, parts = parts_of(drawn)
        anyio.run(Life(path, plan, parts).live, [], True)
    found = read_history(path, plan).latest
    assert found == LatestPlan(3, found.since_bytes)
    assert found.since_bytes > 0
