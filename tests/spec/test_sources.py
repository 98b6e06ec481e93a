"""What a process imports is told by digests, and a shipped folder is found in place of the driver's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spec.canonical import digest_bytes
from spec.sources import SHIPPED_FOLDER, UNKNOWN, folder_here, module_digest, package_digest


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that can be imported."""
    made = tmp_path / "packed_for_sources"
    (made / "inner").mkdir(parents=True)
    (made / "__init__.py").write_text("A = 1\n")
    (made / "inner" / "data.json").write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path))
    package_digest.cache_clear()
    return made


def digest() -> str:
    package_digest.cache_clear()
    return package_digest("packed_for_sources")


def test_a_package_has_a_digest_of_names_and_contents(package: Path) -> None:
    """A changed byte, a moved file and a file more each change it; a compiled file does not."""
    seen = [digest()]
    (package / "__init__.py").write_text("A = 2\n")
    seen.append(digest())
    (package / "inner" / "data.json").rename(package / "data.json")
    seen.append(digest())
    (package / "more.py").touch()
    seen.append(digest())
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "more.cpython-311.pyc").write_bytes(b"x")
    assert len(set(seen)) == 4
    assert digest() == seen[-1]
    assert seen[0].startswith("sha256:")


def test_what_has_no_file_is_unknown() -> None:
    """No package, no module, and a module without a file are "unknown", never an error."""
    assert package_digest("no_such_package_at_all") == UNKNOWN
    assert module_digest("no_such_module_at_all") == UNKNOWN
    assert module_digest("sys") == UNKNOWN


def test_a_module_has_the_digest_of_its_file() -> None:
    """The digest of an imported module is that of its source."""
    assert module_digest("spec.sources") == digest_bytes(Path(str(sys.modules["spec.sources"].__file__)).read_bytes())


def test_a_shipped_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder was shipped to, that copy counts; elsewhere it is where the driver has it."""
    own = Path("/somewhere/else")
    assert folder_here(own) == own
    (tmp_path / SHIPPED_FOLDER).mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert folder_here(own) == tmp_path / SHIPPED_FOLDER
