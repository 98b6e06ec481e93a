"""The difference of two tables that are kept on disk: the same as ``oracle.effect.diff`` finds, row by row.

Rows are paired by a digest of their names, and a pair with equal content digests is untouched without a look at it.
Only what is left is read: so a million rows of which ten have changed cost one pass over their names. What is
untouched or gone is not read at all, until somebody asks for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from oracle.effect.diff import Change, FieldRules, TableDiff, Unclean, changed_fields, content_of, ident_of
from oracle.rows import DIGEST_BYTES, Digests, Picked, Places, RowStore, StoredRows
from spec.reading import Record
from spec.values import NotJson

_INT64: Final = range(-(2**63), 2**63)
_HALVES: Final = (0, 1)
"""The two numbers of a digest; compared one after the other, which needs less memory."""


class _Pairs(NamedTuple):
    """Which named rows of two readings belong together.

    Attributes:
        before: places, in the order of ``after``.
        after: places, ascending.
        vanished: places of those that stood before only.
        created: places of those that stand after only.
    """

    before: Places
    after: Places
    vanished: Places
    created: Places


def stored(rows: Sequence[Record]) -> StoredRows | None:
    """Rows as a table on disk, or None where they cannot stand as JSON."""
    if isinstance(rows, StoredRows):
        return rows
    store = RowStore()
    try:
        store.extend(rows)
    except NotJson:
        return None
    return store.finish()


def diff_stored(before: StoredRows, after: StoredRows, rules: FieldRules) -> TableDiff:
    """Compare two readings of one table.

    Raises:
        Unclean: two rows of one reading have the same name, or one has a name that is none.
        spec.values.NotJson: a row holds a value that is not JSON.
    """
    pairs, old, new = _paired(before, after, rules.keys)
    same = np.ones(len(pairs.after), np.bool_)
    for half in _HALVES:
        same &= before.digests[pairs.before, half] == after.digests[pairs.after, half]
    unlike = np.flatnonzero(~same)
    changed: list[Change] = []
    for place, was, row in zip(
        unlike.tolist(), before.pick(pairs.before[unlike]), after.pick(pairs.after[unlike]), strict=True
    ):
        if fields := changed_fields(was, row, rules):
            changed.append(Change(was, row, fields))
        else:
            same[place] = True
    created, untouched, vanished = _by_content(before, old, after, new, rules)
    return TableDiff(
        [*after.pick(pairs.created), *after.pick(created)],
        changed,
        Picked(after, np.concatenate((pairs.after[same], untouched))),
        Picked(before, np.concatenate((pairs.vanished, vanished))),
    )


def _name(rows: StoredRows, keys: tuple[str, ...], names: Digests, named: NDArray[np.bool_]) -> None:
    """Fill in the digests of the rows' names, and which rows have one.

    A whole number of 64 bits is its own digest, and no other name has one like it.
    """
    first = 0
    for part in rows.parts():
        idents = [ident_of(row, keys) for row in part]
        after = first + len(part)
        numbers = _whole_numbers(idents)
        if numbers is None:
            names[first:after] = np.frombuffer(b"".join(map(_digest, idents)), np.uint64).reshape(-1, 2)
            named[first:after] = [ident is not None for ident in idents]
        else:
            names[first:after, 0] = numbers
        first = after


def _whole_numbers(idents: Sequence[Hashable]) -> NDArray[np.uint64] | None:
    """Names as numbers, where all of them are numbers of 64 bits."""
    numbers = [ident for ident in idents if type(ident) is int]
    if len(numbers) < len(idents):
        return None
    try:
        return np.array(numbers, np.int64).view(np.uint64)
    except OverflowError:
        return None


def _digest(ident: Hashable) -> bytes:
    if type(ident) is int and ident in _INT64:
        return ident.to_bytes(8, "little", signed=True) + bytes(8)
    digest = bytearray(blake2b(orjson.dumps(ident), digest_size=DIGEST_BYTES).digest())
    digest[8] |= 1  # never the zeros of a whole number
    return bytes(digest)


def _paired(before: StoredRows, after: StoredRows, keys: tuple[str, ...]) -> tuple[_Pairs, Places, Places]:
    """Pair the rows that have one name; besides, the places of those that have none, before and after.

    The names of both readings are sorted together: the same name then stands side by side, the row before first.
    """
    count, both = len(before), len(before) + len(after)
    names, named = np.zeros((both, 2), np.uint64), np.ones(both, np.bool_)
    _name(before, keys, names[:count], named[:count])
    _name(after, keys, names[count:], named[count:])
    order, meets = _sorted(names, named)
    left, right = order[:-1][meets], order[1:][meets]
    twice = right[(left < count) == (right < count)]
    if len(twice):
        first = int(twice.min())
        row = before[first] if first < count else after[first - count]
        raise Unclean(f"two rows have the id {ident_of(row, keys)!r:.80}")
    by_after = np.argsort(right, kind="stable")
    alone = named.copy()
    alone[left] = alone[right] = False
    pairs = _Pairs(
        left[by_after], right[by_after] - count, np.flatnonzero(alone[:count]), np.flatnonzero(alone[count:])
    )
    return pairs, np.flatnonzero(~named[:count]), np.flatnonzero(~named[count:])


def _sorted(digests: Digests, chosen: NDArray[np.bool_] | None = None) -> tuple[Places, NDArray[np.bool_]]:
    """Places by digest, equal ones in their order, and whether each but the first is equal to the one before it."""
    order = np.lexsort((digests[:, 0], digests[:, 1]))
    if chosen is not None:
        order = order[chosen[order]]
    meets = np.ones(max(0, len(order) - 1), np.bool_)
    for half in _HALVES:
        column = digests[:, half][order]
        meets &= column[1:] == column[:-1]
    return order, meets


def _by_content(
    before: StoredRows, old: Places, after: StoredRows, new: Places, rules: FieldRules
) -> tuple[Places, Places, Places]:
    """Places of rows without a name: created, untouched, vanished.

    Bytes that stand equally often in both readings need no look, unless a row of the same content is written otherwise.
    """
    content = content_of(rules)
    unlike = {content(row) for row in _uneven(before, old, after, new)}
    if not unlike:
        return new[:0], new, old[:0]
    standing: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, row in zip(old.tolist(), before.pick(old), strict=True):
        if (key := content(row)) in unlike:
            standing[key].append(place)
    created: list[int] = []
    for place, row in zip(new.tolist(), after.pick(new), strict=True):
        if (key := content(row)) in unlike:
            if same := standing.get(key):
                same.pop()
            else:
                created.append(place)
    vanished = [place for places in standing.values() for place in places]
    made = np.array(created, np.int64)
    return made, new[~np.isin(new, made)], np.array(vanished, np.int64)


def _uneven(before: StoredRows, old: Places, after: StoredRows, new: Places) -> list[Record]:
    """Rows whose bytes do not stand equally often in both readings."""
    digests = np.concatenate((before.digests[old], after.digests[new]))
    if not len(digests):
        return []
    order, meets = _sorted(digests)
    group = np.zeros(len(order), np.int64)
    group[order[1:]] = np.cumsum(~meets)
    counts: NDArray[np.int64] = np.bincount(group[: len(old)], minlength=len(order)) - np.bincount(
        group[len(old) :], minlength=len(order)
    )
    uneven = counts[group] != 0
    return [*before.pick(old[uneven[: len(old)]]), *after.pick(new[uneven[len(old) :]])]
