from __future__ import annotations

import os
from pathlib import Path

from orchestrator.engine.processes import Processes, processes_of


def list_process(proc: Path, pid: int, parent: int, *arguments: str) -> None:
    """Write down a process as the kernel does; a name may hold blanks and brackets."""
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "stat").write_text(f"{pid} (a) name (x) S {parent} {pid} 0 0")
    (folder / "cmdline").write_bytes(b"".join(argument.encode() + b"\0" for argument in arguments))


def test_the_parts_of_a_run_are_told_apart(tmp_path: Path) -> None:
    """Below the driver stand Ray's two servers, and below one of them workers and oracles; others are not counted."""
    list_process(tmp_path, 10, 1, "python", "-m", "orchestrator")
    list_process(tmp_path, 11, 10, "/site/ray/core/gcs_server", "--log_dir=x.y")
    list_process(tmp_path, 12, 10, "/site/ray.core/raylet/raylet", "--x")
    list_process(tmp_path, 15, 12, "ray::RayWorker.serve")
    list_process(tmp_path, 14, 12, "ray::RayWorker")
    list_process(tmp_path, 16, 12, "ray::RayOracle")
    list_process(tmp_path, 17, 12, "ray::IDLE")
    list_process(tmp_path, 20, 1, "/site/ray/core/raylet/raylet")
    list_process(tmp_path, 21, 20, "ray::RayWorker")
    (tmp_path / "30").mkdir()
    (tmp_path / "uptime").touch()
    assert processes_of(10, tmp_path) == Processes(10, (14, 15), (16,), raylet=12, gcs=11)


def test_a_driver_alone_hosts_everything(tmp_path: Path) -> None:
    """Inline, and where the system has no list of processes, there is the driver and nobody else."""
    assert processes_of(os.getpid(), tmp_path / "missing") == Processes(os.getpid())
