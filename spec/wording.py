"""The words in which a value of a TOML file is refused, wherever such a file is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_VALUE_CHARS_MAX: Final = 60
_TYPE_NAMES: Final[Mapping[type, str]] = {
    bool: "true/false",
    int: "an integer",
    float: "a number with a fraction",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a table",
}
_WANTED: Final[Mapping[str, str]] = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("must be greater than", "gt"),
    "greater_than_equal": ("must be at least", "ge"),
    "less_than": ("must be less than", "lt"),
    "less_than_equal": ("must be at most", "le"),
}


def type_refusal(kind: str, value: object) -> str | None:
    """That a value has the wrong type, or None where ``kind``, pydantic's name of the error, says something else."""
    return f"must be {_WANTED[kind]}, not {_type_name(value)}" if kind in _WANTED else None


def value_refusal(kind: str, context: Mapping[str, Any], value: object) -> str | None:
    """What a bound of pydantic's refused, or None where ``kind`` is no bound.

    Args:
        kind: pydantic's name of the error.
        context: its values.
        value: what was refused.
    """
    if kind in _BOUNDS:
        words, name = _BOUNDS[kind]
        bound = context[name]
        return f"{words} {int(bound) if float(bound).is_integer() else bound}, not {value}"
    if kind in ("string_too_short", "too_short"):
        return "must not be empty"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    if kind == "too_long":
        return f"must have at most {context['max_length']} elements"
    return None


def shown(value: object) -> str:
    """The value as written, in front of a reason; a variable stays ``${NAME}``."""
    if not isinstance(value, str | int | float):
        return ""
    text = json.dumps(value)
    return (text if len(text) <= _VALUE_CHARS_MAX else text[:_VALUE_CHARS_MAX] + "...") + " "


def _type_name(value: object) -> str:
    return _TYPE_NAMES.get(type(value), type(value).__name__)
