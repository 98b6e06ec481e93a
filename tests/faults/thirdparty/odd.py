"""Arms that report what is no report, and a few that only look so."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from arms.base import ArmTask
from arms.environment import Environment
from spec.report import AgentReport

MIB = 1 << 20
GOOD = {"reported_success": True}


class Strings(str):
    """Text that is more than text."""

    __slots__ = ()


class Sly(AgentReport):
    """A report with another opinion of its fields."""

    def __getattribute__(self, name: str) -> Any:
        """Whatever is asked for."""
        return "yes" if name == "reported_success" else super().__getattribute__(name)


class Endless(Mapping[str, Any]):
    """A mapping whose keys never end."""

    def __getitem__(self, key: str) -> Any:
        return True

    def __iter__(self) -> Iterator[str]:
        raise LookupError("no end of keys")

    def __len__(self) -> int:
        return 1


def deep(levels: int) -> list[Any]:
    """A list in a list in a list."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


CASES: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a_bool": lambda: True,
    "yes": lambda: GOOD | {"reported_success": "yes"},
    "one": lambda: GOOD | {"reported_success": 1},
    "one_point_zero": lambda: GOOD | {"model_calls": [{"model": "m", "input_tokens": 1.0}]},
    "text_of_a_number": lambda: GOOD | {"model_calls": [{"model": "m", "input_tokens": "1"}]},
    "not_a_number": lambda: GOOD | {"model_calls": [{"model": "m", "cost_usd": float("nan")}]},
    "infinite": lambda: GOOD | {"model_calls": [{"model": "m", "latency_s": float("inf")}]},
    "huge_number": lambda: GOOD | {"model_calls": [{"model": "m", "input_tokens": 10**5000}]},
    "lone_surrogate": lambda: GOOD | {"message": "half \ud800 a pair"},
    "deep": lambda: GOOD | {"message": deep(sys.getrecursionlimit() * 10)},
    "deep_calls": lambda: GOOD | {"model_calls": deep(sys.getrecursionlimit() * 10)},
    "unknown_field": lambda: GOOD | {"sucess": True},
    "no_field": dict,
    "number_for_a_name": lambda: GOOD | {1: True},
    "empty_bytes": lambda: b"",
    "half": lambda: b'{"reported_success": tr',
    "json_in_text": lambda: json.dumps(GOOD),
    "duplicate_keys": lambda: '{"reported_success": false, "reported_success": true}',
    "two_reports": lambda: (GOOD, GOOD),
    "generator": lambda: (one for one in GOOD),
    "a_class": lambda: AgentReport,
    "sly": lambda: Sly(True),
    "bool_for_a_count": lambda: GOOD | {"model_calls": [{"model": "m", "input_tokens": True}]},
    "negative": lambda: GOOD | {"model_calls": [{"model": "m", "output_tokens": -1}]},
    "null_for_a_bool": lambda: GOOD | {"halted": None},
    "ten_megabytes": lambda: GOOD | {"message": "x" * 10 * MIB},
    "many_calls": lambda: GOOD | {"model_calls": [{"model": "m"}] * 100_000},
    "large_calls": lambda: GOOD | {"model_calls": [{"model": "m", "note": "x" * 4000}] * 5000},
}
"""What is no report."""

LARGEST: Callable[[], Any] = lambda: GOOD | {"message": "x" * 256 * MIB}  # noqa: E731 - one more of the same kind

ENDLESS: dict[str, Callable[[], Any]] = {"endless": Endless}
"""What fails while it is read: a fault of the arm, and none of its report."""

ODD_BUT_RIGHT: dict[str, Callable[[], Any]] = {
    "control_characters": lambda: (
        GOOD | {"message": "\x00\x1b[31mred\x1b[0m\x07\u202e<script>alert(1)</script>=cmd|'x'!A1"}
    ),
    "text_and_more": lambda: GOOD | {"message": Strings("saved")},
    "pairs": lambda: GOOD | {"message": "\U0001f600\u2028\n"},
}
"""Reports that are right, and dangerous to show."""


class Odd:
    """Acts and then returns what is called for. Option ``case``: its name."""

    def __init__(self, case: str) -> None:
        every = {**CASES, **ENDLESS, **ODD_BUT_RIGHT, "largest": LARGEST}
        self._make = every[case]

    async def __call__(self, task: ArmTask, environment: Environment) -> Any:
        """Work on one trial."""
        await environment.attempt_intended_action()
        return self._make()
