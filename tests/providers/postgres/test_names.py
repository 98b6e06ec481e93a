from __future__ import annotations

import pytest

from providers.postgres.names import RunTag, new_tag, tag_of


def test_a_name_tells_its_run() -> None:
    """From the name of a database its run can be told again, with the time at which it began."""
    run = new_tag("2026-12-01T03:04:05.678901Z", bytes)
    assert run.name("007") == "to_0000000000_20261201t030405_007"
    assert tag_of(run.name("template")) == run
    assert new_tag("2026-12-01T03:04:05Z") != new_tag("2026-12-01T03:04:05Z")


@pytest.mark.parametrize("name", ["postgres", "to_do", "to_0000000000_20261201t030405_", "to_xyz_20261201t030405_1"])
def test_no_other_name_is_taken_for_one_of_ours(name: str) -> None:
    """A database of another origin has no tag, however much its name looks like one."""
    assert tag_of(name) is None


def test_each_run_has_a_lock_of_its_own() -> None:
    """The lock's number depends on the tag alone and is one that a server takes."""
    assert RunTag("0" * 10, "x").lock == RunTag("0" * 10, "y").lock != RunTag("1" * 10, "x").lock
    assert -(2**63) <= RunTag("0" * 10, "x").lock < 2**63
