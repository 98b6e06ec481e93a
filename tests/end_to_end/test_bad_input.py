"""What cannot work is found before the first trial, and an arm that goes wrong costs its own trials only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.config import load_config
from orchestrator.history import JOURNAL_NAME
from orchestrator.runlock import RunLock
from orchestrator.session import run
from spec.errors import InputError, JournalUnwritable, OrchestratorError, RunLocked

TRIALS: Final = 12

WRONG_ARMS: Final = {
    "nothing": "malformed",
    "strange": "malformed",
    "long_winded": "malformed",
    "raises": "raised",
    "exits": "exited",
    "wicked": "exited",
    "cancels": "raised",
    "hangs": "timeout",
    "shielded": "timeout",
    "refuses": "refusal",
    "fumbles": "raised",
    "blocks": "raised",
}
"""Arm -> its fault."""

QUICK: Final = [f"arms.{name}.deadline_s=0.5" for name in ("hangs", "shielded")]
"""Short deadlines for the two that use them up."""

Start = Callable[..., None]


@pytest.fixture
def start() -> Start:
    """Starts a run of the ticket desk in a directory, which is expected to be refused."""

    def begin(run_dir: Path | None, sets: Sequence[str] = ()) -> None:
        folder = Path(__file__).parent / "thirdparty"
        run(load_config(folder / "desk.toml", environ={}, sets=sets), run_dir=run_dir)

    return begin


def refusal(kind: type[OrchestratorError], begin: Callable[[], None]) -> OrchestratorError:
    with pytest.raises(kind) as caught:
        begin()
    return caught.value


@pytest.mark.parametrize("named", [True, False], ids=["--run-dir", "run.dir"])
def test_a_directory_that_cannot_be_made_is_told_at_once(start: Start, tmp_path: Path, named: bool) -> None:
    """A run directory below a file ends with exit code 4, names the path, and leaves the file as it was."""
    file = tmp_path / "file"
    file.write_text("a file")
    begin = (lambda: start(file / "run")) if named else (lambda: start(None, [f'run.dir="{file}"']))
    error = refusal(JournalUnwritable, begin)
    assert error.exit_code == 4
    assert str(file) in str(error)
    assert file.read_text() == "a file"


def test_a_directory_that_takes_no_files_is_told_at_once(start: Start) -> None:
    """A directory that is there and refuses every file, to root as well, ends with exit code 4."""
    directory = Path("/proc/self/task")
    error = refusal(JournalUnwritable, lambda: start(directory / "run"))
    assert error.exit_code == 4
    assert str(directory) in str(error)


def test_too_little_disk_is_told_before_the_first_trial(start: Start, tmp_path: Path) -> None:
    """Less free space than asked for ends with exit code 4 and both figures, and no journal was begun."""
    asked = 2**60
    error = refusal(JournalUnwritable, lambda: start(tmp_path / "run", [f"limits.disk_free_min_bytes={asked}"]))
    assert error.exit_code == 4
    assert str(asked) in str(error)
    assert not (tmp_path / "run" / JOURNAL_NAME).exists()


def test_the_same_directory_is_taken_once_there_is_room(
    start: Start, run_it: Callable[..., Any], tmp_path: Path
) -> None:
    """A start that was refused for want of space leaves nothing that stands in the way of the next one."""
    refusal(JournalUnwritable, lambda: start(tmp_path / "run-0", [f"limits.disk_free_min_bytes={2**60}"]))
    loaded = load_config(Path(__file__).parent / "thirdparty" / "desk.toml", environ={})
    assert run(loaded, run_dir=tmp_path / "run-0").exit_code == 0


def test_a_locked_directory_is_left_alone(start: Start, tmp_path: Path) -> None:
    """A directory whose lock is held ends with exit code 5, even where a journal stands in it."""
    with RunLock.acquire(tmp_path / "run", create=True):
        (tmp_path / "run" / JOURNAL_NAME).touch()
        assert refusal(RunLocked, lambda: start(tmp_path / "run")).exit_code == 5


def test_a_run_is_not_started_twice(start: Start, run_it: Callable[..., Any]) -> None:
    """A directory with a journal ends with exit code 2 and the word ``resume``, and the journal is untouched."""
    journal = run_it("desk.toml").ended.run_dir / JOURNAL_NAME
    before = journal.read_bytes()
    error = refusal(InputError, lambda: start(journal.parent))
    assert error.exit_code == 2
    assert "resume" in str(error)
    assert journal.read_bytes() == before


def test_somebody_elses_directory_is_left_alone(start: Start, tmp_path: Path) -> None:
    """A directory with any other file ends with exit code 2, names the file, and gets no file of ours."""
    (tmp_path / "thesis.txt").write_text("mine")
    error = refusal(InputError, lambda: start(tmp_path))
    assert error.exit_code == 2
    assert "thesis.txt" in str(error)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_directory_that_is_a_file_is_refused(start: Start, tmp_path: Path) -> None:
    """A file in the place of a run directory ends with exit code 2."""
    (tmp_path / "run").touch()
    assert refusal(InputError, lambda: start(tmp_path / "run")).exit_code == 2


@pytest.fixture
def gone_wrong(tmp_path: Path) -> Path:
    """A folder with a configuration of every wrong arm, and a good one beside them."""
    here = Path(__file__).parent / "thirdparty"
    for name in ("desk.py", "arms_gone_wrong.py"):
        (tmp_path / name).symlink_to(here / name)
    text = (here / "desk.toml").read_text()
    for name in WRONG_ARMS:
        text += f'\n[[arms]]\nname = "{name}"\nuse = "arms_gone_wrong:{name}"\ndeadline_s = 5\n'
    (tmp_path / "wrong.toml").write_text(text)
    return tmp_path


def test_an_arm_that_goes_wrong_is_scored_with_its_fault(run_it: Callable[..., Any], gone_wrong: Path) -> None:
    """Each broken rule is the arm's own fault: its trials are scored as not reported, and the run goes on."""
    finished = run_it("wrong.toml", QUICK, folder=gone_wrong)
    assert finished.ended.exit_code == 0
    assert finished.ended.summary["conservation"]["scored"] == TRIALS * (2 + len(WRONG_ARMS))
    faults: dict[str, set[str | None]] = {}
    for row in finished.rows():
        faults.setdefault(row["arm"], set()).add(row["env_fingerprint"]["arm_fault"])
        if row["arm"] in WRONG_ARMS:
            assert (row["agent"]["reported_success"], row["agent"]["halted"]) == (False, True)
    assert faults == {
        **{arm: {fault} for arm, fault in WRONG_ARMS.items()},
        "screen_only": {None},
        "always_halt": {None},
    }
    assert finished.verify().ok


def test_what_an_arm_did_before_it_went_wrong_is_read(run_it: Callable[..., Any], gone_wrong: Path) -> None:
    """An arm that acted and then failed has acted: its ticket is closed, whatever it did not say."""
    finished = run_it("wrong.toml", [*QUICK, "run.trials=1"], folder=gone_wrong)
    states = {row["arm"]: row["oracle"]["effect_correct"] for row in finished.rows() if row["task_id"] == "desk::close"}
    assert (states["raises"], states["blocks"], states["exits"]) == (True, True, False)


def test_everything_wrong_with_a_report_is_told(run_it: Callable[..., Any], gone_wrong: Path) -> None:
    """A malformed report's problems stand in the row, all of them."""
    finished = run_it("wrong.toml", [*QUICK, "run.trials=1"], folder=gone_wrong)
    message = next(row["agent"]["message"] for row in finished.rows() if row["arm"] == "strange")
    assert [name for name in ("reported_success", "halted", "mood", "message") if name not in message] == []
