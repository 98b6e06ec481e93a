"""Large things are kept by the digest of their content, in the run directory or where a URL says."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import artifacts
from orchestrator.artifacts import ArtifactStore, open_store, path_of
from spec.errors import InputError, JournalUnwritable


@pytest.fixture(params=["", "file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    """A store of each kind."""
    kind = request.param
    url = {"": "", "file": f"file://{tmp_path}/shared", "memory": f"memory:/{tmp_path}"}[kind]
    return open_store(url, tmp_path / "run")


@pytest.mark.parametrize("data", [b"", b"a transcript\n", bytes(range(256)) * 4096])
def test_what_was_put_can_be_had(store: ArtifactStore, data: bytes) -> None:
    """Bytes come back as they were, under the digest of their content."""
    made = store.put(data)
    assert made.digest == f"sha256:{sha256(data).hexdigest()}"
    assert made.size_bytes == len(data)
    assert store.get(made.digest) == data


def test_what_is_put_twice_is_stored_once(tmp_path: Path) -> None:
    """The second time nothing is written."""
    store = open_store("", tmp_path)
    made = store.put(b"x")
    path = tmp_path / "artifacts" / made.path
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert store.put(b"x") == made
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_the_run_directory_stays_private(tmp_path: Path) -> None:
    """Directories are 0700 and files 0600, and nothing is made before there is something to keep."""
    store = open_store("", tmp_path)
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "artifacts" / store.put(b"x").path
    assert [one.stat().st_mode & 0o777 for one in (tmp_path / "artifacts", path.parent, path)] == [0o700, 0o700, 0o600]


def test_two_ways_to_a_directory_are_one_store(tmp_path: Path) -> None:
    """What a node writes by URL is found in the directory, under the same path."""
    made = open_store(f"file://{tmp_path}/artifacts", Path("/not/there")).put(b"from a node")
    assert open_store("", tmp_path).get(made.digest) == b"from a node"


def test_damage_is_told(tmp_path: Path) -> None:
    """Bytes that are not what was put are no artifact."""
    store = open_store("", tmp_path)
    made = store.put(b"right")
    (tmp_path / "artifacts" / made.path).write_bytes(b"wrong")
    with pytest.raises(InputError, match="is damaged"):
        store.get(made.digest)


def test_what_is_not_there_is_told(store: ArtifactStore) -> None:
    """A digest that nobody put is an error that names it."""
    digest = "sha256:" + "0" * 64
    with pytest.raises(InputError, match=digest):
        store.get(digest)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The error names the path and ends the program as any other full or closed disk does."""
    (tmp_path / "artifacts").write_text("a file is in the way")
    for store in (open_store("", tmp_path), open_store(f"file://{tmp_path}/artifacts", tmp_path)):
        with pytest.raises(JournalUnwritable, match="artifacts"):
            store.put(b"x")


def test_an_unknown_place_is_refused() -> None:
    """A protocol that nobody here speaks is told with the URL."""
    with pytest.raises(InputError, match=r"nothing here can write to 'nowhere://x'"):
        open_store("nowhere://x", Path())


def test_what_is_too_large_is_refused(store: ArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Artifacts have a bound."""
    monkeypatch.setattr(artifacts, "ARTIFACT_BYTES_MAX", 4)
    store.put(b"1234")
    with pytest.raises(InputError, match="larger than 4"):
        store.put(b"12345")


@given(st.text())
def test_nothing_but_a_digest_makes_a_path(text: str) -> None:
    """No text leads out of the store."""
    with pytest.raises(InputError):
        path_of(text)
