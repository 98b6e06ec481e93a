"""What changed in a table between the baseline and the reading after it: records created, changed and vanished.

A record is told from others by its id, or by the fields that are its key; rows without one are told apart by their
whole content. Content is compared typed (``spec.values``), with the provider's bookkeeping fields left out, so a record
that was saved again as it was has not changed.

Tables that are kept on disk (``oracle.rows``) are compared by digests, with the same result (``oracle.effect.stored``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, NamedTuple

from spec.canonical import Json
from spec.reading import Record
from spec.values import FieldType, content_key

_TEXT: Final = FieldType.TEXT


class Unclean(ValueError):
    """Raised when a reading cannot be judged; its text is the reason for the report."""


class Change(NamedTuple):
    """A record that stood before and holds something else now.

    Attributes:
        before: as it was.
        after: as it is.
        fields: the names of the fields that differ, bookkeeping left out.
    """

    before: Record
    after: Record
    fields: frozenset[str]


class TableDiff(NamedTuple):
    """Every record of a table, by what became of it; what is untouched or gone may still stand on disk."""

    created: list[Record]
    changed: list[Change]
    untouched: Sequence[Record]
    vanished: Sequence[Record]


class FieldRules(NamedTuple):
    """How the fields of one table are compared.

    Attributes:
        keys: the fields that together name a record within the table.
        ignored: bookkeeping fields; their changes are no changes.
        types: declared types; a field that is not named is text.
    """

    keys: tuple[str, ...]
    ignored: frozenset[str]
    types: Mapping[str, FieldType]


def diff_table(before: Sequence[Record], after: Sequence[Record], rules: FieldRules) -> TableDiff:
    """Compare two readings of one table.

    Raises:
        Unclean: rows are no mappings, or two rows of one reading have the same id.
        spec.values.NotJson: a row holds a value that is not JSON.
    """
    if not (isinstance(before, list | tuple) and isinstance(after, list | tuple)):
        # Only where a large table is does anybody need numpy, which is slow to import.
        from oracle.effect.stored import diff_stored, stored
        from oracle.rows import StoredRows

        if isinstance(before, StoredRows) or isinstance(after, StoredRows):
            left, right = stored(before), stored(after)
            if left is not None and right is not None:
                return diff_stored(left, right, rules)
            before, after = (list(rows) if isinstance(rows, StoredRows) else rows for rows in (before, after))
    return _diff_rows(before, after, rules)


def _diff_rows(before: Sequence[Record], after: Sequence[Record], rules: FieldRules) -> TableDiff:
    old, old_nameless = _index(before, rules.keys)
    new, new_nameless = _index(after, rules.keys)
    created: list[Record] = []
    changed: list[Change] = []
    untouched: list[Record] = []
    for ident, row in new.items():
        was = old.pop(ident, None)
        if was is None:
            created.append(row)
        elif fields := changed_fields(was, row, rules):
            changed.append(Change(was, row, fields))
        else:
            untouched.append(row)
    vanished = list(old.values())
    if old_nameless or new_nameless:
        nameless = _diff_by_content(old_nameless, new_nameless, rules)
        created += nameless.created
        untouched += nameless.untouched
        vanished += nameless.vanished
    return TableDiff(created, changed, untouched, vanished)


def _index(rows: object, keys: tuple[str, ...]) -> tuple[dict[Hashable, Record], list[Record]]:
    """Rows by id, and those that have none."""
    if not isinstance(rows, list | tuple):
        raise Unclean(f"its rows are a {type(rows).__name__}, not a list")
    by_id: dict[Hashable, Record] = {}
    nameless: list[Record] = []
    for row in rows:
        if type(row) is not dict and not isinstance(row, Mapping):
            raise Unclean(f"a row is a {type(row).__name__}, not a record")
        ident = ident_of(row, keys)
        if ident is None:
            nameless.append(row)
        elif ident in by_id:
            raise Unclean(f"two rows have the id {ident!r:.80}")
        else:
            by_id[ident] = row
    return by_id, nameless


def ident_of(row: Record, keys: tuple[str, ...]) -> Hashable:
    """What names a row: its id, or a tuple of several fields; None where one of them is missing.

    Raises:
        Unclean: it is neither a text nor a whole number.
    """
    if len(keys) > 1:
        parts = tuple(ident_of(row, (key,)) for key in keys)
        return None if None in parts else parts
    ident = row.get(keys[0])
    if ident is not None and type(ident) is not int and type(ident) is not str:
        raise Unclean(f"an id is a {type(ident).__name__}, neither a text nor a whole number")
    return ident


def changed_fields(before: Record, after: Record, rules: FieldRules) -> frozenset[str]:
    """The fields in which a record holds something else than before, bookkeeping left out."""
    ignored, type_of = rules.ignored, rules.types.get
    changed = [
        name
        for name, value in after.items()
        if name not in ignored and not _same(before.get(name), value, type_of(name, _TEXT))
    ]
    changed += [name for name in before if name not in after and name not in ignored and before[name] is not None]
    return frozenset(changed)


def _same(before: Json, after: Json, kind: FieldType) -> bool:
    if type(before) is type(after) is str and before == after:
        return True
    return content_key(before, kind) == content_key(after, kind)


def _diff_by_content(before: list[Record], after: list[Record], rules: FieldRules) -> TableDiff:
    """Rows without an id: as often as a content stood before, it is untouched; the rest is new or gone."""
    key = content_of(rules)
    standing: defaultdict[Hashable, list[Record]] = defaultdict(list)
    for row in before:
        standing[key(row)].append(row)
    created: list[Record] = []
    untouched: list[Record] = []
    for row in after:
        same = standing.get(key(row))
        if same:
            same.pop()
            untouched.append(row)
        else:
            created.append(row)
    return TableDiff(created, [], untouched, [row for rows in standing.values() for row in rows])


def content_of(rules: FieldRules) -> Callable[[Record], Hashable]:
    """A key of a row's whole content, bookkeeping left out."""

    def content(row: Record) -> Hashable:
        return frozenset(
            (name, content_key(value, rules.types.get(name, _TEXT)))
            for name, value in row.items()
            if name not in rules.ignored and value is not None
        )

    return content
