"""A rate as it stands in summary.json: raw counts, the rate, its interval, and its bounds over all planned trials."""

from __future__ import annotations

from typing import Any

from orchestrator.metrics.wilson import CONFIDENCE, wilson


def rate(numerator: int, denominator: int, planned: int) -> dict[str, Any]:
    """The rate object of ``numerator`` out of ``denominator`` scored trials.

    Args:
        numerator: scored trials that count.
        denominator: scored trials.
        planned: all planned trials. Those that were not scored (unreadable, infrastructure, cancelled, owed) are
            unknown: the bounds say what the rate had been if none of them, or all of them, had counted.

    Raises:
        ValueError: the three are not in order.
    """
    if not 0 <= numerator <= denominator <= planned:
        raise ValueError(f"{numerator} of {denominator} scored of {planned} planned is no rate")
    return {
        "numerator": numerator,
        "denominator": denominator,
        "rate": numerator / denominator if denominator else None,
        "ci": _interval(numerator, denominator),
        "bounds": _bounds(numerator, planned - denominator, planned),
    }


def _interval(numerator: int, denominator: int) -> dict[str, Any] | None:
    if not denominator:
        return None
    lo, hi = wilson(numerator, denominator)
    return {"lo": lo, "hi": hi, "method": "wilson", "confidence": CONFIDENCE}


def _bounds(numerator: int, unknown: int, planned: int) -> dict[str, Any]:
    if not planned:
        return {"lo": None, "hi": None}
    return {"lo": numerator / planned, "hi": (numerator + unknown) / planned}
