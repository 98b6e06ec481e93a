from __future__ import annotations

import importlib

import pytest

from orchestrator.kinds import EFFECT, KINDS


def test_kinds_are_found_by_their_own_name() -> None:
    """The table's key is the kind's name, and the table cannot be changed."""
    assert {name: kind.name for name, kind in KINDS.items()} == {"effect": "effect"}
    with pytest.raises(TypeError):
        KINDS["other"] = EFFECT  # type: ignore[index]  # this is what must fail


@pytest.mark.parametrize("kind", list(KINDS.values()))
@pytest.mark.parametrize("part", ["worker", "oracle", "driver"])
def test_every_part_is_where_its_address_says(kind: object, part: str) -> None:
    """Each of a kind's three addresses leads to a class."""
    module, _, attribute = str(getattr(kind, part)).partition(":")
    assert isinstance(getattr(importlib.import_module(module), attribute), type)
