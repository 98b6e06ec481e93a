"""Arms that do what they are asked for and then do not come back, each in its own way."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from typing import Any

import anyio

from arms.base import ArmTask
from arms.environment import Environment
from arms.sync import SyncEnvironment


async def sleeps(task: ArmTask, environment: Environment) -> Any:
    """Wait for ever, and let the others work."""
    await environment.attempt_intended_action()
    await anyio.sleep_forever()


def blocks(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Sleep in a thread, far beyond any deadline."""
    environment.attempt_intended_action()
    time.sleep(3600)


def reads(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Read what nobody ever writes."""
    environment.attempt_intended_action()
    source, _ = os.pipe()
    os.read(source, 1)


def computes(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Work in C without an end that anybody could wait for."""
    environment.attempt_intended_action()
    while True:
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 200_000)


def deaf(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Sleep, and go on sleeping whatever a signal handler does."""
    environment.attempt_intended_action()
    while True:
        signal.sigtimedwait([], 3600)
