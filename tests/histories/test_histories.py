"""Old run directories stay readable: what is made of them today is what was made of them then."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from pathlib import Path
from typing import Final

import orjson
import pytest

from orchestrator.__main__ import main

JOURNALS: Final = {
    "format-1": "6d9fea85f530edb2a795e9e97e10dc547bda7e51370ec9117a82fef2a75b789b",
    "format-1-sessions": "e02e8ac17d610dfbc86aff0005abf3e0b86d88700189ec2c28e572b4f9d2b9cb",
}
"""The SHA-256 of each journal: what was written is never written anew."""

HISTORIES: Final = sorted(path.parent for path in Path(__file__).parent.glob("format-*/journal.jsonl"))


@pytest.fixture
def run_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an old run directory, since a report is written into it."""
    return Path(shutil.copytree(request.param, tmp_path / "run"))


def test_there_is_one_of_each_format() -> None:
    """Format 1 is kept, with a run of one session and with one of several, and no byte of them has changed."""
    found = {path.name: hashlib.sha256((path / "journal.jsonl").read_bytes()).hexdigest() for path in HISTORIES}
    assert found == JOURNALS


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


@pytest.mark.parametrize("run_dir", [path for path in HISTORIES if path.name == "format-1-sessions"], indirect=True)
def test_every_session_is_read(run_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Retries, a refused answer, a plan that grew, changed and shrank: each left lines, and the last plan counts."""
    lines = [orjson.loads(line) for line in (run_dir / "journal.jsonl").read_bytes().splitlines()]
    types = Counter(line["type"] for line in lines)
    assert (types["resume"], types["refused"], types["infrastructure"]) == (4, 2, 8)
    assert Counter(line["why"] for line in lines if line["type"] == "reopened") == {"retry": 8, "changed": 27}
    main(["status", str(run_dir), "--json"])
    told = orjson.loads(capfd.readouterr().out)
    assert (told["sessions"], told["conservation"]["planned"], told["conservation"]["scored"]) == (5, 16, 16)
    main(["trial", str(run_dir), "effect_verified::mockmed::partial::t0", "--json"])
    told = orjson.loads(capfd.readouterr().out)
    assert told["row"]["env_fingerprint"]["attempt"] == 4


@pytest.mark.parametrize("run_dir", HISTORIES, indirect=True, ids=lambda path: str(path.name))
def test_what_a_resume_would_do_can_be_told(run_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The code of today is not that of then, or it is; either way each trial is kept or owed, and nothing is lost."""
    assert main(["plan", "--resume", str(run_dir), "--json"]) == 0
    told = orjson.loads(capfd.readouterr().out)
    assert told["kept"] + told["owed"] == told["trials"]
    assert told["needs_accept_changes"] or told["invalidated"] == 0
