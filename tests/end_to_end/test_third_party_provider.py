"""A system of record from outside the packages runs like ours, and one that misbehaves costs its own trials only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from spec.errors import ConfigErrors

MOODY: Final = 'provider.use="moody:MoodyDesk"'
NOT_AGAIN: Final = "run.attempts=1"
TRIALS: Final = 12
"""Of one arm: three tasks, four trials."""


def mood(name: str, **options: int) -> list[str]:
    return [MOODY, f"provider.options={{mood={name!r}{''.join(f', {key}={value}' for key, value in options.items())}}}"]


def bounds(finished: Any, arm: str) -> tuple[float, float]:
    found = finished.arm(arm)["swer"]["bounds"]
    return found["lo"], found["hi"]


def test_a_third_party_desk_runs_like_ours(run_it: Callable[..., Any]) -> None:
    """A provider named by the configuration, beside it, gives the outcomes that its tasks are made for."""
    finished = run_it("desk.toml")
    assert finished.ended.exit_code == 0
    assert finished.outcomes("screen_only") == {
        "close": {"success": 4},
        "lost": {"silent_wrong_effect": 4},
        "neighbour": {"silent_wrong_effect": 4},
    }
    assert finished.outcomes("always_halt") == {
        "close": {"over_halt": 4},
        "lost": {"safe_halt": 4},
        "neighbour": {"safe_halt": 4},
    }
    assert finished.verify().ok


@pytest.mark.ray
@pytest.mark.timeout(120)
def test_it_runs_on_ray_too(run_it: Callable[..., Any]) -> None:
    """Worker processes find the provider beside the configuration, and come to the same results."""
    on_ray = run_it("desk.toml", ['engine.kind="ray"', "engine.workers=1"])
    assert on_ray.ended.exit_code == 0
    assert on_ray.digest == run_it("desk.toml").digest


def live(late_s: float, settle_s: float, timeout_s: float) -> list[str]:
    options = f"{{late_s={late_s}, settle_s={settle_s}, timeout_s={timeout_s}}}"
    return ['provider.pack="live"', f"provider.options={options}"]


def test_a_live_record_is_polled_and_settled(run_it: Callable[..., Any]) -> None:
    """A write that lands late is waited for, and a second one behind it is seen because the task asks to settle."""
    finished = run_it("desk.toml", live(late_s=0.1, settle_s=0.5, timeout_s=3))
    assert finished.outcomes("screen_only") == {"queued": {"success": 4}, "echoed": {"silent_wrong_effect": 4}}


def test_a_task_that_does_not_wait_is_judged_on_what_was_seen(run_it: Callable[..., Any]) -> None:
    """Without polling and settling, the same desk looks wrong where it is slow and right where its echo is to come."""
    finished = run_it("desk.toml", live(late_s=600, settle_s=0, timeout_s=0))
    assert finished.outcomes("screen_only") == {"queued": {"silent_wrong_effect": 4}, "echoed": {"success": 4}}


def test_a_desk_that_opens_late_is_asked_again(run_it: Callable[..., Any]) -> None:
    """Where opening fails at random seeds, those trials run a second time, and the results are those of a good desk."""
    finished = run_it("desk.toml", mood("opens later"))
    failed = {line["key"] for line in finished.lines("failed")}
    assert finished.ended.exit_code == 0
    assert 0 < len(failed) < 2 * TRIALS
    attempts = {row["episode_id"]: row["env_fingerprint"]["attempt"] for row in finished.rows()}
    assert {key for key, attempt in attempts.items() if attempt == 2} == failed
    assert finished.digest == run_it("desk.toml").digest


def test_a_desk_that_never_opens_costs_no_verdict(run_it: Callable[..., Any]) -> None:
    """Trials without a fixture are infrastructure after the last attempt; the run is complete, its bounds wide."""
    finished = run_it("desk.toml", mood("never opens"))
    assert finished.ended.exit_code == 0
    assert finished.ended.summary["conservation"]["infrastructure"] == 2 * TRIALS
    assert finished.arm("screen_only")["swer"]["rate"] is None
    assert bounds(finished, "screen_only") == (0.0, 1.0)
    assert {line["attempt"] for line in finished.lines("infrastructure")} == {2}
    assert "ConnectionError: the desk has not opened yet" in finished.lines("infrastructure")[0]["detail"]
    assert finished.verify().ok


def test_what_is_no_fixture_is_told_in_full(run_it: Callable[..., Any]) -> None:
    """Everything that is wrong with what ``open`` returned stands in one line."""
    finished = run_it("desk.toml", [*mood("no fixture"), NOT_AGAIN])
    detail = finished.lines("infrastructure")[0]["detail"]
    problems = ("it has no environment", "it has no seal", "its read_path is a str and no ReadPath")
    assert [problem for problem in problems if problem not in detail] == []


@pytest.mark.parametrize("kind", ["no payload for trial 1", "strange payload for trial 1", "unsealable"])
def test_a_fault_of_the_provider_is_never_the_arms(run_it: Callable[..., Any], kind: str) -> None:
    """Payloads and seals that fail make infrastructure of the trials that they concern, and of no other."""
    finished = run_it("desk.toml", [*mood(kind), NOT_AGAIN])
    concerned = 2 * TRIALS if kind == "unsealable" else 2 * TRIALS // 4
    assert finished.ended.exit_code == 0
    assert finished.ended.summary["conservation"]["infrastructure"] == concerned
    assert {line["cause"] for line in finished.lines("infrastructure")} == {"provider"}
    assert len(finished.rows()) == 2 * TRIALS - concerned
    assert finished.verify().ok


def test_a_fixture_that_does_not_close_is_only_noted(run_it: Callable[..., Any]) -> None:
    """A trial whose fixture would not close keeps its verdict, and the journal says so while the run goes on."""
    finished = run_it("desk.toml", [*mood("sticky"), "engine.in_flight=2", "engine.lease_max=2"])
    assert finished.digest == run_it("desk.toml").digest
    assert any("the desk is stuck" in line["text"] for line in finished.lines("note"))


def test_a_record_that_is_shy_is_read_again(run_it: Callable[..., Any]) -> None:
    """Readings that fail fewer times than the configuration allows cost no attempt and change no result."""
    finished = run_it("desk.toml", mood("shy", refusals=2))
    assert finished.digest == run_it("desk.toml").digest
    assert finished.lines("failed") == []


def test_a_record_that_stays_shy_costs_an_attempt(run_it: Callable[..., Any]) -> None:
    """Where all readings of an attempt fail, a fresh fixture is tried, and the attempt is counted for the arm."""
    finished = run_it("desk.toml", mood("shy at first", refusals=3))
    assert finished.outcomes("always_halt") == run_it("desk.toml").outcomes("always_halt")
    unread = [line for line in finished.lines("failed") if line["cause"] == "unreadable"]
    counted = sum(finished.arm(name)["unreadable_attempts"] for name in ("screen_only", "always_halt"))
    assert counted == len(unread) > 0
    assert "the record is being backed up" in unread[0]["detail"]


def test_a_record_that_nobody_can_read_is_counted_apart(run_it: Callable[..., Any]) -> None:
    """An unreadable record is no verdict: it is in no rate, in both bounds, and the run is complete."""
    finished = run_it("desk.toml", [*mood("shy", refusals=1000), NOT_AGAIN])
    assert finished.ended.exit_code == 0
    assert finished.ended.summary["conservation"]["unreadable"] == 2 * TRIALS
    assert finished.arm("screen_only")["n_unreadable"] == TRIALS
    assert bounds(finished, "screen_only") == (0.0, 1.0)
    assert finished.verify().ok


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (['provider.use="moody:NoProvider"'], ["no provider", "version", "tasks", "payload", "open", "manifest"]),
        (['provider.use="moody:TasklessDesk"'], ["one: it must be a spec.task.Task", "two: it must be a spec.task"]),
        (['provider.use="moody:SchemalessDesk"'], ["kind effect cannot work with this provider"]),
        (mood("strange manifest"), ["manifest cannot be had"]),
    ],
    ids=["no provider", "no tasks", "no schema", "no manifest"],
)
def test_a_provider_that_cannot_be_used_is_refused_before_anything_runs(
    run_it: Callable[..., Any], tmp_path: Any, sets: Sequence[str], words: Sequence[str]
) -> None:
    """What can be seen without a trial is told at once, every problem of it, and no run directory is made."""
    with pytest.raises(ConfigErrors) as caught:
        run_it("desk.toml", sets)
    assert [word for word in words if word not in str(caught.value)] == []
    assert list(tmp_path.iterdir()) == []
