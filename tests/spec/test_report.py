"""Reports: nothing is coerced, and every problem is listed at once."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.report import (
    MESSAGE_CHARS_MAX,
    MODEL_CALLS_MAX,
    AgentReport,
    MalformedReport,
    ModelCall,
    parse_report,
)

CALL = {"model": "m", "input_tokens": 3, "cost_usd": 0.5}


def test_a_report_passes_as_it_is() -> None:
    """An ``AgentReport`` is checked and kept."""
    report = AgentReport(True, message="saved", model_calls=(ModelCall("m", input_tokens=1),))
    assert parse_report(report) == report


def test_a_mapping_with_its_fields_is_a_report() -> None:
    """An arm in another language reports by JSON; what it leaves out has the default."""
    assert parse_report({"reported_success": False}) == AgentReport(False)
    parsed = parse_report({"reported_success": True, "halted": False, "message": "ok", "model_calls": [CALL]})
    assert parsed == AgentReport(True, False, "ok", (ModelCall("m", input_tokens=3, cost_usd=0.5),))


def test_an_unknown_count_stays_unknown() -> None:
    """Usage that nobody measured is None, never zero."""
    (call,) = parse_report({"reported_success": True, "model_calls": [{"model": "m"}]}).model_calls
    assert (call.input_tokens, call.cost_usd, call.latency_s) == (None, None, None)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (None, "must be an AgentReport or a mapping, not NoneType"),
        (True, "must be an AgentReport or a mapping, not bool"),
        ({}, "reported_success is missing"),
        ({"reported_success": "yes"}, "reported_success must be true or false, not str"),
        ({"reported_success": 1}, "reported_success must be true or false, not int"),
        ({"reported_success": True, "halted": None}, "halted must be true or false, not NoneType"),
        ({"reported_success": True, "sucess": True}, "unknown field 'sucess'"),
        ({"reported_success": True, "message": 5}, "message must be text, not int"),
        ({"reported_success": True, "message": "x" * (MESSAGE_CHARS_MAX + 1)}, "characters, at most"),
        ({"reported_success": True, "message": "\ud800"}, "message has a lone surrogate"),
        ({"reported_success": True, "model_calls": "m"}, "model_calls must be a list, not str"),
        ({"reported_success": True, "model_calls": [CALL] * (MODEL_CALLS_MAX + 1)}, "entries, at most"),
        ({"reported_success": True, "model_calls": [5]}, "must be a ModelCall or a mapping, not int"),
        ({"reported_success": True, "model_calls": [{}]}, "model is missing"),
        ({"reported_success": True, "model_calls": [{**CALL, "cost": 1}]}, "unknown field 'cost'"),
        ({"reported_success": True, "model_calls": [{**CALL, "input_tokens": 1.0}]}, "must be a count or null"),
        ({"reported_success": True, "model_calls": [{**CALL, "output_tokens": -1}]}, "must be a count or null"),
        ({"reported_success": True, "model_calls": [{**CALL, "cached_tokens": True}]}, "must be a count or null"),
        ({"reported_success": True, "model_calls": [{**CALL, "cost_usd": float("nan")}]}, "finite amount or null"),
        ({"reported_success": True, "model_calls": [{**CALL, "latency_s": -0.1}]}, "finite amount or null"),
        ({"reported_success": True, "model_calls": [{**CALL, "cost_usd": 1e300}]}, "finite amount or null"),
        ({"reported_success": True, "model_calls": [{**CALL, "cost_usd": 10**5000}]}, "a number of 16610 bits"),
        ({"reported_success": True, "model_calls": [{**CALL, "input_tokens": 10**5000}]}, "a number of 16610 bits"),
        (AgentReport(1), "reported_success must be true or false, not int"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_a_report_that_is_none_is_refused_with_its_problem(raw: object, problem: str) -> None:
    """Nothing is read into a report: "yes" is not true, and 1.0 is no count."""
    with pytest.raises(MalformedReport, match=problem):
        parse_report(raw)


def test_all_problems_are_listed_at_once() -> None:
    """An author sees everything that is wrong in one go."""
    with pytest.raises(MalformedReport) as caught:
        parse_report({"halted": 1, "message": 2, "model_calls": [{"model": 3, "cost_usd": "4"}], "extra": 5})
    assert len(caught.value.problems) == 6


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_whatever_an_arm_returns_is_a_report_or_malformed(returned: Any) -> None:
    """No return value makes the parser fail in another way."""
    for raw in (returned, {"reported_success": returned, "message": returned, "model_calls": returned}):
        with contextlib.suppress(MalformedReport):
            assert isinstance(parse_report(raw), AgentReport)
