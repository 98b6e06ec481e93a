"""What a run does when it is asked something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.control.commands import Commands
from orchestrator.control.place import identity
from orchestrator.control.protocol import Answer, Command, Look, Request, Set

Ask = Callable[[Request], Awaitable[Answer]]


class Kept:
    """What became of requests."""

    def __init__(self, run: Any, run_dir: Path) -> None:
        self.run, self.notes, self.adjusted = run, list[str](), list[tuple[str, float]]()
        self.commands = Commands(run, run_dir, environ={}, note=self.note, adjusted=self.adjust)

    async def note(self, text: str) -> None:
        self.notes.append(f"{text} after {len(self.run.calls)} calls")

    def adjust(self, key: str, value: float) -> None:
        self.adjusted.append((key, value))


@pytest.fixture
def kept(told_run: Any, run_dir: Path) -> Kept:
    """The commands of a run that writes down what it is told."""
    return Kept(told_run, run_dir)


@pytest.mark.anyio
async def test_every_order_is_noted_before_it_is_carried_out(kept: Kept, run_dir: Path) -> None:
    """Pause, unpause, drain and cancel reach the run once each, in order, behind their lines in the journal."""
    here = identity(run_dir)
    for do in ("pause", "unpause", "drain", "cancel"):
        answer = await kept.commands.answer(Command.model_validate({"run": here, "do": do}))
        assert answer.done
        assert answer.text
    assert kept.run.calls == ["pause", "unpause", "drain", "cancel"]
    assert [note.rpartition(" after ")[2] for note in kept.notes] == [f"{count} calls" for count in range(4)]
    assert all(note.startswith("on request: ") for note in kept.notes)


@pytest.mark.anyio
async def test_a_run_that_ends_takes_only_what_ends_it(kept: Kept, run_dir: Path) -> None:
    """While it drains, pausing and setting are refused, a second drain does nothing, and it can still be cancelled."""
    here = identity(run_dir)
    kept.run.draining = True
    before = (run_dir / "run.toml").read_bytes()
    refused: list[Request] = [
        Command(run=here, do="pause"),
        Command(run=here, do="unpause"),
        Set(run=here, text="engine.in_flight=3"),
    ]
    assert [(await kept.commands.answer(request)).done for request in refused] == [False] * 3
    assert (await kept.commands.answer(Command(run=here, do="drain"))).done
    assert (kept.run.calls, kept.notes, (run_dir / "run.toml").read_bytes()) == ([], [], before)
    assert (await kept.commands.answer(Command(run=here, do="cancel"))).done
    assert kept.run.calls == ["cancel"]


@pytest.mark.anyio
async def test_a_setting_is_stored_adjusted_and_noted(kept: Kept, run_dir: Path) -> None:
    """The run, its keeper of looks, run.toml and the journal all learn the new value."""
    answer = await kept.commands.answer(Set(run=identity(run_dir), text="limits.heartbeat_s=5"))
    assert (answer.done, answer.text) == (True, "limits.heartbeat_s is 5.0, was 2.0")
    assert kept.run.calls == kept.adjusted == [("limits.heartbeat_s", 5.0)]
    assert "heartbeat_s = 5\n" in (run_dir / "run.toml").read_text()
    assert len(kept.notes) == 1


@pytest.mark.anyio
async def test_a_wrong_setting_changes_nothing(kept: Kept, run_dir: Path) -> None:
    """It is answered with key, reason and hint; neither run nor file nor journal learn of it."""
    before = (run_dir / "run.toml").read_bytes()
    for text, key in (("engine.in_flight=0", "engine.in_flight"), ("run.trials=9", "run.trials"), ("x", "")):
        answer = await kept.commands.answer(Set(run=identity(run_dir), text=text))
        assert (answer.done, answer.key) == (False, key)
        assert answer.text
    assert (kept.run.calls, kept.notes, (run_dir / "run.toml").read_bytes()) == ([], [], before)


@pytest.mark.anyio
async def test_another_directory_is_refused(kept: Kept, tmp_path: Path) -> None:
    """A request that means another directory, as behind a copied link, is not carried out."""
    assert not (await kept.commands.answer(Command(run=identity(tmp_path), do="cancel"))).done
    assert not (await kept.commands.answer(Look(run=identity(tmp_path)))).done
    assert kept.run.calls == []


@pytest.mark.anyio
async def test_a_look_can_be_of_one_trial(kept: Kept, run_dir: Path, view_of: Callable[..., Any]) -> None:
    """All trials, or the one with the key; looking is not noted."""
    kept.run.trials = (view_of("a"), view_of("b", 2, "opening"))
    here = identity(run_dir)
    everything = (await kept.commands.answer(Look(run=here))).view
    one = (await kept.commands.answer(Look(run=here, key="b"))).view
    assert everything is not None
    assert one is not None
    assert [trial.key for trial in everything.trials] == ["a", "b"]
    assert [(trial.key, trial.attempt, trial.phase) for trial in one.trials] == [("b", 2, "opening")]
    assert kept.notes == []
