"""Arms that were handed over as objects, so that an ordinary reference leads to them.

A configuration names its arms by ``"module:attribute"``. A function that was typed into a notebook, or that closes
over something, has no such name; here it gets one: ``"orchestrator.callables:<name>"``, an attribute of this module.
It holds in this process only, which is why such an arm runs inline.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from orchestrator.config.rules import is_reference

_registered: dict[str, Callable[..., Any]] = {}
_MAIN: Final = "__main__"


def reference_to(arm: Callable[..., Any]) -> str:
    """A reference that leads to ``arm``: its own where it can be imported by name, else one of this module."""
    own = f"{getattr(arm, '__module__', '')}:{getattr(arm, '__qualname__', '')}"
    if is_reference(own) and not own.startswith(f"{_MAIN}:") and _leads_to(own) is arm:
        return own
    name = _free_name(arm)
    _registered[name] = arm
    return f"{__name__}:{name}"


def is_registered(reference: str) -> bool:
    """Whether a reference holds in this process only."""
    return reference.startswith(f"{__name__}:")


def _leads_to(reference: str) -> object:
    module, _, attribute = reference.partition(":")
    found: object = sys.modules.get(module)
    for name in attribute.split("."):
        found = getattr(found, name, None)
    return found


def _free_name(arm: Callable[..., Any]) -> str:
    """The arm's own name; another arm of that name keeps it, and this one gets a number behind it."""
    wanted = getattr(arm, "__name__", type(arm).__name__)
    base = wanted if wanted.isidentifier() else "arm"
    name, number = base, 1
    while _registered.get(name, arm) is not arm or name in _TAKEN:
        number += 1
        name = f"{base}_{number}"
    return name


def __getattr__(name: str) -> Callable[..., Any]:
    try:
        return _registered[name]
    except KeyError:
        raise AttributeError(f"no arm named {name!r} was handed over in this process") from None


_TAKEN: Final = frozenset(globals())
