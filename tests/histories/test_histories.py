"""Old run directories stay readable: what is made of them today is what was made of them then."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from orchestrator.__main__ import main

HISTORIES: Final = sorted(path.parent for path in Path(__file__).parent.glob("format-*/journal.jsonl"))


@pytest.fixture
def run_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an old run directory, since a report is written into it."""
    return Path(shutil.copytree(request.param, tmp_path / "run"))


def test_there_is_one_of_each_format() -> None:
    """Format 1 is kept."""
    assert [path.name for path in HISTORIES] == ["format-1"]


@pytest.mark.parametrize("run_dir", HISTORIES, indirect=True, ids=lambda path: str(path.name))
def test_an_old_run_gives_the_summary_that_it_gave(run_dir: Path) -> None:
    """`report` makes the kept summary again, byte for byte, and `verify` finds nothing wrong."""
    expected = (run_dir / "expected-summary.json").read_bytes()
    assert main(["report", str(run_dir)]) == 0
    assert (run_dir / "summary.json").read_bytes() == expected
    assert main(["verify", str(run_dir)]) == 0


@pytest.mark.parametrize("run_dir", HISTORIES, indirect=True, ids=lambda path: str(path.name))
def test_an_old_run_owes_nothing(run_dir: Path) -> None:
    """`status` reads its journal and says that it is complete."""
    assert main(["status", str(run_dir), "--json"]) == 0
