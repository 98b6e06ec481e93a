"""Prepared effects: parameters are filled in a trial at a time, and the prepared form is left as it was."""

from __future__ import annotations

from oracle.effect.diff import TableDiff
from oracle.effect.parts import NOTHING_WRITTEN, find, prepare
from spec.contract import Effect, EffectKind, FieldType, Param
from spec.reading import Record

ROW: Record = {"id": 1, "who": "p1", "n": "5"}
CREATED = TableDiff([ROW], [], [], [])


def test_literals_and_parameters_are_kept_apart() -> None:
    """Only what a trial fills in is touched for each trial; types go with their fields."""
    effect = Effect(
        EffectKind.FIELD_EQUALS,
        {"who": Param("who"), "n": 5},
        field="text",
        value=Param("text"),
        also={"source": "agent"},
        types={"n": FieldType.INT},
    )
    part = prepare(effect, "main")
    assert part.table == "main"
    assert part.terms.fixed == (("n", 5, FieldType.INT),)
    assert part.terms.open == (("who", "who", FieldType.TEXT),)
    assert part.holds.bound({"text": "t"}) == (("source", "agent", FieldType.TEXT), ("text", "t", FieldType.TEXT))
    assert part.licensed == {"who", "n", "key", "text", "source"}


def test_one_prepared_effect_serves_every_trial() -> None:
    """The values of one trial leave no trace for the next."""
    part = prepare(Effect(EffectKind.RECORD_WRITTEN, {"who": Param("who")}), "main")
    assert find(part, {"who": "p1"}, CREATED).matching == 1
    assert find(part, {"who": "p2"}, CREATED).matching == 0
    assert find(part, {"who": "p1"}, CREATED).failure == ""


def test_a_field_that_does_not_parse_is_the_reason() -> None:
    """A text that is no number of the declared type is named as that."""
    part = prepare(
        Effect(EffectKind.FIELD_EQUALS, {"who": "p1"}, field="n", value=5, types={"n": FieldType.INT}), "main"
    )
    assert find(part, {}, CREATED).failure == ""
    spelled = TableDiff([{**ROW, "n": "five"}], [], [], [])
    assert find(part, {}, spelled).failure == "'n': 'five' does not read as int"


def test_an_untouched_record_fulfils_no_read_back() -> None:
    """The value stood there before, so nobody wrote it."""
    part = prepare(Effect(EffectKind.FIELD_EQUALS, {"who": "p1"}, field="n", value="5"), "main")
    found = find(part, {}, TableDiff([], [], [ROW], []))
    assert (found.matching, found.failure) == (1, NOTHING_WRITTEN)
