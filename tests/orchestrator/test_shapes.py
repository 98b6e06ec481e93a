"""What a line of a journal must hold is looked at before anything is made of it."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.shapes import check_head, check_lease, check_opening, from_row
from spec.errors import InputError

PARTS: Final = {"tasks": {"t": "sha256:t"}, "arms": {"a": "sha256:a"}, "provider": "sha256:p"}
LEVELS: Final = {"a": "in-process"}
HEAD: Final[dict[str, Any]] = {"run_id": "r", "plan_digest": "sha256:d", "parts": PARTS, "isolation": LEVELS}
LEASE: Final[dict[str, Any]] = {"keys": ["a::t::t0"], "attempt": 1, "worker": "worker-0"}

_plain = st.none() | st.booleans() | st.integers() | st.text()
_json: st.SearchStrategy[Any] = st.recursive(
    _plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)


def test_what_this_program_writes_passes() -> None:
    """A head, a later session with its number of trials, and a lease."""
    check_head(HEAD)
    check_opening(HEAD | {"trials": 3})
    check_opening({})
    check_lease(LEASE, 0)


@pytest.mark.parametrize("name", HEAD)
def test_a_head_says_everything(name: str) -> None:
    """What is missing in a head is named."""
    with pytest.raises(InputError, match=name):
        check_head({key: value for key, value in HEAD.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parts", None),
        ("parts", {"tasks": {}, "arms": {}}),
        ("parts", PARTS | {"tasks": ["t"]}),
        ("parts", PARTS | {"arms": {"a": 1}}),
        ("plan_digest", 7),
        ("isolation", ["a"]),
        ("trials", 0),
        ("trials", True),
        ("trials", 10**12),
        ("trials", 2.0),
    ],
)
def test_an_opening_of_another_shape_is_refused(name: str, value: object) -> None:
    """Wrong types, missing parts and numbers that no plan has are the user's input."""
    with pytest.raises(InputError, match=f"its {name} is"):
        check_opening(HEAD | {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("keys", None), ("keys", "a::t::t0"), ("keys", [["a"]]), ("attempt", 0), ("attempt", "1"), ("worker", [])],
)
def test_a_lease_of_another_shape_is_refused(name: str, value: object) -> None:
    """The lease is named by its byte, with what is wrong in it."""
    with pytest.raises(InputError, match=f"the lease at byte 77 cannot be used: its {name} is"):
        check_lease(LEASE | {name: value}, 77)


def test_a_row_that_a_kind_cannot_read_is_named() -> None:
    """Whatever its kind stumbles over, the row's key is told; what the kind makes of a good row is given."""

    def outcome(row: Any) -> str:
        found: str = row["outcome"].upper()
        return found

    assert from_row({"key": "k", "row": {"outcome": "success"}}, outcome) == "SUCCESS"
    for line in ({"key": "k"}, {"key": "k", "row": None}, {"key": "k", "row": {}}, {"key": "k", "row": {"outcome": 1}}):
        with pytest.raises(InputError, match="the row of 'k' cannot be read"):
            from_row(line, outcome)


@given(body=st.dictionaries(st.sampled_from([*HEAD, *LEASE, "trials"]), _json))
def test_any_body_passes_or_is_refused(body: dict[str, Any]) -> None:
    """No JSON makes the checks fail in another way."""
    for check in (check_head, check_opening, lambda found: check_lease(found, 0)):
        with contextlib.suppress(InputError):
            check(body)
