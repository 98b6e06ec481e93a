"""Compares what a worker or an oracle imports with what the driver imports, whose code the plan's digests cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spec.errors import InputError

NAMED_MAX: Final = 5
NOTHING: Final = "nothing"


def check_imports(peer: str, host: str, here: Mapping[str, str], there: Mapping[str, str]) -> None:
    """Refuse a peer that imports other code than this process.

    Args:
        peer: the peer's name.
        host: the address of its node.
        here: package or module -> digest in this process.
        there: the same in the peer's.

    Raises:
        InputError: with node, modules and both digests of each.
    """
    names = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    if not names:
        return
    told = [f"{name} is {there.get(name, NOTHING)} there and {here.get(name, NOTHING)} here" for name in names]
    more = f", and {len(told) - NAMED_MAX} more" if len(told) > NAMED_MAX else ""
    raise InputError(
        f"node {host}: {peer} imports other code than this process: {'; '.join(told[:NAMED_MAX])}{more}. "
        "Install the same packages on every node"
    )
