"""Kind effect: an arm changes a system of record, and the record is read behind its back.

The three parts live in modules of their own, because they run in different processes; this door is data only.
"""

from __future__ import annotations

from typing import Final

from orchestrator.kinds.base import Kind

EFFECT: Final = Kind(
    name="effect",
    worker="orchestrator.kinds.effect.worker:EffectWorker",
    oracle="oracle.effect:EffectOracle",
    driver="orchestrator.kinds.effect.driver:EffectDriver",
)

__all__ = ["EFFECT"]
