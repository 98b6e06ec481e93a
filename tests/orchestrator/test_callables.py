"""Objects as arms: an ordinary reference leads to each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arms.baselines import screen_only
from orchestrator.callables import is_registered, reference_to
from orchestrator.plugins import resolve_arm
from spec.errors import ConfigError


def make(answer: int) -> Callable[..., int]:
    def arm(task: Any, environment: Any) -> int:
        return answer

    return arm


def test_what_can_be_imported_keeps_its_own_name() -> None:
    """A module's function is referred to where it is, so that it runs anywhere."""
    assert reference_to(screen_only) == "arms.baselines:screen_only"
    assert not is_registered("arms.baselines:screen_only")


def test_closures_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Two functions of one name have two references, the same function always the same."""
    one, other = make(1), make(2)
    references = [reference_to(arm) for arm in (one, other, one, lambda task, environment: 3)]
    assert references[0] == references[2] != references[1]
    assert all(map(is_registered, references))
    assert [resolve_arm(use, tmp_path)(None, None) for use in references] == [1, 2, 1, 3]


def test_a_reference_of_another_process_is_refused(tmp_path: Path) -> None:
    """What was handed over elsewhere is not here, and the message says so like any other missing attribute."""
    with pytest.raises(ConfigError, match="has no 'elsewhere'"):
        resolve_arm("orchestrator.callables:elsewhere", tmp_path)
