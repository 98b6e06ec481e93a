"""The part of kind effect that stands beside the arm: what it returned becomes a report in plain JSON."""

from __future__ import annotations

from typing import Final

from spec.canonical import Json, JsonObject
from spec.report import MESSAGE_CHARS_MAX, ArmFault, ModelCall, parse_report


class EffectWorker:
    """Parses the reports of arms."""

    def parse(self, returned: object) -> JsonObject:
        """The report as plain JSON.

        Raises:
            spec.report.MalformedReport: with every problem found.
        """
        report = parse_report(returned)
        return {
            "reported_success": report.reported_success,
            "halted": report.halted,
            "message": report.message,
            "model_calls": [_call_json(call) for call in report.model_calls],
        }

    def not_reported(self, fault: ArmFault, detail: str) -> JsonObject:
        """The report of an arm that broke the rules: it has not reported success, and it has stopped.

        Args:
            fault: which rule; it stands in the row by itself.
            detail: what happened, for people.
        """
        text = detail or fault.value
        return {
            "reported_success": False,
            "halted": True,
            "message": text.encode(errors="replace").decode()[:MESSAGE_CHARS_MAX],
            "model_calls": [],
        }


_CALL_FIELDS: Final = tuple(ModelCall.__slots__)


def _call_json(call: ModelCall) -> dict[str, Json]:
    return {name: getattr(call, name) for name in _CALL_FIELDS}
