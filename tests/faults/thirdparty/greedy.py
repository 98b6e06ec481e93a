"""Arms that take more than there is, within the limits that the test sets on the process."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from arms.base import ArmTask
from arms.sync import SyncEnvironment

GIB = 1 << 30


def memory(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Take four gibibytes."""
    environment.attempt_intended_action()
    return bytearray(4 * GIB)


def disk(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Write a gibibyte."""
    environment.attempt_intended_action()
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "large").open("wb") as file:
        for _ in range(1024):
            file.write(bytes(GIB // 1024))


def descriptors(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Open files until there are no more descriptors, and give them back."""
    environment.attempt_intended_action()
    held: list[int] = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for number in held:
            os.close(number)


def copies(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Make copies of the process that go on as if they were it."""
    environment.attempt_intended_action()
    children = [os.fork() for _ in range(3)]
    for pid in filter(None, children):
        os.waitpid(pid, 0)
    return {"reported_success": True}
