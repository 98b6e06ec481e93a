"""The expected values are those that are published for the anchor pack, and those of a second, plain implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.kinds.base import Counts
from orchestrator.kinds.effect.scan import Group
from orchestrator.kinds.effect.summary import summarise_effect
from orchestrator.metrics import PairedTask
from spec.contract import Effect, EffectKind
from spec.outcome import Outcome, classify
from spec.reading import TrueState
from spec.task import Category, OracleSpec, Task

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun, MakeRun

RATES = ("swer", "swer_wrong_write", "swer_phantom", "over_halt", "task_success", "screen_success")
PUBLISHED: Mapping[str, Sequence[int]] = {
    "screen_only": (50, 40, 10, 0, 20, 70),
    "effect_verified": (0, 0, 0, 0, 30, 30),
    "always_halt": (0, 0, 0, 30, 0, 0),
}
LABELS: Mapping[str, Mapping[str, int]] = {
    "screen_only": {"success": 20, "silent_wrong_effect": 50, "false_abort": 10, "safe_halt": 10},
    "effect_verified": {"success": 30, "wrong_action": 40, "safe_halt": 20},
    "always_halt": {"over_halt": 30, "safe_halt": 60},
}


@pytest.fixture(scope="module")
def published(make_run: MakeRun, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The summary of the anchor with three arms."""
    return make_run(tuple(PUBLISHED)).summary(tmp_path_factory.mktemp("anchor"))


@pytest.mark.parametrize("arm", list(PUBLISHED))
def test_the_anchor_gives_the_published_rates(published: Mapping[str, Any], arm: str) -> None:
    """Every rate of the anchor has the published numerator over 90."""
    found = published["arms"][arm]
    assert [found[name]["numerator"] for name in RATES] == list(PUBLISHED[arm])
    assert {found[name]["denominator"] for name in RATES} == {90}
    assert found["outcome_counts"] == {outcome.value: LABELS[arm].get(outcome.value, 0) for outcome in Outcome}


def test_the_anchor_gives_the_published_gap_and_intervals(published: Mapping[str, Any]) -> None:
    """Gap and Wilson interval of the anchor are the published ones."""
    screen, verified = published["arms"]["screen_only"], published["arms"]["effect_verified"]
    assert screen["success_effect_gap"] == pytest.approx(0.5556, abs=5e-5)
    assert verified["success_effect_gap"] == 0
    assert screen["swer"]["ci"]["lo"] == pytest.approx(0.4527192645595967, abs=1e-12)
    assert screen["swer"]["ci"]["hi"] == pytest.approx(0.6538434437110336, abs=1e-12)
    assert verified["swer"]["ci"]["hi"] == pytest.approx(0.04093562556432678, abs=1e-12)
    assert screen["success_effect_gap_ci"]["lo"] < 0.5556 < screen["success_effect_gap_ci"]["hi"]


def test_the_cells_add_up_to_the_arm(published: Mapping[str, Any]) -> None:
    """Numerators and trials of an arm's cells add up to the arm's own; screen_only errs in five of seven faults."""
    for arm in published["arms"].values():
        for name in RATES:
            assert sum(cell[name]["numerator"] for cell in arm["cells"]) == arm[name]["numerator"]
        assert sum(cell["n_episodes"] for cell in arm["cells"]) == arm["n_episodes"] == 90
        assert sum(cell["n_planned"] for cell in arm["cells"]) == arm["n_planned"] == 90
    cells = {cell["category"]: cell["swer"]["rate"] for cell in published["arms"]["screen_only"]["cells"]}
    assert cells == {
        "control": 0.0,
        "C1_partial_save": 1.0,
        "C2_duplicate_submission": 1.0,
        "C3_optimistic_then_reject": pytest.approx(1 / 3),
        "C4_stale_overwrite": 1.0,
        "C5_double_delivered_input": 1.0,
    }


def test_arms_are_compared_in_pairs(published: Mapping[str, Any]) -> None:
    """Every two arms are compared once, in the configuration's order, with the correction for three tests."""
    pairs = {tuple(one["arms"]): one for one in published["comparisons"]}
    assert list(pairs) == [
        ("screen_only", "effect_verified"),
        ("screen_only", "always_halt"),
        ("effect_verified", "always_halt"),
    ]
    first = pairs["screen_only", "effect_verified"]
    assert first["discordant"] == {"only_first": 50, "only_second": 0}
    assert first["swer_difference"] == pytest.approx(5 / 9)
    assert first["p_value"] == pytest.approx(2 * 0.5**50)
    assert first["p_holm"] == pytest.approx(3 * 2 * 0.5**50)
    assert first["over_halt"] == [0.0, 0.0]
    assert pairs["effect_verified", "always_halt"]["p_holm"] == 1.0


@pytest.mark.parametrize("trials", [1, 2])
def test_with_fewer_than_three_trials_nothing_is_compared(make_run: MakeRun, tmp_path: Path, trials: int) -> None:
    """One or two trials a task give counts and intervals, no comparison, and the reason beside each arm."""
    found = make_run(trials=trials).summary(tmp_path)
    assert found["comparisons"] == []
    reason = found["arms"]["screen_only"]["comparisons_reason"]["effect_verified"]
    assert "needs 3 trials" in reason
    assert found["arms"]["screen_only"]["swer"]["ci"] is not None


def test_pass_hat_k_says_why_it_is_null(make_run: MakeRun, tmp_path: Path) -> None:
    """Four trials a task give pass^1 to pass^4, and null with a reason for 8."""
    arm = make_run(trials=4).summary(tmp_path)["arms"]["screen_only"]
    assert arm["pass_hat_k"] == {
        "1": pytest.approx(2 / 9),
        "2": pytest.approx(2 / 9),
        "4": pytest.approx(2 / 9),
        "8": None,
    }
    assert list(arm["pass_hat_k_reason"]) == ["8"]


