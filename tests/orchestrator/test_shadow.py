from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.shadow import OUR_PACKAGES, shadows


def test_nothing_stands_in_the_way_here() -> None:
    """Our own packages are no shadows of themselves."""
    assert shadows() == []
    assert shadows([str(Path(__file__).parents[2]), *sys.path]) == []


def test_packages_modules_and_bare_folders_are_seen(tmp_path: Path) -> None:
    """A package, a module and a folder with a name of ours are each named with their path."""
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms" / "__init__.py").touch()
    (tmp_path / "spec.py").touch()
    (tmp_path / "oracle").mkdir()
    (tmp_path / "other.py").touch()
    found = {shadow.name: shadow.path for shadow in shadows([str(tmp_path)])}
    assert found == {"arms": tmp_path / "arms", "spec": tmp_path / "spec.py", "oracle": tmp_path / "oracle"}
    assert set(found) < set(OUR_PACKAGES)
    assert "rename it" in str(shadows([str(tmp_path)])[0])


def test_a_folder_without_code_hides_nothing_of_ours(tmp_path: Path) -> None:
    """On the path that ours are found on, a bare folder of data named like ours is no trouble."""
    (tmp_path / "models").mkdir()
    assert shadows([str(tmp_path), *sys.path]) == []
