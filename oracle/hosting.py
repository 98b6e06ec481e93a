"""Build an oracle from plain fields, in whatever process it is to work."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Final, NamedTuple

from oracle.base import Channel, OracleSide
from oracle.channels.snapshot import SnapshotChannel
from oracle.retry import RetryPolicy, Timekeeper
from oracle.service import OracleService
from spec.reading import ChannelName

CHANNELS_GROUP: Final = "orchestrator.channels"

Fetch = Callable[[str, Sequence[int]], Awaitable[bytes]]
"""Reads in-memory records: (worker's name, places) -> JSON bytes."""


class OracleSetup(NamedTuple):
    """Everything that an oracle is built from; it survives pickling.

    Attributes:
        side: ``"module:attribute"`` of the kind's oracle side.
        fields: what that is built with: gold, contracts, schemas.
        policy: how often and how long an unreadable record is read again.
    """

    side: str
    fields: Mapping[str, Any]
    policy: RetryPolicy


def build_oracle(setup: OracleSetup, fetch: Fetch, time: Timekeeper) -> OracleService:
    """An oracle, ready to serve.

    Args:
        setup: what it is built from.
        fetch: reads the in-memory records of workers.
        time: where time comes from.
    """
    module, _, attribute = setup.side.partition(":")
    side: OracleSide = getattr(importlib.import_module(module), attribute)(**setup.fields)

    def open_channel(name: str) -> Channel | None:
        if name == ChannelName.SNAPSHOT:
            return SnapshotChannel(fetch)
        for point in entry_points(group=CHANNELS_GROUP, name=name):
            channel: Channel = point.load()()
            return channel
        return None

    return OracleService(side=side, channels=open_channel, policy=setup.policy, time=time)
