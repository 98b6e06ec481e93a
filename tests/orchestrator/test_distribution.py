"""What is installed is known by its version; what is not is unknown."""

from __future__ import annotations

from orchestrator.distribution import DISTRIBUTION, version_of


def test_a_version_is_known_or_none() -> None:
    """We are installed ourselves; a package that is not has no version."""
    assert version_of(DISTRIBUTION)
    assert version_of("no-such-package-of-ours") is None
