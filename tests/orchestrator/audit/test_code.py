"""The digest of code changes with every file that takes part, and with no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.audit import code
from orchestrator.audit.code import code_digest, neighbours


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a provider that leans on a module beside it, which leans on ours."""
    (tmp_path / "own_desk.py").write_text("import own_rows\nimport json\n")
    (tmp_path / "own_rows.py").write_text("def rows():\n    from spec import canonical\n    return canonical\n")
    (tmp_path / "own_notes.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def digest(project: Path) -> str:
    code._read.cache_clear()
    return code_digest(["own_desk"], neighbours("own_desk"))


def test_it_covers_what_is_imported(project: Path) -> None:
    """A change of the module beside the provider changes the digest, one of a module that nobody imports does not."""
    before = digest(project)
    (project / "own_notes.py").write_text("NOTE = 1\n")
    assert digest(project) == before
    (project / "own_rows.py").write_text("def rows():\n    return []\n")
    assert digest(project) != before


@pytest.mark.parametrize("line", ["from . import rows", "from .rows import count", "from ..desk.rows import count"])
def test_it_follows_relative_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """A provider's package may name its own modules by dots; a change of one of them changes the digest too."""
    inside = tmp_path / "own_package" / "desk"
    inside.mkdir(parents=True)
    for folder in (inside.parent, inside):
        (folder / "__init__.py").write_text("")
    (inside / "provider.py").write_text(f"{line}\n")
    (inside / "rows.py").write_text("count = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    name = "own_package.desk.provider"
    before = code_digest([name], neighbours(name))
    code._read.cache_clear()
    (inside / "rows.py").write_text("count = 2\n")
    assert code_digest([name], neighbours(name)) != before


def test_it_follows_into_our_packages() -> None:
    """What a module of ours imports is covered already, and what it does not import is not."""
    found = code_digest(["oracle.effect"])
    assert found != code_digest(["oracle.effect", "oracle.retry"])
    assert found == code_digest(["oracle.effect", "oracle.effect.judge", "spec.values"])


def test_what_is_not_there_is_left_out() -> None:
    """A module without a file adds nothing and breaks nothing."""
    assert code_digest(["no.such.module", "sys"]) == code_digest([])
