from __future__ import annotations

import orjson
import pytest

from orchestrator.kinds.effect.worker import EffectWorker
from spec.report import MESSAGE_CHARS_MAX, AgentReport, ArmFault, MalformedReport, ModelCall


def test_a_report_becomes_plain_json() -> None:
    """A report and its model calls come out as JSON values, with what is unknown as null."""
    report = EffectWorker().parse(AgentReport(True, False, "Saved.", [ModelCall("m", input_tokens=3)]))
    assert orjson.loads(orjson.dumps(report)) == {
        "reported_success": True,
        "halted": False,
        "message": "Saved.",
        "model_calls": [
            {
                "model": "m",
                "input_tokens": 3,
                "output_tokens": None,
                "cached_tokens": None,
                "cost_usd": None,
                "latency_s": None,
                "note": "",
            }
        ],
    }


def test_a_mapping_is_parsed_like_a_report() -> None:
    """A mapping with the report's fields is taken, and the fields that it leaves out have their defaults."""
    assert EffectWorker().parse({"reported_success": False}) == EffectWorker().parse(AgentReport(False))


def test_what_is_no_report_is_refused_with_every_problem() -> None:
    """A wrong type and an unknown field are named together."""
    with pytest.raises(MalformedReport) as caught:
        EffectWorker().parse({"reported_success": "yes", "score": 1})
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("fault", list(ArmFault))
def test_an_arm_that_broke_the_rules_has_not_reported_success(fault: ArmFault) -> None:
    """Whatever the fault, the report says no success, halted, and what happened."""
    report = EffectWorker().not_reported(fault, "it raised ValueError")
    assert report == {"reported_success": False, "halted": True, "message": "it raised ValueError", "model_calls": []}


def test_a_detail_is_made_fit_for_a_message() -> None:
    """A detail that is empty, too long or not UTF-8 still gives a message that is none of these."""
    worker = EffectWorker()
    assert worker.not_reported(ArmFault.TIMEOUT, "")["message"] == "timeout"
    assert worker.not_reported(ArmFault.RAISED, "x" * 10_000)["message"] == "x" * MESSAGE_CHARS_MAX
    assert worker.not_reported(ArmFault.RAISED, "a\ud800b")["message"] == "a?b"
