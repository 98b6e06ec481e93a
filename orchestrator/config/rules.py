"""Rules on single keys that bounds cannot say; each refusal names its reason and, where there is one, a way out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import PydanticCustomError

from spec.text import nearest as nearest

NAME_PATTERN: Final = r"^[a-z0-9_-]{1,64}$"
RUN_NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
DEPTH_MAX: Final = 32
"""How deep tables and lists may stand in one another."""

KINDS: Final = ("effect",)
"""The kinds of measurement that this version has."""

REPEATED_NAME: Final = "is the name of an earlier arm"
REPEATED_NAME_HINT: Final = "every arm needs a name of its own"

_REFERENCE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_PLUGIN_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://?[^\s\0]+")
_HOST_PORT: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):([0-9]{1,5})")
_LATER_KINDS: Final = ("verdict", "step")
_OTHER_LEVELS: Final = ("process", "user", "sandbox")


def refusal(reason: str, hint: str = "", within: Sequence[str | int] = ()) -> PydanticCustomError:
    """The error that a rule raises.

    Args:
        reason: what is wrong, in one sentence; must not hold the value, which can be a secret.
        hint: what to do instead.
        within: the place below the checked key, where the rule sees more than one value.
    """
    return PydanticCustomError("rule", "{reason}", {"reason": reason, "hint": hint, "within": list(within)})


def is_reference(text: str) -> bool:
    """Whether a text has the form ``module:attribute``."""
    return _REFERENCE.fullmatch(text) is not None


def list_to_tuple(value: object) -> object:
    """TOML's lists as tuples, so that they are frozen; anything else is left for the type to refuse."""
    return tuple(value) if isinstance(value, list) else value


def check_kind(kind: str) -> str:
    """A kind of this version, or the place of a user's own."""
    if kind in KINDS or is_reference(kind):
        return kind
    hint = f'this version has: {", ".join(KINDS)}; or "module:attribute" of your own'
    if kind in _LATER_KINDS:
        raise refusal("is a kind of measurement that this version does not have", hint)
    raise refusal("is no kind of measurement", hint)


def check_use(use: str) -> str:
    """A name or ``module:attribute``; whether it exists is found out when it is resolved."""
    if is_reference(use) or _PLUGIN_NAME.fullmatch(use):
        return use
    raise refusal('must be a name or "module:attribute"', 'for example "my_agent:run" for run in my_agent.py')


def check_isolation(level: str) -> str:
    """A level that this version can provide; one that it cannot is never replaced by a weaker one."""
    if level in ("", "in-process"):
        return level
    hint = 'use "in-process", or "" for the arm\'s default'
    if level in _OTHER_LEVELS:
        raise refusal("is an isolation level that this version cannot provide, and none weaker is taken instead", hint)
    raise refusal("is no isolation level", hint)


def check_address(address: str) -> str:
    """Where Ray is, said so that the run knows which cluster it ran on."""
    if address in ("", "job"):
        return address
    if address == "auto":
        raise refusal("joins whichever cluster Ray finds, so nobody could say where the run took place", _ADDRESS_HINT)
    if address.startswith("ray://"):
        raise refusal("is Ray Client, which puts a proxy between the driver and its actors", _ADDRESS_HINT)
    match = _HOST_PORT.fullmatch(address)
    if match is None or not 1 <= int(match[1]) <= 65535:
        raise refusal("is no address", _ADDRESS_HINT)
    return address


_ADDRESS_HINT: Final = 'use "" to start Ray here, "host:port" to join a cluster, or "job" inside `ray job submit`'


def check_artifacts_url(url: str) -> str:
    """A place with a protocol; whether somebody here speaks it shows when the run is prepared."""
    if url and _URL.fullmatch(url) is None:
        raise refusal("is no URL", 'write one such as "s3://bucket/prefix", or "" for the run directory')
    return url


def check_directory(path: str) -> str:
    """A path that the system can take."""
    if "\0" in path:
        raise refusal("must not hold a NUL character")
    return path


def check_arms(arms: tuple[Any, ...]) -> tuple[Any, ...]:
    """Names are unique: a trial's key begins with its arm's name."""
    seen: set[str] = set()
    for place, arm in enumerate(arms):
        if arm.name in seen:
            raise refusal(REPEATED_NAME, REPEATED_NAME_HINT, (place, "name"))
        seen.add(arm.name)
    return arms


def check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options are plain JSON, so that they can be stored, hashed and sent to another process."""
    reason = _unplain(options, DEPTH_MAX)
    if reason:
        raise refusal(reason)
    return options


def scalar_problem(value: object) -> str | None:
    """Why a single value cannot stand in a configuration, or None."""
    if isinstance(value, str):
        return None if _is_unicode(value) else "holds bytes that are not UTF-8"
    if value is None:
        return "has no value; leave the key out instead"
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return None if -(2**63) <= value < 2**63 else "must fit into 64 bits"
    if isinstance(value, float):
        return None if math.isfinite(value) else "must be a finite number"
    return f"must not be a {type(value).__name__}; write it as text in quotes"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unplain(value: object, depth: int) -> str | None:
    if depth == 0:
        return f"is nested deeper than {DEPTH_MAX} levels"
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) and _is_unicode(name) for name in value):
            return "must have text as keys"
        return next(filter(None, (_unplain(item, depth - 1) for item in value.values())), None)
    if isinstance(value, list | tuple):
        return next(filter(None, (_unplain(item, depth - 1) for item in value)), None)
    return scalar_problem(value)
