from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.report.model import (
    about_line,
    conservation_sentence,
    figures_of,
    promises_of,
    warnings_of,
)

if TYPE_CHECKING:
    from tests.orchestrator.report.conftest import MakeReport


def test_the_conservation_line_names_every_part(make_report: MakeReport) -> None:
    """Planned and its five parts stand in one sentence."""
    expected = "90 planned = 90 scored + 0 unreadable + 0 infrastructure + 0 cancelled + 0 owed"
    assert conservation_sentence(make_report()) == expected


def test_the_about_line_leaves_out_what_is_unknown(make_report: MakeReport) -> None:
    """Only what was given is named, and if nothing was, that is said."""
    report = make_report()
    assert about_line(report) == "pack plain, split dev"
    assert about_line(report._replace(summary={**report.summary, "info": {}})) == "pack and split were not given"


@pytest.mark.parametrize(
    ("level", "promise"),
    [
        ("in-process", "no promise of isolation"),
        ("process", "under the worker's user"),
        ("user", "a user of its own"),
        ("sandbox", "a sandbox of its own"),
        ("sandbox (user namespace)", "a sandbox of its own"),
    ],
)
def test_each_isolation_level_says_what_it_promises(make_report: MakeReport, level: str, promise: str) -> None:
    """Arms at one level share a sentence that names level, arms and promise."""
    report = make_report()
    info = {"isolation": {"a": level, "b": level}}
    sentences = promises_of(report._replace(summary={**report.summary, "info": info}))
    assert len(sentences) == 1
    assert sentences[0].startswith(f"Isolation {level}: a, b ")
    assert promise in sentences[0]


def test_warnings_say_what_is_missing(make_report: MakeReport) -> None:
    """Owed trials and trials without a verdict give a warning each; a complete run only the given ones."""
    assert warnings_of(make_report()) == ["plain"]
    warnings = warnings_of(make_report(scored=84, owed=3, unreadable=2, cancelled=1))
    assert [("3 trials are owed" in one, "3 trials have no verdict" in one) for one in warnings] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_headline_figures_are_those_that_are_rates(make_report: MakeReport) -> None:
    """A headline value that is no rate is left out; one without a denominator has no value."""
    swer, over_halt = figures_of(make_report(), "plain")
    assert (swer.name, swer.value, swer.counts, swer.interval) == ("SWER", "0.5556", "50/90", "0.4500 to 0.6500")
    assert (over_halt.name, over_halt.value, over_halt.interval) == ("over-halt", "none", "")
