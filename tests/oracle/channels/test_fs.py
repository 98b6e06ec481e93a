"""Channel ``fs``: everything in a tree is a row, nothing outside of it is looked at, and it stands still."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest

from oracle.base import ChannelContext, ReadFailed
from oracle.channels import fs as module
from oracle.channels.fs import FsChannel
from oracle.effect import judge
from spec.canonical import Json
from spec.clock import SystemClock
from spec.contract import Effect, EffectKind
from spec.reading import ReadPath, RecordSchema, Tables, TrueState


async def _fetch(worker: str, places: Sequence[int]) -> bytes:
    return b"{}"


def answer(**where: Json) -> Tables | ReadFailed:
    async def main() -> Sequence[Tables | ReadFailed]:
        channel = FsChannel(ChannelContext(_fetch, SystemClock(), {}))
        return await channel.read([ReadPath("fs", True, where)])

    return anyio.run(main)[0]


def tree_at(root: Path) -> dict[Json, Any]:
    found = answer(root=str(root))
    assert not isinstance(found, ReadFailed), found.reason
    return {row["path"]: row for row in found["files"]}


def reason(**where: Json) -> str:
    found = answer(**where)
    assert isinstance(found, ReadFailed), found
    return found.reason


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small tree beside a secret."""
    (tmp_path / "secret").write_text("do not read")
    place = tmp_path / "tree"
    (place / "a" / "deep").mkdir(parents=True)
    (place / "a" / "note.txt").write_text("hello")
    (place / "a" / "note.txt").chmod(0o640)
    (place / "blob").write_bytes(b"\x00\xff")
    (place / "out").symlink_to(tmp_path / "secret")
    (place / "up").symlink_to("..")
    return place


def test_everything_in_a_tree_is_a_row(root: Path) -> None:
    """Files with digest, directories, symlinks by their target only; nothing of what they lead to."""
    found = tree_at(root)
    assert list(found) == ["a", "a/deep", "a/note.txt", "blob", "out", "up"]
    assert found["a/note.txt"] == {
        "path": "a/note.txt",
        "type": "file",
        "mode": "0640",
        "size": 5,
        "sha256": sha256(b"hello").hexdigest(),
        "text": "hello",
    }
    assert found["blob"]["size"] == 2
    assert "text" not in found["blob"]
    assert found["a/deep"]["type"] == "directory"
    assert (found["out"]["type"], found["out"]["target"]) == ("symlink", str(root.parent / "secret"))
    assert found["up"]["target"] == ".."


def test_text_has_a_bound_and_digests_have_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger file is known by its digest alone, however many blocks it has."""
    monkeypatch.setattr(module, "TEXT_BYTES_MAX", 10)
    monkeypatch.setattr(module, "BLOCK_BYTES", 7)
    (root / "ten").write_text("x" * 10)
    (root / "eleven").write_text("é" + "x" * 98)
    found = tree_at(root)
    assert found["ten"]["text"] == "x" * 10
    assert "text" not in found["eleven"]
    assert (found["eleven"]["size"], found["eleven"]["sha256"]) == (100, sha256(("é" + "x" * 98).encode()).hexdigest())


def test_what_is_no_file_is_never_opened(root: Path) -> None:
    """A pipe, which would hold the oracle up, and a socket are rows."""
    os.mkfifo(root / "pipe", 0o600)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(root / "sock"))
        found = tree_at(root)
    assert [found[name]["type"] for name in ("pipe", "sock")] == ["other", "other"]
    assert found["pipe"]["mode"] == "0600"


def test_a_name_in_any_bytes_is_a_row(root: Path) -> None:
    """No name that an agent can give makes a tree unreadable."""
    (root / "né\n").write_text("x")
    Path(os.fsdecode(os.fsencode(root) + b"/bad\xff")).write_text("y")
    found = tree_at(root)
    assert found["né\n"]["text"] == "x"
    assert found["bad\\xff"]["text"] == "y"


@pytest.mark.parametrize("change", ["mode", "text", "link", "directory", "gone"])
def test_every_change_is_seen_by_the_judge(root: Path, change: str) -> None:
    """With the path as the key, any change anywhere in the tree is a wrong effect."""
    before = answer(root=str(root))
    assert not isinstance(before, ReadFailed)
    match change:
        case "mode":
            (root / "blob").chmod(0o600)
        case "text":
            (root / "a" / "note.txt").write_text("hullo")
        case "link":
            (root / "up").unlink()
            (root / "up").symlink_to("a")
        case "directory":
            (root / "new").mkdir()
        case _:
            (root / "blob").unlink()
    after = answer(root=str(root))
    assert not isinstance(after, ReadFailed)
    schema = RecordSchema("files", keys={"files": ("path",)})
    effect = Effect(EffectKind.RECORD_WRITTEN, {"path": "wanted"}, expected_count=0)
    assert judge([effect], schema, before, before).state is TrueState.CORRECT
    assert judge([effect], schema, before, after).state is TrueState.WRONG_PERSISTED


def test_a_tree_that_changes_while_it_is_read_is_no_reading(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes behind the walker's back, added, rewritten or taken away, is found by the second look."""
    whole = module._Tree._look_again
    changes: list[Any] = [
        lambda: (root / "a" / "late").write_text("x"),
        lambda: (root / "a" / "note.txt").write_text("HELLO"),
        lambda: (root / "blob").unlink(),
    ]
    for change in changes:
        monkeypatch.setattr(
            module._Tree, "_look_again", lambda tree, root, change=change: (change(), whole(tree, root))
        )
        assert "changed while the tree was read" in reason(root=str(root))


@pytest.mark.parametrize(
    ("bound", "value", "why"),
    [
        ("ENTRIES_MAX", 3, "more than 3 entries"),
        ("DEPTH_MAX", 1, "deeper than 1 directories"),
        ("BYTES_MAX", 5, "more than 5 bytes"),
    ],
)
def test_a_tree_has_bounds(root: Path, bound: str, value: int, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many entries, too deep and too large are reasons."""
    monkeypatch.setattr(module, bound, value)
    assert why in reason(root=str(root))


def test_a_root_that_is_not_there_is_no_empty_tree(root: Path) -> None:
    """Unless the read path says so; a symlink or a file in its place is none in any case."""
    gone = str(root / "gone")
    assert reason(root=gone) == f"there is no {gone}"
    assert answer(root=gone, missing="empty", table="t") == {"t": []}
    assert str(root / "out") in reason(root=str(root / "out"), missing="empty")
    assert str(root / "blob") in reason(root=str(root / "blob"))


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"root": "relative"}, "no absolute path"),
        ({}, "no absolute path"),
        ({"root": "/x", "table": ""}, "is no name"),
        ({"root": "/x", "missing": True}, "can only be"),
        ({"root": "/x", "follow": True}, "has no 'follow'"),
    ],
)
def test_a_path_of_a_wrong_shape_is_a_reason(where: dict[str, Json], why: str) -> None:
    """A read path is refused where it says something that nobody would look at."""
    assert why in reason(**where)


def test_no_file_stays_open(root: Path) -> None:
    """Neither after a reading nor after one that broke off deep within the tree."""
    (root / "a" / "deep" / "file").write_text("x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    tree_at(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ENTRIES_MAX", 3)
        assert "entries" in reason(root=str(root))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
