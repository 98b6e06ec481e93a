from __future__ import annotations

from typing import Any

import pytest

from orchestrator.config.overrides import Override, apply_override, choose_arms, parse_override
from orchestrator.config.problems import Problem


@pytest.mark.parametrize(
    ("text", "names", "value"),
    [
        ("run.trials=3", ("run", "trials"), 3),
        ("run.drain_s = 1.5", ("run", "drain_s"), 1.5),
        ("engine.kind=inline", ("engine", "kind"), "inline"),
        ('engine.kind="inline"', ("engine", "kind"), "inline"),
        ("provider.use=my_module:Thing", ("provider", "use"), "my_module:Thing"),
        ("run.name=", ("run", "name"), ""),
        ("run.name=a=b", ("run", "name"), "a=b"),
        ("run.seed=1#2", ("run", "seed"), "1#2"),
        ("run.seed=1,2", ("run", "seed"), "1,2"),
        ("a=1]\nb=[2", ("a",), "1]\nb=[2"),
        ('provider.tasks=["a", "b*"]', ("provider", "tasks"), ["a", "b*"]),
        ("arms.x.options={a = 1}", ("arms", "x", "options"), {"a": 1}),
        ('provider.options."a=b".c=true', ("provider", "options", "a=b", "c"), True),
    ],
)
def test_an_override_is_a_toml_value_or_a_bare_word(text: str, names: tuple[str, ...], value: Any) -> None:
    """What TOML reads is its value; what it does not read whole is text."""
    assert parse_override(text) == Override(names, value)


@pytest.mark.parametrize("text", ["", "run.trials", "=3", "run..trials=3", "a\n.b=3", "run.trials=[1", "a='x"])
def test_an_override_that_cannot_be_read_is_a_problem(text: str) -> None:
    """No key, a malformed key, or an opened quote or bracket is refused."""
    problem = parse_override(text)
    assert isinstance(problem, Problem)
    assert problem.by_command


def test_an_arm_is_set_by_its_name() -> None:
    """The name finds the arm wherever it stands; other arms stay as they are."""
    document: dict[str, Any] = {"arms": [{"name": "a"}, {"name": "b"}]}
    assert apply_override(document, Override(("arms", "b", "options", "t"), 1)) == ("arms", 1, "options", "t")
    assert document == {"arms": [{"name": "a"}, {"name": "b", "options": {"t": 1}}]}
    assert apply_override(document, Override(("arms", "a"), {"name": "c"})) == ("arms", 0)
    assert document["arms"][0] == {"name": "c"}


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("arms", "screen_onyl", "in_flight"), "no arm is named 'screen_onyl'"),
        (("run", "kind", "x"), "run.kind is no table"),
        (("run", "kind", "x", "y"), "run.kind is no table"),
    ],
)
def test_an_override_that_leads_nowhere_is_a_problem(names: tuple[str, ...], reason: str) -> None:
    """A wrong arm is named with the nearest one; nothing is set inside a single value."""
    document = {"run": {"kind": "effect"}, "arms": [{"name": "screen_only"}]}
    problem = apply_override(document, Override(names, 1))
    assert isinstance(problem, Problem)
    assert problem.message.startswith(reason)
    assert "screen_only" in problem.hint or names[0] != "arms"


def test_the_arms_that_do_not_run_are_the_others() -> None:
    """No wish means all run; a wrong name leaves nothing out and is a problem."""
    document = {"arms": [{"name": "a"}, {"name": "b"}, 3]}
    assert choose_arms(document, []) == (frozenset(), [])
    assert choose_arms(document, ["b"]) == (frozenset({"a"}), [])
    left_out, problems = choose_arms(document, ["b", "q"])
    assert left_out == frozenset()
    assert len(problems) == 1
