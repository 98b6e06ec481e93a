"""What an arm claims at the end of a trial. It is recorded and compared, never trusted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, cast

MESSAGE_CHARS_MAX: Final = 4096
MODEL_CALLS_MAX: Final = 10_000
AMOUNT_MAX: Final = 1e12
"""The largest cost or latency of a call; sums over a whole run stay exact decimals below it."""


class ArmFault(StrEnum):
    """How an arm can break the rules; such a trial is scored as not reported."""

    RAISED = "raised"
    EXITED = "exited"
    KILLED = "killed"
    TIMEOUT = "timeout"
    RESOURCE = "resource"
    MALFORMED = "malformed"
    NO_REPORT = "no_report"
    TWO_REPORTS = "two_reports"
    REFUSAL = "refusal"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_TOOL_CALL = "bad_tool_call"
    KILLED_WORKER = "killed_worker"


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a language model; None is unknown, never zero.

    Attributes:
        model: the model's name as the provider answered it.
        input_tokens, output_tokens, cached_tokens: counts of tokens.
        cost_usd: price in US dollars.
        latency_s: seconds from request to the last byte.
        note: anything worth keeping, such as "retried".
    """

    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """An arm's own word on its trial.

    Attributes:
        reported_success: the arm says that it did what was asked.
        halted: the arm stopped on purpose before or after acting.
        message: free text for people.
        model_calls: the model calls that the arm made, in order.
    """

    reported_success: bool
    halted: bool = False
    message: str = ""
    model_calls: Sequence[ModelCall] = field(default=())


class MalformedReport(ValueError):
    """Raised when what an arm returned is not a report; lists every problem at once."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


_REPORT_FIELDS: Final = tuple(f.name for f in dataclasses.fields(AgentReport))
_CALL_FIELDS: Final = tuple(f.name for f in dataclasses.fields(ModelCall))
_COUNTS: Final = ("input_tokens", "output_tokens", "cached_tokens")
_AMOUNTS: Final = ("cost_usd", "latency_s")


def parse_report(raw: object) -> AgentReport:
    """A report from what an arm returned: an ``AgentReport`` or a mapping with its fields.

    Nothing is coerced: "yes" is not True, and 1.0 is not a count of tokens.

    Raises:
        MalformedReport: with every problem found.
    """
    if type(raw) is AgentReport and _is_plain(raw):
        return raw
    values = _fields_of(raw)
    problems = [f"unknown field {name!r}" for name in values if name not in _REPORT_FIELDS]
    if "reported_success" not in values:
        problems.append("reported_success is missing")
    problems += [
        f"{name} must be true or false, not {_kind(values[name])}"
        for name in ("reported_success", "halted")
        if name in values and type(values[name]) is not bool
    ]
    message = values.get("message", "")
    problems += _text_problems("message", message)
    calls, call_problems = _parse_calls(values.get("model_calls", ()))
    problems += call_problems
    if problems:
        raise MalformedReport(problems)
    return AgentReport(values["reported_success"], values.get("halted", False), message, calls)


def _is_plain(report: Any) -> bool:  # noqa: ANN401 - its fields may hold anything, whatever their types say
    """Whether a report is right at a glance, as nearly all are; the long way would find nothing."""
    return (
        type(report.reported_success) is bool
        and type(report.halted) is bool
        and type(report.message) is str
        and len(report.message) <= MESSAGE_CHARS_MAX
        and report.message.isascii()
        and report.model_calls == ()
    )


def _fields_of(raw: object) -> Mapping[str, Any]:
    if type(raw) is AgentReport:
        return {name: getattr(raw, name) for name in _REPORT_FIELDS}
    if isinstance(raw, Mapping):
        return {str(name): value for name, value in raw.items()}
    raise MalformedReport([f"a report must be an AgentReport or a mapping, not {_kind(raw)}"])


def _text_problems(name: str, value: object) -> list[str]:
    if not isinstance(value, str):
        return [f"{name} must be text, not {_kind(value)}"]
    if len(value) > MESSAGE_CHARS_MAX:
        return [f"{name} has {len(value)} characters, at most {MESSAGE_CHARS_MAX} are allowed"]
    try:
        value.encode()
    except UnicodeEncodeError:
        return [f"{name} has a lone surrogate"]
    return []


def _parse_calls(raw: object) -> tuple[tuple[ModelCall, ...], list[str]]:
    if not isinstance(raw, Sequence) or isinstance(raw, str | bytes):
        return (), [f"model_calls must be a list, not {_kind(raw)}"]
    if len(raw) > MODEL_CALLS_MAX:
        return (), [f"model_calls has {len(raw)} entries, at most {MODEL_CALLS_MAX} are allowed"]
    calls: list[ModelCall] = []
    problems: list[str] = []
    for place, entry in enumerate(raw):
        found = _call_problems(f"model_calls[{place}]", entry)
        problems += found
        if not found:
            calls.append(entry if type(entry) is ModelCall else ModelCall(**entry))
    return tuple(calls), problems


def _call_problems(where: str, entry: object) -> list[str]:
    if type(entry) is ModelCall:
        values: Mapping[str, object] = {name: getattr(entry, name) for name in _CALL_FIELDS}
    elif isinstance(entry, Mapping):
        values = entry
    else:
        return [f"{where} must be a ModelCall or a mapping, not {_kind(entry)}"]
    limit = f"must be a finite amount or null, at most {AMOUNT_MAX:g}"
    problems = [f"{where}: unknown field {name!r}" for name in values if name not in _CALL_FIELDS]
    if "model" not in values:
        problems.append(f"{where}: model is missing")
    for name in ("model", "note"):
        problems += _text_problems(f"{where}.{name}", values.get(name, ""))
    for name in _COUNTS:
        value = values.get(name)
        if value is not None and (type(value) is not int or not 0 <= value < 2**53):
            problems.append(f"{where}.{name} must be a count or null, not {_shown(value)}")
    for name in _AMOUNTS:
        value = values.get(name)
        if value is not None and not _is_amount(value):
            problems.append(f"{where}.{name} {limit}, not {_shown(value)}")
    return problems


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= cast(float, value) <= AMOUNT_MAX


def _shown(value: object) -> str:
    return f"a number of {value.bit_length()} bits" if type(value) is int and value >= 2**64 else f"{value!r:.80}"


def _kind(value: object) -> str:
    return type(value).__name__
