"""The values of a trial: literals, or drawn from (run seed, task, trial) and nothing else.

::

    number = 17                                      # a literal
    number = { int = [1000, 9999] }                  # a whole number, both ends included
    amount = { decimal = ["10.00", "99.99"] }        # as text, with the digits of its ends
    due    = { date = ["2026-01-01", "2026-12-31"] } # as text, YYYY-MM-DD
    kind   = { choice = ["invoice", "receipt"] }
    note   = { text = "please call back {unique}" }  # {unique} is a text that no other trial has

All values of a trial share one ``{unique}``. A draw takes the whole width of SHA-256, so it is even for every purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import Final

from pydantic_core import PydanticCustomError

from providers.declared.templates import TemplateError, fill_text, names_in
from spec.canonical import Json, canonical_json
from spec.text import nearest

UNIQUE: Final = "unique"
_UNIQUE_CHARS: Final = 12
_CHOICES_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Draw:
    """How one value is had.

    Attributes:
        kind: ``literal`` or a key of the table.
        value: what stands there.
        is_unique: whether no two trials have the same.
    """

    kind: str
    value: Json
    is_unique: bool = False


def parse_param(written: object) -> Draw:
    """What a parameter is written as.

    Raises:
        PydanticCustomError: it is none; the text says why.
    """
    if isinstance(written, Draw):
        return written
    if not isinstance(written, dict):
        _check_json(written)
        return Draw("literal", written)  # type: ignore[arg-type]  # checked just above
    if len(written) != 1:
        raise _refusal(f"must have one of the keys {', '.join(_KINDS)}", "a literal is written without a table")
    ((kind, value),) = written.items()
    if kind not in _KINDS:
        raise _refusal(f"has the unknown key {kind!r}", nearest(str(kind), list(_KINDS)))
    problem = _KINDS[kind](value)
    if problem:
        raise _refusal(f"{kind} {problem}")
    return Draw(kind, value, kind == "text" and UNIQUE in names_in(value))


def draw(params: Mapping[str, Draw], seed: int) -> dict[str, Json]:
    """The values of one trial, from its seed."""
    root = sha256(seed.to_bytes(8)).digest()
    unique = sha256(root + UNIQUE.encode()).hexdigest()[:_UNIQUE_CHARS]
    return {
        name: _draw(one, int.from_bytes(sha256(root + b"." + name.encode()).digest()), unique)
        for name, one in params.items()
    }


def trial_seed(run_seed: int, task_id: str, trial: int) -> int:
    """The seed of a trial: 63 bits of its digest."""
    return int.from_bytes(sha256(canonical_json([run_seed, task_id, trial])).digest()[:8]) >> 1


def _draw(one: Draw, number: int, unique: str) -> Json:
    value = one.value
    if one.kind == "literal":
        return value
    if one.kind == "text":
        return fill_text(str(value), {UNIQUE: unique})
    assert isinstance(value, list)
    if one.kind == "choice":
        chosen: Json = value[number % len(value)]
        return chosen
    low, high = value
    if one.kind == "int":
        return int(low) + number % (int(high) - int(low) + 1)
    if one.kind == "date":
        first = date.fromisoformat(str(low))
        days = (date.fromisoformat(str(high)) - first).days + 1
        return (first + timedelta(days=number % days)).isoformat()
    return _decimal(Decimal(str(low)), Decimal(str(high)), number)


def _decimal(low: Decimal, high: Decimal, number: int) -> str:
    exponent = min(_exponent(low), _exponent(high))
    first, last = (int(end.scaleb(-exponent)) for end in (low, high))
    return f"{Decimal(first + number % (last - first + 1)).scaleb(exponent):f}"


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return min(exponent, 0)


def _refusal(reason: str, hint: str = "") -> PydanticCustomError:
    return PydanticCustomError("rule", "{reason}", {"reason": reason, "hint": hint})


def _check_json(value: object) -> None:
    try:
        names_in("" if isinstance(value, str) else value)
    except TemplateError as error:
        raise _refusal(f"cannot be a parameter: {error}") from None


def _int_problem(value: object) -> str:
    if not _is_pair(value, int):
        return "must be a list of two whole numbers, such as [1, 9]"
    return _order_problem(value[0], value[1])  # type: ignore[index]  # a pair, as just seen


def _date_problem(value: object) -> str:
    if not _is_pair(value, str):
        return 'must be a list of two dates as text, such as ["2026-01-01", "2026-12-31"]'
    try:
        first, last = (date.fromisoformat(end) for end in value)  # type: ignore[attr-defined]  # a pair of texts
    except ValueError:
        return "must have dates as YYYY-MM-DD"
    return _order_problem(first, last)


def _decimal_problem(value: object) -> str:
    if not _is_pair(value, str):
        return 'must be a list of two numbers as text, such as ["0.01", "9.99"]'
    try:
        first, last = (Decimal(end) for end in value)  # type: ignore[attr-defined]  # a pair of texts
    except InvalidOperation:
        return "must have decimal numbers"
    if not (first.is_finite() and last.is_finite() and max(map(_digits, (first, last))) <= 40):
        return "must have numbers of at most 40 digits"
    return _order_problem(first, last)


def _choice_problem(value: object) -> str:
    if not isinstance(value, list) or not 1 <= len(value) <= _CHOICES_MAX:
        return f"must be a list of 1 to {_CHOICES_MAX} values"
    try:
        names_in([None if isinstance(item, str) else item for item in value])
    except TemplateError as error:
        return f"holds what no record can: {error}"
    return ""


def _text_problem(value: object) -> str:
    if not isinstance(value, str):
        return "must be text"
    try:
        other = [name for name in names_in(value) if name != UNIQUE]
    except TemplateError as error:
        return f"is no template: {error}; write {{{{ and }}}} for braces that are meant as such"
    return f"knows only the place {{{UNIQUE}}}, not {{{other[0]}}}" if other else ""


def _digits(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return len(number.as_tuple().digits) + abs(exponent)


def _is_pair(value: object, kind: type) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(end) is kind for end in value)


def _order_problem(first: object, last: object) -> str:
    return "must begin with the smaller end" if first > last else ""  # type: ignore[operator]  # both of one type


_KINDS: Final[Mapping[str, Callable[[object], str]]] = {
    "text": _text_problem,
    "int": _int_problem,
    "decimal": _decimal_problem,
    "date": _date_problem,
    "choice": _choice_problem,
}