def test_unscored_trials_widen_the_bounds_and_nothing_else(make_run: MakeRun, tmp_path: Path) -> None:
    """Unreadable, infrastructure, cancelled and owed trials are in no rate, and in every bound."""
    ends = {0: "unreadable", 1: "infrastructure", 2: "cancelled", 3: "owed"}
    arm = make_run(unscored=ends).summary(tmp_path)["arms"]["screen_only"]
    assert (arm["n_planned"], arm["n_episodes"], arm["unreadable_attempts"]) == (90, 86, 1)
    assert [arm[f"n_{name}"] for name in ("unreadable", "infrastructure", "cancelled", "owed")] == [1, 1, 1, 1]
    assert (arm["swer"]["numerator"], arm["swer"]["denominator"]) == (50, 86)
    assert arm["swer"]["bounds"] == {"lo": 50 / 90, "hi": 54 / 90}
    control = arm["cells"][0]
    assert (control["n_episodes"], control["n_planned"]) == (16, 20)
    assert control["swer"]["bounds"] == {"lo": 0.0, "hi": 4 / 20}


def test_an_arm_without_a_scored_trial_has_null_figures(make_run: MakeRun, tmp_path: Path) -> None:
    """Where everything is owed, rates, gap and means are null, and counts are zero."""
    run = make_run(("screen_only",), 1, dict.fromkeys(range(9), "owed"))
    arm = run.summary(tmp_path)["arms"]["screen_only"]
    assert arm["swer"]["rate"] is None
    assert (arm["success_effect_gap"], arm["success_effect_gap_ci"]) == (None, None)
    assert (arm["mean_cost_usd"], arm["mean_latency_s"], arm["n_tasks"]) == (None, None, 0)
    assert arm["swer"]["bounds"] == {"lo": 0.0, "hi": 1.0}


def test_rows_that_do_not_fit_the_counts_are_refused(anchor: FinishedRun, tmp_path: Path) -> None:
    """A file with a row more than the journal scored gives an error, never a figure."""
    path = anchor.write_episodes(tmp_path / "r")
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ValueError, match="91 rows of an arm with 90 scored trials"):
        anchor.driver.summarise(path, anchor.counts(), 0)


# A second implementation, over single rows, as plain as can be.

Trial = tuple[int, bool, TrueState]
"""Task number, reported success, true state."""


def task(number: int, available: bool) -> Task:
    category = list(Category)[number]
    effect = Effect(EffectKind.RECORD_WRITTEN, {})
    return Task(f"t{number}", "", "", category, (effect,), OracleSpec("snapshot"), available)


TASKS = [task(number, number % 2 == 0) for number in range(4)]


def plain(trials: Sequence[Trial], wanted: int | None = None) -> dict[str, float]:
    own = [trial for trial in trials if wanted in (None, trial[0])]
    count = dict.fromkeys(RATES, 0)
    for number, reported, state in own:
        if reported:
            count["screen_success"] += 1
            if state is TrueState.CORRECT:
                count["task_success"] += 1
            else:
                count["swer"] += 1
                count["swer_phantom" if state is TrueState.ABSENT else "swer_wrong_write"] += 1
        elif state is TrueState.ABSENT and TASKS[number].correct_action_available:
            count["over_halt"] += 1
    return {name: value / len(own) for name, value in count.items()} if own else {}


def group(trial: Trial) -> Group:
    number, reported, state = trial
    label = classify(
        reported_success=reported, state=state, correct_action_available=TASKS[number].correct_action_available
    )
    assert label is not None
    return Group("arm", f"t{number}", label.outcome, label.variant, reported, 1, 0.0, 0.0, 0)


states = st.sampled_from([TrueState.CORRECT, TrueState.WRONG_PERSISTED, TrueState.ABSENT])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), states), max_size=40), st.randoms())
def test_it_equals_a_plain_second_implementation(trials: list[Trial], random: Any) -> None:
    """Rates of arm and cells are those of a loop over single rows, whatever the order of the rows."""
    groups = [group(trial) for trial in trials]
    counts = {"arm": Counts(160, len(trials), 0, 0, 0, 160 - len(trials), 0)}
    arms, comparisons = summarise_effect(TASKS, counts, groups, {}, seed=1)
    random.shuffle(groups)
    assert summarise_effect(TASKS, counts, groups, {}, seed=1) == (arms, comparisons)
    assert {name: arms["arm"][name]["rate"] for name in plain(trials)} == plain(trials)
    for number, cell in enumerate(arms["arm"]["cells"]):
        assert {name: cell[name]["rate"] for name in plain(trials, number)} == plain(trials, number)


def test_a_pair_is_left_out_where_a_task_has_too_few_shared_trials() -> None:
    """Of three arms, the two that share every task are compared, and the others carry the reason."""
    three = {task.task_id: PairedTask(3, 1, 0) for task in TASKS}
    pairs = {("a", "b"): three, ("a", "c"): three | {"t1": PairedTask(2, 0, 0)}, ("b", "c"): {}}
    counts = dict.fromkeys("abc", Counts(12, 0, 0, 0, 0, 12, 0))
    arms, comparisons = summarise_effect(TASKS, counts, [], pairs, seed=0)
    assert [one["arms"] for one in comparisons] == [["a", "b"]]
    assert arms["a"]["comparisons_reason"] == {"c": arms["c"]["comparisons_reason"]["a"]}
    assert "t1 has 2" in arms["a"]["comparisons_reason"]["c"]
