"""What an arm is told is one frozen value."""

from __future__ import annotations

import pickle

import pytest

from arms.task import ArmTask

TOLD = ArmTask("Record it.", {"note": "n"}, (), 3, 60.0)


def test_it_cannot_be_changed() -> None:
    """An arm that writes to its task is stopped by Python."""
    with pytest.raises(AttributeError, match="goal cannot be set"):
        TOLD.goal = "Something else."
    with pytest.raises(AttributeError, match="seed cannot be deleted"):
        del TOLD.seed
    assert (TOLD.goal, TOLD.seed) == ("Record it.", 3)


def test_it_crosses_a_process_border() -> None:
    """A pickled task is an equal task."""
    assert pickle.loads(pickle.dumps(TOLD)) == TOLD


def test_it_names_no_task_and_no_availability() -> None:
    """An arm is told five things and no more."""
    assert set(ArmTask.__slots__) == {"goal", "params", "tools", "seed", "deadline_s"}


def test_tasks_compare_by_what_they_tell() -> None:
    """Equal values make equal tasks, another seed makes another task, and a tuple of the values is no task."""
    assert ArmTask("Record it.", {"note": "n"}, (), 3, 60.0) == TOLD
    assert ArmTask("Record it.", {"note": "n"}, (), 4, 60.0) != TOLD
    assert TOLD != ("Record it.", {"note": "n"}, (), 3, 60.0)
    assert "Record it." in repr(TOLD)
