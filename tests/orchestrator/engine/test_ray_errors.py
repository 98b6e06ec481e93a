"""Every error of Ray has a place."""

from __future__ import annotations

import inspect

import pytest

from orchestrator.engine.ray_errors import PLACES, Place, creation_problem, place_of


def ray_errors() -> dict[str, type[BaseException]]:
    """Every exception class that ``ray.exceptions`` defines, by its name."""
    import ray.exceptions

    return {
        kind.__name__: kind
        for _, kind in inspect.getmembers(ray.exceptions, inspect.isclass)
        if issubclass(kind, BaseException) and kind.__module__.partition(".")[0] == "ray"
    }


def test_every_error_of_ray_has_a_place() -> None:
    """An error class that a new version of Ray brings has to be placed before this passes again."""
    found = ray_errors()
    assert len(found) > 30
    assert sorted(set(found) - set(PLACES)) == []


def test_no_place_is_for_an_error_that_does_not_exist() -> None:
    """The table names only what Ray has."""
    assert sorted(set(PLACES) - set(ray_errors())) == []


def test_an_error_is_placed_by_its_own_class() -> None:
    """Each class has the place under its own name, not that of a class above it."""
    for name, kind in ray_errors().items():
        assert place_of(kind.__new__(kind)) is PLACES[name], name


def test_a_class_that_ray_makes_on_the_way_is_placed_by_the_nearest_above_it() -> None:
    """Ray derives from both its own error and the cause; such a class has no name in the table."""
    import ray.exceptions

    made: type[BaseException] = type("RayTaskError(ValueError)", (ray.exceptions.RayTaskError, ValueError), {})
    assert place_of(made.__new__(made)) is Place.PEER_LOST


@pytest.mark.parametrize("error", [ValueError("x"), OSError("x"), type("RayError", (Exception,), {})()])
def test_an_error_of_others_has_none(error: Exception) -> None:
    """What is not of Ray is not placed, whatever its name is."""
    assert place_of(error) is None


def test_what_failed_in_the_making_is_told_in_one_line() -> None:
    """An actor's constructor that failed gives its own last line; any other death is none of its making."""
    made = RuntimeError(
        "The actor died because of an error raised in its creation task, ray::RayWorker.__init__() (pid=1)\n"
        "  File ...\nspec.errors.ConfigError: there is no module 'own_agent'\n"
    )
    assert creation_problem(made) == "spec.errors.ConfigError: there is no module 'own_agent'"
    assert creation_problem(RuntimeError("The actor died unexpectedly before finishing this task.")) is None
    assert creation_problem(RuntimeError("")) is None
