"""From what a configuration names to an arm: a function as it stands, a class called once with its options."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Final, cast

from arms.base import Arm
from spec.errors import ConfigError, let_interruptions_through
from spec.text import describe

_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_REFUSALS: Final = (TypeError, ValueError, LookupError, AttributeError, OSError)
"""What a constructor raises when it does not like its options."""


def instantiate(target: object, options: Mapping[str, object], *, key: str = "arms") -> Arm:
    """The arm that ``target`` stands for.

    Args:
        target: a class, which is called once with ``options``, or a callable ``(task, environment)``.
        options: the arm's options; a target that is no class takes none.
        key: dotted key of the arm in the configuration, for messages.

    Raises:
        ConfigError: ``target`` is no arm, or its options do not fit.
    """
    try:
        return _instantiate(target, options, key)
    except ConfigError:
        raise
    except BaseException as error:  # even a look at a user's object may run the user's code
        let_interruptions_through(error)
        raise ConfigError(describe(error, "the arm cannot be looked at"), key=f"{key}.use") from error


def _instantiate(target: object, options: Mapping[str, object], key: str) -> Arm:
    if inspect.isclass(target):
        return _as_arm(_construct(target, options, key), key)
    arm = _as_arm(target, key)
    if options:
        names = ", ".join(sorted(options))
        raise ConfigError(f"{_name(target)} takes no options, but got {names}", key=f"{key}.options")
    return arm


def is_blocking(arm: Arm) -> bool:
    """True where the arm is a plain function and needs a thread of its own."""
    return not (inspect.iscoroutinefunction(arm) or inspect.iscoroutinefunction(type(arm).__call__))


def _construct(target: type[object], options: Mapping[str, object], key: str) -> object:
    problem, hint = _misfit(target, options)
    if problem:
        raise ConfigError(problem, key=f"{key}.options", hint=hint)
    try:
        return target(**options)
    except BaseException as error:
        let_interruptions_through(error)
        what = "refused its options" if isinstance(error, _REFUSALS) else "cannot be made"
        message = describe(error, f"{_name(target)} {what}")
        raise ConfigError(message, key=f"{key}.options") from error


def _misfit(target: type[object], options: Mapping[str, object]) -> tuple[str, str]:
    """What is wrong with the names of the options, and a hint; both empty where they fit or cannot be known."""
    parameters = _parameters(target)
    if parameters is None:
        return "", ""
    named = [p.name for p in parameters if p.kind in _BY_NAME]
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    unknown = [] if open_ended else [name for name in options if name not in named]
    missing = [p.name for p in parameters if p.kind in _BY_NAME and p.default is p.empty and p.name not in options]
    problems = [f"{_name(target)} has no option {name!r}" for name in unknown]
    problems += [f"{_name(target)} needs the option {name!r}" for name in missing]
    near = [match for name in unknown for match in difflib.get_close_matches(name, named, n=1)]
    hint = "did you mean " + ", ".join(near) + "?" if near else ""
    return "; ".join(problems), hint


def _as_arm(candidate: object, key: str) -> Arm:
    if not callable(candidate):
        raise ConfigError(f"{_name(candidate)} is no arm: it cannot be called", key=f"{key}.use")
    if any(_yields(function) for function in (candidate, type(candidate).__call__)):
        raise ConfigError(f"{_name(candidate)} is no arm: it yields instead of returning", key=f"{key}.use")
    parameters = _parameters(candidate)
    if parameters is not None and not _takes_two(parameters):
        message = f"{_name(candidate)} is no arm: it must take (task, environment)"
        raise ConfigError(message, key=f"{key}.use")
    return cast(Arm, candidate)


def _yields(function: object) -> bool:
    return inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)


def _takes_two(parameters: list[inspect.Parameter]) -> bool:
    signature = inspect.Signature(parameters)
    try:
        signature.bind(None, None)
    except TypeError:
        return False
    return True


def _parameters(target: object) -> list[inspect.Parameter] | None:
    """The parameters of a callable, or None where it does not tell."""
    if not callable(target):
        return None
    try:
        return list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None


def _name(target: object) -> str:
    named = target if inspect.isroutine(target) or inspect.isclass(target) else type(target)
    return f"{named.__module__}:{named.__qualname__}"
