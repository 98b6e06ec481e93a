"""Percentile bootstrap intervals, seeded: the same counts and seed give the same interval.

Both resample what is exchangeable: trials for the gap of one arm, whole tasks for a difference between arms, since
the trials of one task are not independent. numpy is imported on use; it is not needed to refuse a configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from orchestrator.metrics.wilson import CONFIDENCE

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

DRAWS: Final = 10_000
_CELLS_PER_BLOCK: Final = 2_000_000
"""How many resampled counts stand in memory at once: 16 MB, whatever the number of tasks."""


def gap_interval(*, successes: int, reported_wrongly: int, trials: int, seed: int) -> dict[str, Any] | None:
    """The interval of screen success minus task success, from three counts.

    Every trial is a success, a success only on the screen, or neither; a resample of trials is therefore one draw of
    a multinomial over these three counts, whatever the number of trials.

    Args:
        successes: trials that reported success, rightly.
        reported_wrongly: trials that reported success, wrongly.
        trials: scored trials.
        seed: the run's seed.

    Returns:
        The interval object, or None without trials.
    """
    if not trials:
        return None
    import numpy as np

    rest = trials - successes - reported_wrongly
    shares = np.array([successes, reported_wrongly, rest], dtype=np.float64) / trials
    counts = _generator(seed).multinomial(trials, shares, size=DRAWS)
    screen, task = counts[:, 0] + counts[:, 1], counts[:, 0]
    return _percentiles((screen - task) / trials)


def clustered_mean_interval(totals: Sequence[float], sizes: Sequence[int], seed: int) -> dict[str, Any] | None:
    """The interval of sum(totals) / sum(sizes) when whole clusters are resampled.

    Args:
        totals: a cluster's total, such as the difference of two counts over the trials of a task.
        sizes: how many observations the cluster has, each at least 1.
        seed: the run's seed.

    Returns:
        The interval object, or None without clusters.
    """
    if not sizes:
        return None
    import numpy as np

    generator = _generator(seed)
    shares = np.full(len(sizes), 1 / len(sizes))
    both = np.array([totals, sizes], dtype=np.float64).T
    block = max(1, _CELLS_PER_BLOCK // len(sizes))
    parts = []
    for start in range(0, DRAWS, block):
        drawn = generator.multinomial(len(sizes), shares, size=min(block, DRAWS - start)) @ both
        parts.append(drawn[:, 0] / drawn[:, 1])
    return _percentiles(np.concatenate(parts))


def _generator(seed: int) -> Generator:
    import numpy as np

    # numpy takes no negative seed; a run may have one.
    return np.random.default_rng(seed % 2**64)


def _percentiles(values: NDArray[float64]) -> dict[str, Any]:
    import numpy as np

    tail = (1 - CONFIDENCE) / 2
    lo, hi = np.quantile(values, [tail, 1 - tail])
    return {
        "lo": float(lo),
        "hi": float(hi),
        "method": "bootstrap_percentile",
        "confidence": CONFIDENCE,
        "draws": DRAWS,
    }
