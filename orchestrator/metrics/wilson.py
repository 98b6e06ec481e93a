"""The Wilson score interval of a proportion, in closed form.

Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927). With
z the normal quantile of the confidence, n trials and k successes, the ends are the two roots p of
(k/n - p)^2 = z^2 p (1 - p) / n, so they never leave [0, 1] except by rounding, which is clipped.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.95
_Z: Final = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


class Interval(NamedTuple):
    """The two ends of an interval."""

    lo: float
    hi: float


def wilson(successes: int, trials: int) -> Interval:
    """The 95 % Wilson interval of ``successes`` out of ``trials``.

    Raises:
        ValueError: ``trials`` is not positive, or ``successes`` is not within 0 and ``trials``.
    """
    if trials <= 0 or not 0 <= successes <= trials:
        raise ValueError(f"no interval for {successes} of {trials}")
    # The upper end mirrors the lower one of the failures, so that neither loses digits to cancellation.
    return Interval(_lower(successes, trials), 1.0 - _lower(trials - successes, trials))


def _lower(successes: int, trials: int) -> float:
    """The lower root, as product of the roots by upper root: no difference of near equals."""
    square = _Z * _Z
    spread = _Z * math.sqrt(square + 4 * successes * (trials - successes) / trials)
    root = 2 * (successes * successes / trials) / (2 * successes + square + spread)
    return min(1.0, root)
