"""What a worker starts for its fixtures is given back, whatever of it cannot be had."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from providers.records import leases, process
from providers.records.desks import WorkerDesk
from providers.records.leases import Base, make_base
from providers.records.sqlite import SqliteStorage
from spec.errors import ConfigError, ProviderFault


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where directories are made."""
    monkeypatch.setattr(leases, "MEMORY", tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def left(root: Path) -> list[str]:
    return [path.name for path in root.iterdir()]


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_storage_that_cannot_be_made_takes_the_service_with_it(root: Path) -> None:
    """Each attempt that fails leaves neither a service nor its directory, and is told as it was."""

    def refuse(base: Base) -> SqliteStorage:
        raise ConfigError("no such server")

    async def main() -> None:
        desk = WorkerDesk(refuse)
        for _ in range(2):
            with pytest.raises(ConfigError, match="no such server"):
                await desk.open()
            assert desk.service is None
            assert left(root) == []

    anyio.run(main)


def test_a_storage_that_cannot_be_closed_takes_the_service_with_it(root: Path) -> None:
    """The service ends and its directory goes though something else raises while it is closed."""

    class Stubborn(SqliteStorage):
        async def close(self) -> None:
            raise ProviderFault("will not close")

    async def main() -> None:
        desk = WorkerDesk(lambda base: Stubborn(base.records))
        _, service = await desk.open()
        with pytest.raises(ProviderFault, match="will not close"):
            await desk.close()
        assert service.ended
        assert left(root) == []

    anyio.run(main)


def test_a_program_that_cannot_be_started_leaves_no_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be made, the provider fails in words, and nothing stays."""
    monkeypatch.setattr("sys.executable", str(root / "missing"))

    async def main() -> None:
        with pytest.raises(ProviderFault, match=r"could not be started.*No such file"):
            await process.start_service()

    anyio.run(main)
    assert left(root) == []


def test_a_directory_that_cannot_be_furnished_is_removed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk while the directory is made is the provider's fault, and leaves no descriptor and no file."""

    def full(self: Base) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Base, "furnish", full)
    before = descriptors()
    with pytest.raises(ProviderFault, match="No space left on device"):
        make_base()
    assert left(root) == []
    assert descriptors() == before


def test_a_small_memory_file_system_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The 64 MiB of a container are left alone: records then lie among the temporary files."""
    small = root / "small"
    small.mkdir()
    monkeypatch.setattr(leases, "MEMORY", small)
    monkeypatch.setattr(leases, "MEMORY_FREE_BYTES_MIN", 2**62)
    base, lock = make_base()
    assert base.directory.parent == root
    base.remove()
    os.close(lock)
