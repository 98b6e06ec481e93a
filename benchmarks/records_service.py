"""Trials a second through the record application's HTTP on SQLite: a fresh database, a save, and the oracle's readings.

    python -m benchmarks.records_service [inline] [ray]

The arm is ``screen`` of the ladder, on the scenario that works and on the whole ladder. Goal: 100 a second on 2 cores.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any, Final

from benchmarks.harness import machine, measure

REPEATS: Final = 3
TRIALS: Final = 600
ENGINES: Final[dict[str, dict[str, Any]]] = {
    "inline": {"kind": "inline", "in_flight": 64},
    "ray": {"kind": "ray", "workers": 1, "in_flight": 64},
}


def config(engine: dict[str, Any], tasks: list[str], trials: int) -> dict[str, Any]:
    """A configuration of the ladder."""
    return {
        "run": {"trials": trials, "name": "bench"},
        "engine": engine,
        "provider": {"use": "records", "pack": "ladder", "tasks": tasks},
        "arms": [{"name": "screen"}],
    }


def main() -> None:
    """Measure and print."""
    print(f"machine: {machine()}")
    for name in sys.argv[1:] or ENGINES:
        for what, tasks in (("ladder::ok", ["ladder::ok"]), ("whole ladder", [])):
            trials = TRIALS if tasks else TRIALS // 10
            rates = [measure(config(ENGINES[name], tasks, trials)).per_s for _ in range(REPEATS)]
            print(
                f"{name}, {what}: {statistics.median(rates):,.0f} trials/s (median of {REPEATS}; "
                f"{', '.join(f'{rate:,.0f}' for rate in rates)})"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
