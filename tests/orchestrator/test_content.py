"""A trial's content: the digest that a terminal line carries, and how two plans compare trial by trial."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from orchestrator.content import Content, merged, other_digest
from orchestrator.plan import Plan

PLAN = Plan(["t0", "t1"], ["a", "b"], 2)
PARTS = {"tasks": {"t0": "sha256:0", "t1": "sha256:1"}, "arms": {"a": "sha256:a", "b": "sha256:b"}, "provider": "p"}


def test_the_digest_is_that_of_the_canonical_list() -> None:
    """sha256 over the compact JSON list of task digest, arm digest, provider digest and seed."""
    text = b'["sha256:1","sha256:b","p",-7]'
    assert Content(PARTS, PLAN).digest(7, -7) == "sha256:" + hashlib.sha256(text).hexdigest()


def test_parts_of_another_plan_know_what_they_have() -> None:
    """A trial whose task or arm the parts do not have has no digest, and is no other trial either."""
    content = Content({**PARTS, "arms": {"a": "sha256:a"}}, PLAN)
    assert [content.knows(ordinal) for ordinal in range(len(PLAN))] == [True, True, False, False] * 2
    with pytest.raises(KeyError):
        content.digest(2, 0)
    whole = Content(PARTS, PLAN)
    assert not any(whole.differs(content, ordinal) for ordinal in range(len(PLAN)))


@pytest.mark.parametrize(
    ("parts", "others"),
    [
        (PARTS, []),
        ({**PARTS, "arms": {"a": "sha256:a", "b": "sha256:c"}}, [2, 3, 6, 7]),
        ({**PARTS, "tasks": {"t0": "sha256:9", "t1": "sha256:1"}}, [0, 1, 2, 3]),
        ({**PARTS, "provider": "q"}, list(range(8))),
    ],
)
def test_two_plans_are_compared_trial_by_trial(parts: dict[str, Any], others: list[int]) -> None:
    """Only trials with a changed task, arm or provider are other ones."""
    before, after = Content(PARTS, PLAN), Content(parts, PLAN)
    assert [ordinal for ordinal in range(len(PLAN)) if before.differs(after, ordinal)] == others


def test_what_a_later_plan_left_out_stays_known() -> None:
    """Merged parts have the later digest where both have one, and the later provider."""
    later = {"tasks": {"t1": "sha256:9"}, "arms": {"b": "sha256:b"}, "provider": "q"}
    assert merged(PARTS, later) == {
        "tasks": {"t0": "sha256:0", "t1": "sha256:9"},
        "arms": {"a": "sha256:a", "b": "sha256:b"},
        "provider": "q",
    }


def test_a_line_is_asked_for_its_digest() -> None:
    """A row says its seed; a line without a row needs somebody who knows it, and is passed over without."""
    content = Content(PARTS, PLAN)
    right, wrong = content.digest(3, 5), content.digest(3, 6)
    assert other_digest(content, 3, {"trial_digest": right, "row": {"seed": 5}}, None) is None
    assert other_digest(content, 3, {"trial_digest": wrong, "row": {"seed": 5}}, None) == right
    assert other_digest(content, 3, {"row": {"seed": 5}}, None) == right
    assert other_digest(content, 3, {"trial_digest": wrong}, None) is None
    assert other_digest(content, 3, {"trial_digest": wrong}, lambda ordinal: ordinal + 3) is None
    assert other_digest(content, 3, {"trial_digest": wrong}, lambda _: 5) == right
