"""The difference that the oracle saw, as a small piece of JSON for the journal and the report.

``{"created": [...], "changed": [...], "vanished": [...], "omitted": N}``: an entry has its ``table`` and its
``record``, a change has its ``id`` (a list where several fields are
the key) with the fields that differ, ``before`` and ``after``. The whole takes at most
``SEEN_BYTES_MAX`` bytes: long texts are cut, and entries that do not fit are counted in ``omitted``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from oracle.effect.diff import Change, TableDiff
from spec.canonical import Json, canonical_json, is_finite
from spec.reading import Record, RecordSchema
from spec.values import SHOWN_CHARS_MAX, show

SEEN_BYTES_MAX: Final = 4096
ENTRY_BYTES_MAX: Final = 1024
FIELDS_SHOWN_MAX: Final = 8
_FRAME_BYTES: Final = len(canonical_json({"created": [], "changed": [], "vanished": [], "omitted": 10**12}))


def seen_json(diffs: Mapping[str, TableDiff], schema: RecordSchema) -> dict[str, Json]:
    """The bounded difference of all tables."""
    lists: dict[str, list[Json]] = {"created": [], "changed": [], "vanished": []}
    omitted, free_bytes = 0, SEEN_BYTES_MAX - _FRAME_BYTES
    for place, entry in _entries(diffs, schema):
        size = _size(entry)
        if size > ENTRY_BYTES_MAX:
            entry = _cut(entry)
            size = _size(entry)
        if size + 1 > min(free_bytes, ENTRY_BYTES_MAX):
            omitted += 1
            continue
        free_bytes -= size + 1
        lists[place].append(entry)
    return {**lists, "omitted": omitted}


def _entries(diffs: Mapping[str, TableDiff], schema: RecordSchema) -> Iterator[tuple[str, dict[str, Json]]]:
    for table, diff in diffs.items():
        for row in diff.created:
            yield "created", {"table": table, "record": row}
        for change in diff.changed:
            yield "changed", _change_entry(table, change, schema.key_of(table))
        for row in diff.vanished:
            yield "vanished", {"table": table, "record": row}


def _change_entry(table: str, change: Change, keys: tuple[str, ...]) -> dict[str, Json]:
    names = sorted(change.fields, key=str)
    ident = [change.after.get(key) for key in keys]
    return {
        "table": table,
        "id": ident[0] if len(ident) == 1 else ident,
        "before": {name: change.before.get(name) for name in names},
        "after": {name: change.after.get(name) for name in names},
    }


def _size(entry: Json) -> int:
    """Bytes of the entry as JSON; one that JSON cannot carry as it stands is too large, so that it is cut."""
    if not is_finite(entry):
        return ENTRY_BYTES_MAX + 1
    try:
        return len(canonical_json(entry))
    except TypeError:
        return ENTRY_BYTES_MAX + 1


def _cut(entry: Mapping[str, Json]) -> dict[str, Json]:
    """The entry with few fields and short texts in place of long values."""
    return {name: _cut_record(part) if isinstance(part, Mapping) else _cut_value(part) for name, part in entry.items()}


def _cut_record(record: Record) -> dict[str, Json]:
    return {_utf8(str(name)): _cut_value(record[name]) for name in list(record)[:FIELDS_SHOWN_MAX]}


def _cut_value(value: Json) -> Json:
    if value is None or isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    return _utf8(value) if isinstance(value, str) else show(value)


def _utf8(text: str) -> str:
    short = text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"
    return short.encode("utf-8", "replace").decode()
