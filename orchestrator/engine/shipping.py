"""Ships the code of a run to the machines of a cluster: our packages, and the configuration's folder where it has code.

Everything is copied into a directory of its own first, so that what is shipped is what is meant: no caches, no hidden
files (they hold keys and histories), no virtual environments, no runs. Ray names each piece by the digest of its
content, so what a node has already is not sent again. Other packages, such as plug-ins that bring entry points, have to
be installed on the nodes; the import check says where they are not.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from orchestrator.distribution import DISTRIBUTION
from orchestrator.history import JOURNAL_NAME
from orchestrator.shadow import OUR_PACKAGES
from spec.errors import InputError
from spec.sources import SHIPPED_FOLDER

FOLDER_BYTES_MAX: Final = 32 * 1024 * 1024
FOLDER_FILES_MAX: Final = 5_000


def pieces(folder: Path, references: Iterable[str], into: Path, *, files: bool = False) -> list[Path]:
    """Directories to ship; the parent of each has to be on ``sys.path`` at the other end.

    Args:
        folder: the configuration's.
        references: every ``"module:attribute"`` and name that it uses; those modules are imported by now.
        into: an empty directory, which takes the copies.
        files: whether something reads files of the folder, so that it is shipped without a module in it, too.

    Raises:
        InputError: the folder is too large to be shipped.
    """
    found = [_copy(_home(name), into / name) for name in OUR_PACKAGES]
    metadata = _metadata(into)
    if metadata is not None:
        found.append(metadata)
    if files or any(_is_from(folder, reference) for reference in references):
        found.append(_copy(folder, into / SHIPPED_FOLDER))
    return found


def _home(package: str) -> Path:
    return Path(importlib.import_module(package).__path__[0])


def _is_from(folder: Path, reference: str) -> bool:
    """Whether a reference leads to a module of the folder that is none of ours."""
    module = reference.partition(":")[0]
    path = getattr(sys.modules.get(module), "__file__", None)
    ours = module.partition(".")[0] in OUR_PACKAGES
    return ":" in reference and not ours and path is not None and Path(path).resolve().is_relative_to(folder.resolve())


def _copy(source: Path, target: Path) -> Path:
    """Copy a directory's plain files, those left out that nobody means to ship."""
    size_bytes = 0
    for count, path in enumerate(_files(source), start=1):
        size_bytes += path.stat().st_size
        if size_bytes > FOLDER_BYTES_MAX or count > FOLDER_FILES_MAX:
            raise InputError(
                f"{source}: cannot be shipped to the cluster: it holds more than {FOLDER_FILES_MAX} files or "
                f"{FOLDER_BYTES_MAX >> 20} MiB; put the configuration and its code into a folder of their own"
            )
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return target


def _files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        if path.is_dir() and not path.is_symlink():
            if not any((path / mark).exists() for mark in ("pyvenv.cfg", JOURNAL_NAME)):
                yield from _files(path)
        elif path.is_file():
            yield path


def _metadata(into: Path) -> Path | None:
    """Our name, version and entry points, by which arms, providers and channels are found; None if not installed."""
    try:
        ours = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None
    target = into / f"{DISTRIBUTION.replace('-', '_')}-{ours.version}.dist-info"
    target.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (target / name).write_text(ours.read_text(name) or "", encoding="utf-8")
    return target
