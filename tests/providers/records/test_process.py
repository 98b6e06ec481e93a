"""The service process: it comes up, serves many, and is gone with its worker however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest

from providers.records import Records
from providers.records.leases import make_base
from providers.records.process import _end
from spec.errors import ProviderFault

GONE_S = 20.0
WORKER = """
import anyio
from providers.records import Records

async def main():
    provider = Records()
    task = provider.tasks()[0]
    fixture = await provider.open(task, provider.payload(task, 0, 0))
    print(provider.service_pid, fixture._desk.base.directory, flush=True)
    await anyio.sleep(600)

anyio.run(main)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int, directory: Path) -> bool:
    end = time.monotonic() + GONE_S
    while time.monotonic() < end:
        if not alive(pid) and not directory.exists():
            return True
        time.sleep(0.05)
    return False


def test_a_killed_worker_leaves_nothing() -> None:
    """Neither the service nor its files outlive a worker that was killed outright."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    with worker.stdout:
        pid, _, directory = worker.stdout.readline().strip().partition(" ")
    assert alive(int(pid))
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert gone(int(pid), Path(directory))


def test_a_service_that_hangs_is_ended_while_its_first_line_is_awaited() -> None:
    """One that neither listens nor sees its input close is killed, though a thread still waits for its address."""
    hung = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert hung.stdout is not None
    waiting = threading.Thread(target=hung.stdout.readline, daemon=True)
    ending = threading.Thread(target=_end, args=(hung, 0.1), daemon=True)
    waiting.start()
    time.sleep(0.2)  # until the thread is inside of its read
    ending.start()
    ending.join(GONE_S)
    stuck = ending.is_alive()
    hung.kill()
    assert not stuck
    assert hung.stdout.closed


def test_a_closed_provider_leaves_nothing_and_a_dead_service_is_replaced() -> None:
    """A trial whose service died is the provider's fault, the next one gets a new service, and closing ends it."""

    async def main() -> tuple[int, Path]:
        provider = Records()
        task = provider.tasks()[0]
        payload = provider.payload(task, 0, 0)
        first = await provider.open(task, payload)
        assert (await first.environment.attempt_intended_action()).saved
        killed = provider.service_pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(ProviderFault, match="does not answer"):
            await first.environment.attempt_intended_action()
        await first.close()
        assert provider._desk is not None
        assert provider._desk.service is not None
        with anyio.fail_after(GONE_S):
            while not provider._desk.service.ended:  # noqa: ASYNC110 - the end of a process is no event of the loop
                await anyio.sleep(0.01)
        with pytest.raises(ProviderFault, match="has ended"):
            await provider.open(task, payload)
        second = await provider.open(task, payload)
        assert (await second.environment.attempt_intended_action()).saved
        pid, directory = provider.service_pid, second._desk.base.directory
        assert pid is not None
        await provider.close()
        return pid, directory

    assert gone(*anyio.run(main))


def test_leftovers_of_a_killed_pair_are_swept() -> None:
    """Where worker and service were killed together, the next worker removes what they left; the living stay."""
    living, lock = make_base()
    dead, dead_lock = make_base()
    os.close(dead_lock)
    newest, newest_lock = make_base()
    try:
        assert not dead.directory.exists()
        assert living.directory.exists()
    finally:
        os.close(lock)
        os.close(newest_lock)
        living.remove()
        newest.remove()
