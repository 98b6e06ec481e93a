"""What the benchmarks share: runs in a directory of their own, times read from the journal, and the machine's name.

"After start-up" is the time from the first `lease` line to the last line before `end`: what the engine needs for the
trials, without the start of Python and Ray and without the report.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from orchestrator.config import config_from_mapping
from orchestrator.history import JOURNAL_NAME
from orchestrator.session import run

FOLDER = Path(__file__).parent
STEPS: Final = 2_000_000


class Measured(NamedTuple):
    """One run.

    Attributes:
        trials: scored trials.
        seconds: from the first lease to the last row.
    """

    trials: int
    seconds: float

    @property
    def per_s(self) -> float:
        """Trials a second."""
        return self.trials / self.seconds


def measure(config: Mapping[str, Any], arm: str = "") -> Measured:
    """Run a configuration in a directory that is thrown away, and time its trials.

    Args:
        config: as a mapping.
        arm: time only this arm's trials; "" times all.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        run_dir = Path(directory) / "run"
        run(config_from_mapping(config, FOLDER, environ=os.environ), run_dir=run_dir)
        return _timed(run_dir / JOURNAL_NAME, f'"key":"{arm}'.encode())


def _timed(journal: Path, key_start: bytes) -> Measured:
    """From the first lease to the last scored row, by the journal's own time stamps."""
    first, last, scored = "", "", 0
    with journal.open("rb") as lines:
        for line in lines:
            start = line[:200]
            if b'"type":"lease"' in start:
                first = first or orjson.loads(line)["at"]
            elif b'"type":"scored"' in start and key_start in start:
                last, scored = start[start.index(b'"at":"') + 6 :][:27].decode(), scored + 1
    return Measured(scored, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())


def machine() -> str:
    """The machine in a line: processor, cores, memory, system, Python."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return (
        f"{_processor()}, {os.cpu_count()} cores, {pages * page / 2**30:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}; {_speed():.1f} million steps/s"
    )


def _speed() -> float:
    """Millions of steps a second of a small loop: shared machines differ from minute to minute, figures with them."""
    table: dict[int, tuple[int, int]] = {}
    began = time.perf_counter()
    for step in range(STEPS):
        table[step & 1023] = (step, step)
    return STEPS / (time.perf_counter() - began) / 1e6


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def mockmed(arms: list[dict[str, Any]], trials: int, **engine: Any) -> dict[str, Any]:  # noqa: ANN401 - TOML values
    """A configuration of the anchor pack (9 tasks)."""
    return {
        "run": {"trials": trials, "name": "bench"},
        "engine": engine,
        "provider": {"use": "mockmed"},
        "arms": arms,
    }
