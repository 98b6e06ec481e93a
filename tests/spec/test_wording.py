"""A refused value is told in the words of a TOML file, not of Python."""

from __future__ import annotations

from spec.wording import shown, type_refusal, value_refusal


def test_a_wrong_type_is_told_by_both_names() -> None:
    """What is wanted and what was found; an error that is none of types is left to others."""
    assert type_refusal("int_type", "3") == "must be an integer, not text"
    assert type_refusal("model_type", [1]) == "must be a table, not a list"
    assert type_refusal("missing", None) is None


def test_a_bound_is_told_with_its_number() -> None:
    """Whole bounds have no fraction, and an empty value is told without one."""
    assert value_refusal("greater_than", {"gt": 0.0}, -1) == "must be greater than 0, not -1"
    assert value_refusal("less_than_equal", {"le": 0.5}, 1) == "must be at most 0.5, not 1"
    assert value_refusal("too_short", {}, []) == "must not be empty"
    assert value_refusal("int_type", {}, "x") is None


def test_a_long_value_is_cut() -> None:
    """A value stands in front of its refusal, never whole where it is long, and a table not at all."""
    assert shown("a") == '"a" '
    assert len(shown("a" * 1000)) < 100
    assert shown({}) == ""
