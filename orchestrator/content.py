"""What a trial is made of: the digests of its task, its arm and its provider, and its seed (pure).

A plan states the first three as its *parts*: ``{"tasks": {id: digest}, "arms": {name: digest}, "provider": digest}``.
A terminal line carries the digest of all four. So a row belongs to a plan exactly if its ``trial_digest`` is the one
that the plan gives, whichever session it was made in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.plan import Plan
from spec.canonical import canonical_json, digest_bytes

Parts = Mapping[str, Any]


class Content:
    """What the trials of a plan are made of.

    Args:
        parts: of some plan, not necessarily of this one.
        plan: the trials that are asked about.
    """

    def __init__(self, parts: Parts, plan: Plan) -> None:
        self._trials = plan.trials
        tasks, arms, provider = parts["tasks"], parts["arms"], parts["provider"]
        self._starts = [
            canonical_json([tasks[task], arms[arm], provider])[:-1] + b"," if task in tasks and arm in arms else None
            for task in plan.task_ids
            for arm in plan.arms
        ]

    def digest(self, ordinal: int, seed: int) -> str:
        """The digest of a trial: of the canonical JSON ``[task digest, arm digest, provider digest, seed]``.

        Raises:
            KeyError: the parts do not have the trial's task or arm.
        """
        start = self._starts[ordinal // self._trials]
        if start is None:
            raise KeyError(ordinal)
        return digest_bytes(b"%b%d]" % (start, seed))

    def knows(self, ordinal: int) -> bool:
        """Whether the parts have the trial's task and arm."""
        return self._starts[ordinal // self._trials] is not None

    def differs(self, other: Content, ordinal: int) -> bool:
        """Whether a trial that both know is made of something else; seeds follow from the provider."""
        cell = ordinal // self._trials
        one, two = self._starts[cell], other._starts[cell]
        return one is not None and two is not None and one != two


def other_digest(
    content: Content, ordinal: int, fields: Mapping[str, Any], seed_of: Callable[[int], int] | None
) -> str | None:
    """The digest that a terminal line should carry, where it carries another one; None where it belongs to the plan.

    Args:
        content: what the plan's trials are made of.
        ordinal: the trial.
        fields: the line, parsed. A row says its seed.
        seed_of: ordinal -> seed, for lines without a row; None: nobody can say, and such lines are not looked at.
    """
    row = fields.get("row")
    seed = row.get("seed") if isinstance(row, dict) else None
    if type(seed) is not int:
        if seed_of is None:
            return None
        seed = seed_of(ordinal)
    expected = content.digest(ordinal, seed)
    return None if fields.get("trial_digest") == expected else expected


def merged(earlier: Parts, later: Parts) -> Parts:
    """The parts of a later plan, and those of an earlier one that it left out."""
    return {
        "tasks": {**earlier["tasks"], **later["tasks"]},
        "arms": {**earlier["arms"], **later["arms"]},
        "provider": later["provider"],
    }
