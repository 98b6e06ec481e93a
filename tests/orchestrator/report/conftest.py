"""A report whose every foreign text tries to be more than text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from orchestrator.kinds.base import Section
from orchestrator.report import Report

EVIL: Final = "<script>alert(1)</script>|**bold** [x](http://a.b) \x1b[31mred\x1b[0m \u202ereversed\n# heading"
RATE: Final = {"numerator": 50, "denominator": 90, "rate": 50 / 90, "ci": {"lo": 0.45, "hi": 0.65}, "bounds": {}}
NONE: Final[dict[str, Any]] = {"numerator": 0, "denominator": 0, "rate": None, "ci": None, "bounds": {}}

MakeReport = Callable[..., Report]


@pytest.fixture(scope="session")
def evil() -> str:
    """A text with markup for HTML and Markdown, terminal codes and a direction mark."""
    return EVIL


@pytest.fixture(scope="session")
def make_report() -> MakeReport:
    """Makes a report in which a given text stands in every place that comes from outside."""

    def make(text: str = "plain", **conservation: int) -> Report:
        line = {"planned": 90, "scored": 90, "unreadable": 0, "infrastructure": 0, "cancelled": 0, "owed": 0}
        summary: dict[str, Any] = {
            "run_id": text,
            "kind": "effect",
            "info": {"pack": text, "split": "dev", "isolation": {text: "in-process"}, "warnings": [text]},
            "conservation": line | conservation,
            "arms": {text: {"swer": RATE, "over_halt": NONE, "other": "no rate"}},
            "comparisons": [],
            "results_digest": "sha256:" + "0" * 64,
        }
        section = Section(f"Title {text}", (text,), ("arm", text), [(text, text)])
        return Report(summary, ("swer", "over_halt", "other"), (section, Section("Empty")))

    return make
