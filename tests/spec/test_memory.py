"""The garbage collector is rare while a run works, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from spec.memory import THRESHOLDS, rare_collection


def test_collection_is_rare_inside_and_as_before_outside() -> None:
    """The thresholds hold for the time of the block."""
    before = gc.get_threshold()
    with rare_collection():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_an_error_puts_everything_back_too() -> None:
    """Whatever ends the block, the collector is as it was."""
    before = gc.get_threshold()
    with pytest.raises(KeyError), rare_collection():
        raise KeyError
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_cycles_are_still_found() -> None:
    """The collector is rare and not off."""
    with rare_collection():
        assert gc.isenabled()
        cycle: list[object] = []
        cycle.append(cycle)
        del cycle
        assert gc.collect() > 0
