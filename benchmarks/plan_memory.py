"""Memory of a driver whose plan has a million trials, and the time until the inline reference run has its result.

Run with ``python -m benchmarks.plan_memory``. Goals: under 300 MiB; under 2 s. The run is inline, so that worker and
oracle are in the figure too, and it is interrupted after some seconds: the plan is what is measured.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.harness import machine

RUN_S: Final = 15.0
TRIALS: Final = 55_556  # 9 tasks x 2 arms x 55,556 = 1,000,008
REFERENCE: Final = Path(__file__).parent.parent / "configs" / "reference.toml"
QUICK_REPEATS: Final = 5


def _command(run_dir: Path, *more: str) -> list[str]:
    options = ["--config", str(REFERENCE), "--inline", "--quiet", "--run-dir", str(run_dir), *more]
    return [sys.executable, "-m", "orchestrator", *options]


def _peak_mib(directory: Path) -> float:
    """The largest resident size that the kernel saw, asked just before the run is told to drain."""
    with subprocess.Popen(_command(directory / "big", "--set", f"run.trials={TRIALS}")) as process:
        time.sleep(RUN_S)
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.send_signal(signal.SIGINT)
    peak_kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak_kib) / 1024


def main() -> None:
    """Measure and print."""
    print(f"machine: {machine()}")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        print(f"a plan of {18 * TRIALS:,} trials, inline: peak {_peak_mib(directory):,.0f} MiB resident")
        seconds = []
        for repeat in range(QUICK_REPEATS):
            started = time.perf_counter()
            subprocess.run(_command(directory / f"quick-{repeat}"), check=True, env=dict(os.environ))
            seconds.append(time.perf_counter() - started)
        told = ", ".join(f"{value:.2f}" for value in seconds)
        print(f"--inline on the reference configuration: {sorted(seconds)[len(seconds) // 2]:.2f} s (of {told})")


if __name__ == "__main__":
    main()
