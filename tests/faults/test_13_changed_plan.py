"""Row 13: a run is resumed though its plan is no longer the one that it began with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.checker import Violation, check
from tests.faults.card import CardOfTest
from tests.faults.harness import ROOT, THIRDPARTY
from tests.faults.nursery import Ended, Nursery, Stop

ROW: Final = (13, "resume under a changed plan: seed, tasks, arms, provider, trials")
REFUSED: Final = 2
KILLED_AT: Final = 25
"""An operation on a file in the middle of the run."""

CONFIG: Final = """\
format = 1
[run]
name = "changing"
trials = 4
[engine]
kind = "inline"
in_flight = 1
lease_max = 1
[limits]
group_commit_ms = 1
[provider]
use = "desk:TicketDesk"
pack = "desk"
[[arms]]
name = "slow"
use = "slow:Slow"
options = { work_s = 0.0 }
[[arms]]
name = "always_halt"
use = "always_halt"
"""

Edit = Callable[[Path], tuple[str, ...]]


def furnish(folder: Path) -> Path:
    """Put a configuration with a provider and an arm of its own into a folder, so that each can be changed."""
    shutil.copy(ROOT / "tests" / "end_to_end" / "thirdparty" / "desk.py", folder)
    shutil.copy(THIRDPARTY / "slow.py", folder)
    (folder / "changing.toml").write_text(CONFIG)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A furnished folder of the test's own."""
    return furnish(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing befalls."""
    run = Run(nursery, furnish(tmp_path_factory.mktemp("undisturbed")), "run")
    assert run.begin().code == 0
    return run.run_dir


class Run:
    """A forked run in the folder."""

    def __init__(self, nursery: Nursery, folder: Path, name: str) -> None:
        self.nursery, self.folder, self.run_dir = nursery, folder, folder / name

    @property
    def journal(self) -> bytes:
        return (self.run_dir / "journal.jsonl").read_bytes()

    def begin(self, *words: str, stop: Stop | None = None) -> Ended:
        start = ("run", "--config", self.folder / "changing.toml", "--run-dir", self.run_dir, "--json", "--quiet")
        return self.nursery.run(*start, *words, stop=stop)

    def resume(self, *words: str) -> Ended:
        return self.nursery.run("resume", self.run_dir, "--json", "--quiet", *words)

    def message(self) -> str:
        return str(json.loads(self.nursery.output("out").read_text())["error"]["message"])


def setting(text: str) -> Edit:
    return lambda folder: ("--set", text)


def rewriting(name: str, old: str, new: str) -> Edit:
    def edit(folder: Path) -> tuple[str, ...]:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))
        return ()

    return edit


CHANGES: Final[dict[str, tuple[Edit, str]]] = {
    "another seed": (setting("run.seed=1"), "run.seed"),
    "fewer trials": (setting("run.trials=3"), "run.trials"),
    "another deadline": (setting("engine.deadline_s=5"), "engine.deadline_s"),
    "more attempts": (setting("run.attempts=9"), "run.attempts"),
    "another option of an arm": (setting("arms.slow.options.work_s=0.01"), "arms.slow.options"),
    "another arm of that name": (setting('arms.always_halt.use="screen_only"'), "arms.always_halt.use"),
    "fewer tasks": (setting('provider.tasks=["*close*"]'), "provider.tasks"),
    "another text of a task": (rewriting("desk.py", "Close ", "Now close "), "task desk::close has changed"),
    "another code of an arm": (rewriting("slow.py", "await anyio.sleep(self._work_s)", "pass"), "arm slow has changed"),
    "another provider": (rewriting("desk.py", 'version: str = "1"', 'version: str = "2"'), "provider"),
}


def accepted(run: Run, words: tuple[str, ...]) -> list[Violation]:
    """Go on with a copy of a run and accept the change: no row of the earlier plan may be among the results."""
    changed, copy = Run(run.nursery, run.folder, "changed"), Run(run.nursery, run.folder, "copy")
    assert changed.begin(*words).code == 0
    shutil.copytree(run.run_dir, copy.run_dir, ignore=shutil.ignore_patterns("control"))  # a killed run's socket
    code = copy.resume(*words, "--accept-changes").code
    return check(copy.run_dir, undisturbed=changed.run_dir, exit_code=code)


SMOKE: Final = ("another seed", "another code of an arm")


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("edit", "named"),
    [
        pytest.param(*change, id=name, marks=[] if name in SMOKE else [pytest.mark.faults("quick")])
        for name, change in CHANGES.items()
    ],
)
def test_a_changed_plan_is_refused(
    nursery: Nursery, folder: Path, undisturbed: Path, card: CardOfTest, edit: Edit, named: str
) -> None:
    """Exit code 2 with what differs, the journal untouched; accepted, the run comes to what the changed plan gives.

    Once the change is undone, the refused run completes as if nothing had been.
    """
    row = card.row(*ROW)
    originals = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    run = Run(nursery, folder, "run")
    run.begin(stop=Stop(KILLED_AT, "after"))
    before = run.journal
    row.trial()
    row.inject()
    words = edit(folder)
    refused = run.resume(*words)
    if refused.code != REFUSED or named not in run.message():
        row.violations([Violation("I7", f"{named}: exit {refused.code}, not 2: {run.message()}")])
    if run.journal != before:
        row.violations([Violation("I2", f"{named}: the refused resume has written to the journal")])
    row.violations(accepted(run, words))
    for path, data in originals.items():
        path.write_bytes(data)
    code = run.resume().code
    row.violations(check(run.run_dir, undisturbed=undisturbed, exit_code=code))


@pytest.mark.timeout(120)
def test_more_trials_extend_a_run(nursery: Nursery, folder: Path, card: CardOfTest) -> None:
    """More trials are an extension: every earlier row stays, and the whole is what a longer run would have found."""
    row = card.row(*ROW)
    longer = Run(nursery, folder, "longer")
    assert longer.begin("--set", "run.trials=6").code == 0
    run = Run(nursery, folder, "run")
    run.begin(stop=Stop(KILLED_AT, "after"))
    before = run.journal
    row.trial()
    row.inject()
    code = run.resume("--set", "run.trials=6").code
    row.violations(check(run.run_dir, undisturbed=longer.run_dir, before=before, exit_code=code))
