"""From counts to numbers: rates and intervals, pass^k, paired comparisons. Pure; nothing here reads a file."""

from __future__ import annotations

from orchestrator.metrics.bootstrap import clustered_mean_interval, gap_interval
from orchestrator.metrics.paired import (
    TRIALS_FOR_COMPARISON,
    PairedTask,
    compare_pairs,
    holm,
    mcnemar_exact,
    why_not_compared,
)
from orchestrator.metrics.passhat import PASS_HAT_KS, TaskTally, pass_hat_k
from orchestrator.metrics.rates import rate
from orchestrator.metrics.wilson import CONFIDENCE, wilson

__all__ = [
    "CONFIDENCE",
    "PASS_HAT_KS",
    "TRIALS_FOR_COMPARISON",
    "PairedTask",
    "TaskTally",
    "clustered_mean_interval",
    "compare_pairs",
    "gap_interval",
    "holm",
    "mcnemar_exact",
    "pass_hat_k",
    "rate",
    "why_not_compared",
    "wilson",
]
