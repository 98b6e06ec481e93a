"""Where large things of a run go, by the digest of their content: transcripts, recordings, dumps.

Under the root, ``<first two hex digits>/<all 64 hex digits>`` holds the bytes whose SHA-256 that is, and nothing else.
So what is put twice is stored once, what is there is never written again, and a reader can tell a damaged file. The
root is ``artifacts/`` in the run directory, or what ``[artifacts] url`` names: any place that fsspec can write to, as
``file:///shared/artifacts`` or, with the package for it installed, ``s3://bucket/prefix``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from orchestrator.files import make_private_directory, write_atomically
from spec.canonical import digest_bytes
from spec.errors import InputError, JournalUnwritable

DIRECTORY: Final = "artifacts"
ARTIFACT_BYTES_MAX: Final = 256 * 1024 * 1024
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")


class Artifact(NamedTuple):
    """Something that is stored.

    Attributes:
        digest: ``sha256:`` and 64 hex digits.
        path: where it lies under the store's root.
        size_bytes: how large it is.
    """

    digest: str
    path: str
    size_bytes: int


class ArtifactStore(Protocol):
    """Keeps bytes by their digest."""

    def put(self, data: bytes) -> Artifact:
        """Store bytes, durably where the place allows it; nothing is written if they are there.

        Raises:
            InputError: they are too large.
            JournalUnwritable: they cannot be stored.
        """

    def get(self, digest: str) -> bytes:
        """The bytes of a digest.

        Raises:
            InputError: they are not there, or are not what was put.
        """


def open_store(url: str, run_dir: Path) -> ArtifactStore:
    """The store that a configuration asks for.

    Args:
        url: ``artifacts.url``; "" is the run directory.
        run_dir: the run's.

    Raises:
        InputError: nothing here can write to such a place.
    """
    return RemoteStore(url) if url else DirectoryStore(run_dir / DIRECTORY)


class DirectoryStore:
    """Artifacts in a directory of this machine, private to this user; made with the first of them."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, data: bytes) -> Artifact:
        """Store bytes; they are on the disk when this returns."""
        made = _artifact(data)
        path = self._root / made.path
        if not path.exists():
            for directory in (self._root, path.parent):
                make_private_directory(directory)
            write_atomically(path, data)
        return made

    def get(self, digest: str) -> bytes:
        """The bytes of a digest."""
        path = self._root / path_of(digest)
        try:
            return _checked(digest, path.read_bytes())
        except OSError as error:
            raise InputError(f"{path}: the artifact {digest} cannot be read: {error.strerror}") from error


class RemoteStore:
    """Artifacts at a place that fsspec can write to."""

    def __init__(self, url: str) -> None:
        import fsspec

        try:
            found: tuple[Any, str] = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise InputError(f"nothing here can write to {url!r}: {error}") from error
        self._files, self._root = found

    def put(self, data: bytes) -> Artifact:
        """Store bytes; how durable they are by then is up to the place."""
        made = _artifact(data)
        path = f"{self._root.rstrip('/')}/{made.path}"
        try:
            if not self._files.exists(path):
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._files.pipe_file(path, data)
        except Exception as error:
            raise JournalUnwritable(
                f"{path}: the artifact cannot be stored: {type(error).__name__}: {error}"
            ) from error
        return made

    def get(self, digest: str) -> bytes:
        """The bytes of a digest."""
        path = f"{self._root.rstrip('/')}/{path_of(digest)}"
        try:
            data: bytes = self._files.cat_file(path)
        except Exception as error:
            raise InputError(
                f"{path}: the artifact {digest} cannot be read: {type(error).__name__}: {error}"
            ) from error
        return _checked(digest, data)


def path_of(digest: str) -> str:
    """Where the bytes of a digest lie under a store's root.

    Raises:
        InputError: it is no digest; a path is made of nothing else.
    """
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise InputError(f"{digest!r} is no digest of an artifact")
    return f"{match[1][:2]}/{match[1]}"


def _artifact(data: bytes) -> Artifact:
    if len(data) > ARTIFACT_BYTES_MAX:
        raise InputError(f"an artifact of {len(data)} bytes is larger than {ARTIFACT_BYTES_MAX}")
    digest = digest_bytes(data)
    return Artifact(digest, path_of(digest), len(data))


def _checked(digest: str, data: bytes) -> bytes:
    if digest_bytes(data) != digest:
        raise InputError(f"the artifact {digest} is damaged: its bytes have the digest {digest_bytes(data)}")
    return data
