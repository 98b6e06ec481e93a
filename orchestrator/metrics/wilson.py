"""The Wilson score interval of a proportion, in closed form.

Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927). With
z the normal quantile of the confidence, n trials and k successes, the ends are the two roots p of
(k/n - p)^2 = z^2 p (1 - p) / n, so they never leave [0, 1] except by rounding, which is clipped.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.95
Z: Final = 1.959963984540054
"""The normal quantile of 0.5 + CONFIDENCE / 2; written out, since libraries differ in its last digit."""


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
    share, square = successes / trials, Z * Z
    scale = 1 + square / trials
    centre = (share + square / (2 * trials)) / scale
    spread = Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials)) / scale
    return Interval(
        0.0 if successes == 0 else max(0.0, centre - spread),
        1.0 if successes == trials else min(1.0, centre + spread),
    )
