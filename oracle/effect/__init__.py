"""Scoring of kind effect: pure judging, for the oracle and for verifiers that a provider hands to an arm."""

from oracle.effect.judge import EffectJudge, Finding, judge, verdict_of, verify
from oracle.effect.seen import SEEN_BYTES_MAX
from oracle.effect.side import EffectOracle

__all__ = ["SEEN_BYTES_MAX", "EffectJudge", "EffectOracle", "Finding", "judge", "verdict_of", "verify"]
