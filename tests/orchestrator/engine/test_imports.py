"""A peer that imports other code than the driver is refused by name."""

from __future__ import annotations

import pytest

from orchestrator.engine.imports import NAMED_MAX, check_imports
from spec.errors import InputError


def test_equal_code_is_fine() -> None:
    """The same digests need no word, in whatever order."""
    check_imports("worker-0", "10.0.0.7", {"arms": "a", "spec": "b"}, {"spec": "b", "arms": "a"})


def test_a_difference_names_node_module_and_both_digests() -> None:
    """The error says which node, which module, what is there and what is here; it ends the program with 2."""
    with pytest.raises(InputError) as caught:
        check_imports("worker-3", "10.0.0.7", {"arms": "sha256:a", "mine": "sha256:m"}, {"arms": "sha256:b"})
    text = str(caught.value)
    assert text.startswith("node 10.0.0.7: worker-3 imports other code")
    assert "arms is sha256:b there and sha256:a here" in text
    assert "mine is nothing there and sha256:m here" in text
    assert caught.value.exit_code == 2


def test_many_differences_are_counted() -> None:
    """However much differs, the error stays readable."""
    here = {f"m{number}": "a" for number in range(NAMED_MAX + 3)}
    with pytest.raises(InputError, match="and 3 more"):
        check_imports("worker-0", "h", here, {})
