from __future__ import annotations

from typing import Any

import pytest

from orchestrator.config.values import Resolver, thawed, too_deep


def resolve(value: Any, environ: dict[str, str]) -> tuple[Any, Resolver]:
    resolver = Resolver(environ)
    return resolver.value(value, ("key",)), resolver


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("plain $HOME {A}", "plain $HOME {A}"),
        ("${A}", "one"),
        ("x${A}y${B}z", "xoney${A}z"),
        ("$${A} and ${A}", "${A} and one"),
        ("${EMPTY}", ""),
    ],
)
def test_variables_are_filled_in_once(written: str, value: str) -> None:
    """``${NAME}`` takes the variable, its value is not looked at again, and ``$${`` stands for itself."""
    found, resolver = resolve(written, {"A": "one", "B": "${A}", "EMPTY": ""})
    assert found == value
    assert resolver.problems == []


@pytest.mark.parametrize(
    ("written", "reason", "hint"),
    [
        ("${APi_KEY}", "the environment variable APi_KEY is not set", "did you mean 'API_KEY'?"),
        ("${Q}", "the environment variable Q is not set", "set it: export Q=..."),
        ("${", "holds ${ without a variable's name", "write $${"),
        ("${1}", "holds ${ without a variable's name", "write $${"),
        ("${BYTES}", "the environment variable BYTES holds bytes that are not UTF-8", ""),
    ],
)
def test_a_variable_that_cannot_be_filled_in_is_named(written: str, reason: str, hint: str) -> None:
    """An unset, malformed or unreadable variable is a problem, never the empty text."""
    _, resolver = resolve(written, {"API_KEY": "x", "BYTES": "\udcff"})
    (problem,) = resolver.problems
    assert problem.message.startswith(reason)
    assert hint in problem.hint


def test_only_values_that_json_has_are_plain() -> None:
    """Anything that could not be stored, hashed and sent is a problem at its own place."""
    odd = {"a": [1, object()], "b": {"c": None}, "d": 2**64, "e": "\ud800", 3: "x"}
    _, resolver = resolve(odd, {})
    assert [problem.place for problem in resolver.problems] == [
        ("key", "a", 1),
        ("key", "b", "c"),
        ("key", "d"),
        ("key", "e"),
        ("key", "3"),
    ]


def test_depth_is_bounded_before_anything_recurses() -> None:
    """A document that is too deep, or holds itself, is one problem and ends."""
    circle: dict[str, Any] = {}
    circle.update(one=circle, two=[circle])
    assert too_deep(circle) is not None
    deep: Any = 1
    for _ in range(20_000):
        deep = {"a": deep}
    assert too_deep(deep) is not None
    assert too_deep({"a": [{"b": 1}]}) is None


def test_a_thawed_copy_shares_nothing() -> None:
    """Changing the copy leaves what the caller gave alone."""
    given = {"arms": ({"name": "a"},)}
    copy: Any = thawed(given)
    copy["arms"][0]["name"] = "b"
    copy["arms"].append(1)
    assert given == {"arms": ({"name": "a"},)}
