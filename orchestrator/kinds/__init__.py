"""The kinds of measurement that come with the package, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from orchestrator.kinds.base import Kind
from orchestrator.kinds.effect import EFFECT

KINDS: Final[Mapping[str, Kind]] = MappingProxyType({EFFECT.name: EFFECT})

__all__ = ["EFFECT", "KINDS"]
