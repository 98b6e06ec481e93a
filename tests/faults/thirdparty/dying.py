"""Arms that do what they are asked for and then end in a way in which no arm should."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from arms.base import ArmTask
from arms.environment import Environment
from arms.sync import SyncEnvironment


class Wicked(BaseException):
    """Not meant to be caught by anybody."""


class Clinging(Exception):
    """Cannot be pickled, and its copy could not be made."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)
        self.held = lambda: two


async def raises(task: ArmTask, environment: Environment) -> Any:
    """Fail."""
    await environment.attempt_intended_action()
    raise LookupError("lost the thread")


async def exits_0(task: ArmTask, environment: Environment) -> Any:
    """Ask the process to end well."""
    await environment.attempt_intended_action()
    sys.exit(0)


async def exits_3(task: ArmTask, environment: Environment) -> Any:
    """Ask the process to end."""
    await environment.attempt_intended_action()
    sys.exit(3)


async def interrupts(task: ArmTask, environment: Environment) -> Any:
    """Look like Ctrl-C."""
    await environment.attempt_intended_action()
    raise KeyboardInterrupt


async def wicked(task: ArmTask, environment: Environment) -> Any:
    """Raise what no handler of exceptions sees."""
    await environment.attempt_intended_action()
    raise Wicked


async def clings(task: ArmTask, environment: Environment) -> Any:
    """Raise what cannot be pickled."""
    await environment.attempt_intended_action()
    raise Clinging("one", "two")


async def returns_code(task: ArmTask, environment: Environment) -> Any:
    """Return what cannot be pickled."""
    await environment.attempt_intended_action()
    return lambda: True


async def returns_a_trap(task: ArmTask, environment: Environment) -> Any:
    """Return what would end whoever unpickles it."""
    await environment.attempt_intended_action()
    return Trap()


class Trap:
    """Ends the process that unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (7,)


def raises_in_thread(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Fail in a thread."""
    environment.attempt_intended_action()
    raise LookupError("lost the thread")


def exits_in_thread(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Ask the process to end, from a thread."""
    environment.attempt_intended_action()
    sys.exit(3)


def interrupts_in_thread(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Look like Ctrl-C, from a thread."""
    environment.attempt_intended_action()
    raise KeyboardInterrupt


async def vanishes(task: ArmTask, environment: Environment) -> Any:
    """Take the process along, without a word."""
    await environment.attempt_intended_action()
    os._exit(0)


async def segfaults(task: ArmTask, environment: Environment) -> Any:
    """Take the process along with a signal."""
    await environment.attempt_intended_action()
    ctypes.string_at(0)
