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
WORKERS: Final = 2
MIXED_TRIALS: Final = 300


def _sleeper(name: str, seconds: float, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - TOML values
    return {"name": name, "use": "bench_arms:Sleeper", "options": {"seconds": seconds}, **more}


def _against_ideal(trials_a_task: int, in_flight: int, repeats: int) -> None:
    ratios = []
    for _ in range(repeats):
        config = mockmed([_sleeper("sleeper", 0.5)], trials_a_task, kind="ray", workers=WORKERS, in_flight=in_flight)
        done = measure(config)
        ratios.append(done.seconds / (0.5 * done.trials / in_flight))
    print(
        f"{done.trials:,} trials of 0.5 s, {in_flight:,} in flight, {WORKERS} workers: "
        f"{statistics.median(ratios):.3f} x ideal (of {_told(ratios)})"
    )
    sys.stdout.flush()


def _mixed() -> None:
    quick, slow = _sleeper("quick", 0.1, in_flight=100), _sleeper("slow", 5.0, in_flight=400)
    engine = {"kind": "ray", "workers": WORKERS, "in_flight": 500}
    alone, beside = [], []
    for _ in range(REPEATS):
        alone.append(measure(mockmed([quick], MIXED_TRIALS, **engine)).per_s)
        beside.append(measure(mockmed([quick, slow], MIXED_TRIALS, **engine), arm="quick").per_s)
    change = statistics.median(beside) / statistics.median(alone) - 1
    print(f"a 0.1 s arm, 100 in flight, alone: {statistics.median(alone):,.0f} trials/s (of {_told(alone)})")
    print(f"the same beside a 5 s arm, 400 in flight: {statistics.median(beside):,.0f} trials/s, {change:+.1%}")


def _told(values: list[float]) -> str:
    return ", ".join(f"{value:,.4g}" for value in values)


def main() -> None:
    """Measure and print."""
    print(f"machine: {machine()}")
    _against_ideal(1111, 1000, REPEATS)
    _against_ideal(5556, 5000, 1)
    _mixed()


if __name__ == "__main__":
    main()
