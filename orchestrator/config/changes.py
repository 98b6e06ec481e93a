"""What a changed configuration means for a run that has begun.

A key is *free* where it cannot change any result: how fast, how patiently and where trials run. Every other key is
part of the plan's digest, and changing it in a begun run has to be accepted. Texts are compared as they are written,
so that a renewed credential in an environment variable is no change, and no secret enters a digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from orchestrator.config.model import RunConfig
from spec.canonical import Json, JsonObject

_FREE_RUN: Final = ("trials", "drain_s")
_FIXED_ENGINE: Final = ("deadline_s",)
_FIXED_LIMITS: Final = ("idle_s", "report_bytes_max")
_FREE_ARM: Final = ("in_flight",)


class Change(NamedTuple):
    """One key that differs; None where a side does not have it.

    Attributes:
        key: dotted key, an arm by its name.
    """

    key: str
    old: Json
    new: Json


class Changes(NamedTuple):
    """How a new configuration differs from that of a begun run.

    Attributes:
        free: need nobody's consent.
        gated: need ``--accept-changes``.
    """

    free: tuple[Change, ...]
    gated: tuple[Change, ...]


def classify_changes(old: RunConfig, new: RunConfig) -> Changes:
    """Sort every difference into free and gated. More trials are free, fewer are not."""
    before, after = _flat(old.written()), _flat(new.written())
    changes = [
        Change(key, before.get(key), after.get(key))
        for key in dict.fromkeys((*before, *after))
        if key not in before or key not in after or not _same(before[key], after[key])
    ]
    gated_keys = {change.key for change in changes if _is_gated(change, before, after)}
    return Changes(
        tuple(change for change in changes if change.key not in gated_keys),
        tuple(change for change in changes if change.key in gated_keys),
    )


def plan_config_part(config: RunConfig) -> JsonObject:
    """What of a configuration enters the plan's digest: every key that is not free, as written."""
    body = config.written()
    elsewhere = {"artifacts": body["artifacts"]} if body["artifacts"]["url"] else {}
    return {
        "format": body["format"],
        "run": _without(body["run"], _FREE_RUN),
        "engine": {name: body["engine"][name] for name in _FIXED_ENGINE},
        "provider": body["provider"],
        "arms": [_without(arm, _FREE_ARM) for arm in body["arms"]],
        "limits": {name: body["limits"][name] for name in _FIXED_LIMITS},
        **elsewhere,  # a run that keeps them at home has the digest that it had before there was the key
    }


def _without(table: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}


def _is_gated(change: Change, before: Mapping[str, Json], after: Mapping[str, Json]) -> bool:
    if change.key == "run.trials":
        return isinstance(change.old, int) and isinstance(change.new, int) and change.new < change.old
    table, _, rest = change.key.partition(".")
    if table == "engine":
        return rest in _FIXED_ENGINE
    if table == "limits":
        return rest in _FIXED_LIMITS
    if table == "arms" and change.key in before and change.key in after:
        return rest.partition(".")[2] not in _FREE_ARM
    return table != "oracle" and change.key != "run.drain_s"


def _flat(body: Mapping[str, Any]) -> dict[str, Json]:
    return dict(_entries(body))


def _entries(body: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Every key with its value: options as a whole, arms by their names, and the arms' order as a key of its own."""
    for table, value in body.items():
        if table == "arms":
            yield "arms", [arm["name"] for arm in value]
            for arm in value:
                yield from ((f"arms.{arm['name']}.{name}", item) for name, item in arm.items())
        elif isinstance(value, Mapping):
            yield from ((f"{table}.{name}", item) for name, item in value.items())
        else:
            yield table, value


def _same(one: Json, other: Json) -> bool:
    """Equal in value and in kind, all the way down: 1 is not true, and 1 is not 1.0."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other
