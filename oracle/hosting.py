"""Build an oracle from plain fields, in whatever process it is to work."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from oracle.base import Channel, ChannelContext, Fetch, OracleSide, Timekeeper
from oracle.channels.credentials import node_credentials, node_file
from oracle.retry import RetryPolicy
from oracle.service import OracleService
from spec.reading import ChannelName
from spec.sources import folder_here, module_digest, package_digest

OUR_PACKAGES: Final = ("models", "oracle", "spec")
"""What an oracle consists of; it knows no other package of ours."""

CHANNELS_GROUP: Final = "orchestrator.channels"

OUR_CHANNELS: Final[Mapping[str, str]] = {
    ChannelName.FHIR: "oracle.channels.fhir:FhirChannel",
    ChannelName.FILE: "oracle.channels.file:FileChannel",
    ChannelName.FS: "oracle.channels.fs:FsChannel",
    ChannelName.REST: "oracle.channels.rest:RestChannel",
    ChannelName.SNAPSHOT: "oracle.channels.snapshot:SnapshotChannel",
    ChannelName.SQL: "oracle.channels.sql:SqlChannel",
}
"""Channel -> its class. No other package can take one of these names: it would read in the place of ours."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Read credentials by name; a class of its own so that no ``repr`` of a setup shows them."""

    values: Mapping[str, str] = field(repr=False)


NO_CREDENTIALS: Final = Credentials({})


class OracleSetup(NamedTuple):
    """Everything that an oracle is built from; it survives pickling.

    Attributes:
        side: ``"module:attribute"`` of the kind's oracle side.
        fields: what that is built with: gold, contracts, schemas.
        policy: how often and how long an unreadable record is read again.
        baseline_s: seconds in which the reading before the arm must be there.
        folder: the first place to look for the side's module, for a kind that a user brings; None for ours, which
            come from what is installed and nowhere else.
        credentials: the read credentials that the provider asked for.
        on_node: names of those that are not sent, but stand in a file of the node where the oracle works.
    """

    side: str
    fields: Mapping[str, Any]
    policy: RetryPolicy
    baseline_s: float
    folder: Path | None = None
    credentials: Credentials = NO_CREDENTIALS
    on_node: tuple[str, ...] = ()


def build_oracle(setup: OracleSetup, fetch: Fetch, time: Timekeeper) -> OracleService:
    """An oracle, ready to serve.

    Args:
        setup: what it is built from.
        fetch: reads the in-memory records of workers.
        time: where time comes from.

    Raises:
        oracle.channels.failing.NoReading: this node does not have the read credentials that it should have.
    """
    attribute = setup.side.partition(":")[2]
    side: OracleSide = getattr(_module(setup), attribute)(**setup.fields)

    here = node_credentials(setup.on_node, node_file(os.environ)) if setup.on_node else {}
    context = ChannelContext(fetch, time, {**setup.credentials.values, **here})
    channels = partial(open_channel, context=context)
    return OracleService(side=side, channels=channels, policy=setup.policy, baseline_s=setup.baseline_s, time=time)


def open_channel(name: str, context: ChannelContext) -> Channel | None:
    """The channel of a name, opened, or None where no installed package brings one.

    Raises:
        LookupError: several packages bring one; any other exception means that it cannot be opened.
    """
    if name in OUR_CHANNELS:
        module, _, attribute = OUR_CHANNELS[name].partition(":")
        ours: Channel = getattr(importlib.import_module(module), attribute)(context)
        return ours
    found = {point.value: point for point in entry_points(group=CHANNELS_GROUP, name=name)}
    if len(found) > 1:
        raise LookupError(f"several installed packages bring it: {', '.join(sorted(found))}")
    for point in found.values():
        channel: Channel = point.load()(context)
        return channel
    return None


def code_of(setup: OracleSetup) -> dict[str, str]:
    """Package or module -> digest of what this process imports for an oracle."""
    module = _module(setup).__name__
    ours = {name: package_digest(name) for name in OUR_PACKAGES}
    return ours if module.partition(".")[0] in ours else {**ours, module: module_digest(module)}


def _module(setup: OracleSetup) -> ModuleType:
    folder = None if setup.folder is None else folder_here(setup.folder)
    with _first_on_path(folder):
        return importlib.import_module(setup.side.partition(":")[0])


@contextmanager
def _first_on_path(folder: Path | None) -> Iterator[None]:
    """Look into ``folder`` before anywhere else; afterwards the path is as it was."""
    if folder is None:
        yield
        return
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(entry)
