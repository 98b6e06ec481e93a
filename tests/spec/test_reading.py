"""What a provider says about its tables."""

from __future__ import annotations

from spec.reading import RecordSchema


def test_a_table_has_its_own_key_or_the_common_one() -> None:
    """Only tables that are named have a key of their own; an empty one counts as none."""
    schema = RecordSchema("notes", id_field="nr", keys={"visits": ("place", "day"), "bills": ()})
    assert [schema.key_of(table) for table in ("notes", "visits", "bills")] == [("nr",), ("place", "day"), ("nr",)]
