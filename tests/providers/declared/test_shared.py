"""What the trials of a process share goes with it, also where the process is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from tests.providers.declared.conftest import Declare

WAIT_S = 20.0
WORKER = """
import sys
from pathlib import Path

import anyio

from providers.declared import Declared


async def main():
    provider = Declared(options={"file": "desk.toml"}, folder=Path(sys.argv[1]))
    task = provider.tasks()[0]
    fixture = await provider.open(task, provider.payload(task, 0, 0))
    await fixture.environment.call("close_ticket", {"number": 5, "note": "x"})


anyio.run(main)
"""
SLEEPER = "import os, time; open(os.environ['DB'] + '.pid', 'w').write(str(os.getpid())); time.sleep(60)"


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("topg-declared-*"))


def pid_in(folder: Path) -> int | None:
    for file in folder.glob("t*/record.sqlite.pid"):
        text = file.read_text(encoding="utf-8")
        return int(text) if text else None
    return None


def within(seconds: float, found: Any) -> Any:
    """What ``found`` answers first that is true."""
    end_s = time.monotonic() + seconds
    while not (answer := found()) and time.monotonic() < end_s:
        time.sleep(0.02)
    return answer


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_worker_leaves_no_program_and_its_folder_is_swept_up(
    written: dict[str, Any], declare: Declare, tmp_path: Path
) -> None:
    """A program under way dies with its worker, and the next worker removes what lies about."""
    provider, before = declare(written, desk_py=SLEEPER), folders()
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)])
    try:
        pid = within(WAIT_S, lambda: next((pid for folder in folders() - before if (pid := pid_in(folder))), None))
        assert pid is not None
        assert runs(pid)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    assert within(WAIT_S, lambda: not runs(pid))
    assert folders() - before

    async def next_worker() -> None:
        task = provider.tasks()[0]
        fixture = await provider.open(task, provider.payload(task, 0, 0))
        assert len(folders() - before) == 1
        await fixture.close()
        await provider.close()

    anyio.run(next_worker)
    assert folders() <= before
