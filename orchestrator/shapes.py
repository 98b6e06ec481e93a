"""What the lines of a journal must hold before anything is made of them (pure).

A crc finds damage by machines, not forgery by people: a line that is whole may still be anybody's. What is not of its
shape is refused as the user's input, with its place, and never becomes an error of this program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from orchestrator.config import TRIALS_MAX
from spec.errors import InputError
from spec.text import describe

T = TypeVar("T")

_OPENING: Final[Mapping[str, str]] = {"plan_digest": "text", "parts": "parts", "isolation": "texts", "trials": "count"}


def check_opening(body: Mapping[str, Any]) -> None:
    """Look at what a session said of itself when it opened; what it leaves out is not missed here.

    Raises:
        InputError: something in it is of another shape.
    """
    for name, shape in _OPENING.items():
        if name in body and not _SHAPES[shape](body[name]):
            raise InputError(f"the line that opens a session cannot be used: its {name} is {_shown(body[name])}")


def check_head(body: Mapping[str, Any]) -> None:
    """The same for the first line of all, which has to say everything.

    Raises:
        InputError: something in it is missing or of another shape.
    """
    missing = [name for name in ("run_id", "plan_digest", "parts", "isolation") if name not in body]
    if missing:
        raise InputError(f"the journal's first line has no {' and no '.join(missing)}")
    if not _is_text(body["run_id"]):
        raise InputError(f"the journal's first line cannot be used: its run_id is {_shown(body['run_id'])}")
    check_opening(body)


def check_lease(body: Mapping[str, Any], offset_bytes: int) -> None:
    """Look at a lease.

    Raises:
        InputError: it names no trials, no attempt or no worker.
    """
    keys = body.get("keys")
    found = {
        "keys": isinstance(keys, list) and all(map(_is_text, keys)),
        "attempt": _is_count(body.get("attempt")),
        "worker": _is_text(body.get("worker", "")),
    }
    wrong = [f"its {name} is {_shown(body.get(name))}" for name, right in found.items() if not right]
    if wrong:
        raise InputError(f"the lease at byte {offset_bytes} cannot be used: {', '.join(wrong)}")


def from_row(line: Mapping[str, Any], use: Callable[[Any], T]) -> T:
    """What a kind makes of the row in a line of type ``scored``.

    Args:
        line: the line's fields.
        use: a function of the kind, such as its ``digest_entry``.

    Raises:
        InputError: there is no row, or it is none of this kind.
    """
    try:
        return use(line["row"])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"the row of {_shown(line.get('key'))} cannot be read: {describe(error)}") from error


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value <= TRIALS_MAX


def _are_texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _are_parts(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(_are_texts(value.get(name)) for name in ("tasks", "arms"))
        and _is_text(value.get("provider"))
    )


_SHAPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "text": _is_text,
    "texts": _are_texts,
    "parts": _are_parts,
    "count": _is_count,
}


def _shown(value: object) -> str:
    return f"{value!r:.80}"
