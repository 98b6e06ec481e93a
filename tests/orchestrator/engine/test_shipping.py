"""What is sent to a cluster is our packages and the configuration's folder, and nothing that nobody means to send."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.engine import shipping
from orchestrator.engine.shipping import pieces
from orchestrator.plugins import import_reference
from orchestrator.shadow import OUR_PACKAGES
from spec.errors import InputError
from spec.sources import SHIPPED_FOLDER, package_digest

AGENT = "agent_for_shipping:run"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A configuration's folder with code, and with things that stay at home."""
    made = tmp_path / "mine"
    for name in ("agent_for_shipping.py", "prompts/hello.txt", ".env", "__pycache__/x.pyc", "runs/r/journal.jsonl"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("def run(task, environment): ...\n" if name.endswith(".py") else "text")
    (made / "venv").mkdir()
    (made / "venv" / "pyvenv.cfg").touch()
    yield made
    sys.modules.pop("agent_for_shipping", None)


def into(tmp_path: Path) -> Path:
    target = tmp_path / "staging"
    target.mkdir()
    return target


def test_our_packages_are_sent_whole(folder: Path, tmp_path: Path) -> None:
    """Every package of ours, with its digest unchanged, and our entry points, work from the copies alone."""
    sent = pieces(folder, ["screen_only"], into(tmp_path))
    assert [piece.name for piece in sent][:-1] == list(OUR_PACKAGES)
    assert sent[-1].name.endswith(".dist-info")
    code = (
        "import importlib.metadata as m; from spec.sources import package_digest; import arms;"
        f"print(arms.__file__); print(*[package_digest(name) for name in {OUR_PACKAGES!r}]);"
        "print(*sorted(p.name for p in m.entry_points(group='orchestrator.providers')))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path / "staging")},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert answer[0].startswith(str(tmp_path / "staging"))
    assert answer[1].split() == [package_digest(name) for name in OUR_PACKAGES]
    assert "mockmed" in answer[2].split()


def test_the_folder_is_sent_where_code_comes_from_it(folder: Path, tmp_path: Path) -> None:
    """Code and its neighbours go; hidden files, caches, virtual environments and runs stay."""
    import_reference(AGENT, folder)
    sent = pieces(folder, [AGENT], into(tmp_path))[-1]
    assert sent.name == SHIPPED_FOLDER
    files = {path.relative_to(sent).as_posix() for path in sent.rglob("*") if path.is_file()}
    assert files == {"agent_for_shipping.py", "prompts/hello.txt"}


@pytest.mark.parametrize("reference", ["screen_only", "orchestrator.kinds:KINDS", "json:loads", "never_imported:run"])
def test_the_folder_stays_where_no_code_comes_from_it(folder: Path, tmp_path: Path, reference: str) -> None:
    """Names, our own modules and installed ones need no folder."""
    assert SHIPPED_FOLDER not in [piece.name for piece in pieces(folder, [reference], into(tmp_path))]


def test_the_folder_is_sent_where_its_files_are_read(folder: Path, tmp_path: Path) -> None:
    """A provider that reads files of the folder gets them on every machine, though no module comes from there."""
    assert SHIPPED_FOLDER in [piece.name for piece in pieces(folder, ["declared"], into(tmp_path), files=True)]


def test_a_folder_that_is_too_large_is_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do, before anything is sent."""
    import_reference(AGENT, folder)
    for number in range(400):
        (folder / f"{number}.txt").touch()
    monkeypatch.setattr(shipping, "FOLDER_FILES_MAX", 300)
    with pytest.raises(InputError, match="a folder of their own"):
        pieces(folder, [AGENT], into(tmp_path))
