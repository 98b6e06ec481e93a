"""How near the engine comes to the ideal with arms that wait, and whether slow arms hold up quick ones.

Run with ``python -m benchmarks.slow_arms``. Goals, on two cores: 10,000 trials of 0.5 s with 1,000 in flight within
1.10 x of the ideal 5.0 s; 50,000 such trials with 5,000 in flight within 2 x; the rate of a 0.1 s arm beside a 5 s arm
within 5 % of its rate alone.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any, Final

from benchmarks.harness import machine, measure, mockmed

REPEATS: Final = 3


def _sleeper(name: str, seconds: float, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - TOML values
    return {"name": name, "use": "bench_arms:Sleeper", "options": {"seconds": seconds}, **more}


def _against_ideal(trials_a_task: int, in_flight: int, workers: int, repeats: int) -> None:
    ratios = []
    for _ in range(repeats):
        config = mockmed(
            [_sleeper("sleeper", 0.5)], trials_a_task, kind="ray", workers=workers, in_flight=in_flight, lease_max=1000
        )
        done = measure(config)
        ratios.append(done.seconds / (0.5 * done.trials / in_flight))
    told = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(
        f"{done.trials:,} trials of 0.5 s, {in_flight:,} in flight, {workers} workers: "
        f"{statistics.median(ratios):.3f} x ideal (of {told})"
    )
    sys.stdout.flush()


def _mixed() -> None:
    quick, slow = _sleeper("quick", 0.1, in_flight=100), _sleeper("slow", 5.0, in_flight=100)
    alone = measure(mockmed([quick], 500, kind="ray", workers=2, in_flight=200))
    print(f"a 0.1 s arm alone, 100 in flight: {alone.per_s:,.0f} trials/s")
    beside = measure(mockmed([quick, slow], 500, kind="ray", workers=2, in_flight=200), arm="quick").per_s
    print(f"the same beside a 5 s arm: {beside:,.0f} trials/s, {beside / alone.per_s - 1:+.1%}")


def main() -> None:
    """Measure and print."""
    print(f"machine: {machine()}")
    for workers in (1, 2):
        _against_ideal(1111, 1000, workers, REPEATS)
    _against_ideal(5556, 5000, 2, 1)
    _mixed()


if __name__ == "__main__":
    main()
