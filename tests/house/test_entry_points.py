"""The names by which our own arms, providers and channels are found lead to something."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

from oracle.hosting import OUR_CHANNELS

Project = Mapping[str, Any]


def test_every_entry_point_leads_somewhere(project: Project) -> None:
    """Each script and each entry point of pyproject.toml names a callable that is there."""
    groups = {"console_scripts": project["project"]["scripts"], **project["project"]["entry-points"]}
    points = [EntryPoint(name, value, group) for group, entries in groups.items() for name, value in entries.items()]
    assert len(points) > 1
    assert [point.value for point in points if not callable(point.load())] == []


def test_third_parties_plug_in_where_we_do(project: Project) -> None:
    """Our own arms, providers and channels are found by the same three groups that are open to others."""
    assert set(project["project"]["entry-points"]) == {
        f"orchestrator.{part}" for part in ("arms", "providers", "channels")
    }


def test_the_oracle_opens_what_the_entry_points_name(project: Project) -> None:
    """Our channels are listed by entry points and opened by the oracle's own table; the two say the same."""
    assert project["project"]["entry-points"]["orchestrator.channels"] == OUR_CHANNELS
