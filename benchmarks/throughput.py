"""Zero-latency trials a second, on Ray with the separate oracle and the synced journal, and inline.

Run with ``python -m benchmarks.throughput``. Goal: 5,000 a second on Ray, 10,000 inline, on two cores.
"""

from __future__ import annotations

import statistics
import sys
from typing import Final

from benchmarks.harness import machine, measure, mockmed

REPEATS: Final = 3
TRIALS: Final = 1000  # 9 tasks x 2 arms x 1,000 = 18,000
ARMS: Final = [{"name": "screen_only"}, {"name": "effect_verified"}]


def main() -> None:
    """Measure and print."""
    print(f"machine: {machine()}")
    for name, engine in (
        ("inline", {"kind": "inline", "in_flight": 256}),
        ("ray, 1 worker", {"kind": "ray", "workers": 1, "in_flight": 1024}),
        ("ray, 2 workers", {"kind": "ray", "workers": 2, "in_flight": 1024}),
    ):
        rates = [measure(mockmed(ARMS, TRIALS, **engine)).per_s for _ in range(REPEATS)]
        print(
            f"{name}: {statistics.median(rates):,.0f} trials/s (median of {REPEATS}; "
            f"{', '.join(f'{rate:,.0f}' for rate in rates)})"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
