from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import orjson
import pytest

from orchestrator.content import Content
from orchestrator.history import read_history
from orchestrator.journal import Journal, LineType, recover
from orchestrator.kinds.base import DriverSide
from orchestrator.results import kept_info, read_summary, write_results
from orchestrator.verify import Difference, Verification, first_difference, verify_run
from spec.errors import InputError

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun, MakeRun

ENDS: Final = {0: "unreadable", 1: "infrastructure", 2: "cancelled", 3: "owed"}


def finish(run: FinishedRun, folder: Path) -> Path:
    """A run directory with a real journal and the files that are made from it."""
    anyio.run(run.write_journal, folder / "journal.jsonl")
    write_results(
        folder,
        run_id="anchor",
        kind_name="effect",
        driver_side=run.driver,
        plan=run.plan,
        terminal=run.terminal,
        counts=run.counts(),
        info={"pack": "anchor"},
        seed=0,
    )
    return folder


@pytest.fixture(scope="module")
def finished_anchor(anchor: FinishedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The anchor's run directory, made once; to be copied."""
    return finish(anchor, tmp_path_factory.mktemp("finished"))


@pytest.fixture
def folder(finished_anchor: Path, tmp_path: Path) -> Path:
    """A copy of the anchor's run directory, to be changed."""
    return Path(shutil.copytree(finished_anchor, tmp_path / "run"))


def verify(run: FinishedRun, folder: Path) -> Verification:
    return verify_run(folder, driver_side=run.driver, plan=run.plan, seed=0)


def difference_of(run: FinishedRun, folder: Path) -> Difference:
    found = verify(run, folder).difference
    assert found is not None
    return found


def edit_summary(folder: Path, path: str, value: object) -> None:
    summary: Any = orjson.loads((folder / "summary.json").read_bytes())
    *parents, last = path.split(".")
    place = summary
    for name in parents:
        place = place[int(name) if isinstance(place, list) else name]
    place[last] = value
    (folder / "summary.json").write_bytes(orjson.dumps(summary))


def edit_rows(folder: Path, change: Callable[[list[Any]], object]) -> None:
    path = folder / "episodes.jsonl"
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    change(rows)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def test_a_sound_run_verifies(make_run: MakeRun, tmp_path: Path) -> None:
    """A run with every kind of ending verifies; every row was checked and every figure compared."""
    run = make_run(unscored=ENDS)
    found = verify(run, finish(run, tmp_path))
    assert found.difference is None
    assert found.ok
    assert found.rows == 176
    assert found.figures > 500


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("arms.screen_only.swer.numerator", 49),
        ("arms.screen_only.swer.ci.lo", 0.4),
        ("arms.effect_verified.over_halt.bounds.hi", 0.5),
        ("arms.screen_only.cells.1.swer.rate", 0.0),
        ("arms.screen_only.pass_hat_k.8", None),
        ("arms.screen_only.success_effect_gap_ci.hi", 0.7),
        ("arms.screen_only.n_episodes", 90.0),
        ("arms.screen_only.n_owed", False),
        ("comparisons.0.p_value", 0.5),
        ("conservation.owed", 1),
        ("results_digest", "sha256:" + "0" * 64),
        ("arms.screen_only.more", 1),
        ("run_id", "another"),
    ],
)
def test_a_changed_figure_is_named(anchor: FinishedRun, folder: Path, path: str, value: object) -> None:
    """Any changed, retyped or added value of the summary is found, with its path and what was found there."""
    edit_summary(folder, path, value)
    found = difference_of(anchor, folder)
    assert (found.where, found.found) == (f"summary.json: {path}", value)
    assert str(found).startswith(f"summary.json: {path}: expected ")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda rows: rows[20].update(outcome="success"), "line 21: outcome"),
        (lambda rows: rows[4]["agent"].update(reported_success=False), "line 5: agent.reported_success"),
        (lambda rows: rows.pop(), "line 180"),
        (lambda rows: rows.append(rows[0]), "line 181"),
        (lambda rows: rows.insert(1, rows[0]), "line 2: episode_id"),
        (lambda rows: rows.reverse(), "line 1: episode_id"),
        (lambda rows: rows[0].update(more=1), "line 1: more"),
    ],
)
def test_a_changed_row_is_named(
    anchor: FinishedRun, folder: Path, change: Callable[[list[Any]], object], where: str
) -> None:
    """A row that was changed, lost, doubled or moved is found by its line and field."""
    edit_rows(folder, change)
    assert difference_of(anchor, folder).where == f"episodes.jsonl: {where}"


def test_half_a_row_is_named(anchor: FinishedRun, folder: Path) -> None:
    """A rows' file that was cut in the middle of a line is found there."""
    path = folder / "episodes.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    assert difference_of(anchor, folder).where == "episodes.jsonl: line 180"


def test_a_label_is_derived_again(anchor: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where journal, rows and summary agree on a label that report and reading do not give, the row is named."""
    made = type(anchor).row

    def forged(run: FinishedRun, ordinal: int) -> dict[str, Any]:
        row = made(run, ordinal)
        return row | {"outcome": "success", "swer_variant": "none"} if ordinal == 20 else row

    monkeypatch.setattr(type(anchor), "row", forged)
    found = difference_of(anchor, finish(anchor, tmp_path))
    assert found.where == "episodes.jsonl: line 21: screen_only::mockmed::partial::t0"
    assert "does not follow" in str(found.found)


async def add_lines(path: Path, clock: Any, *lines: tuple[LineType, str, dict[str, Any]]) -> None:
    journal = Journal.resume(path, recover(path, lambda line: None), clock=clock)
    for line in lines:
        journal.append(*line)
    await journal.commit()
    journal.close()


@pytest.fixture
def still_clock() -> Any:
    """A clock that always shows the same moment."""

    class Still:
        def monotonic(self) -> float:
            return 0.0

        def utc_now(self) -> str:
            return "2026-01-31T12:00:00.000000Z"

    return Still()


def test_a_second_terminal_line_is_named(anchor: FinishedRun, folder: Path, still_clock: Any) -> None:
    """A trial that is scored twice without having been reopened is found in the journal."""
    path = folder / "journal.jsonl"
    line = (LineType.SCORED, anchor.plan.key(0), {"attempt": 2, "row": anchor.row(0)})
    anyio.run(add_lines, path, still_clock, line)
    found = difference_of(anchor, folder)
    assert found.where.startswith("journal.jsonl: line ")
    assert found.found == f"a second one of {anchor.plan.key(0)}"


def test_a_trial_outside_the_plan_is_named(anchor: FinishedRun, folder: Path, still_clock: Any) -> None:
    """A terminal line of a key that the plan does not have is found in the journal."""
    path = folder / "journal.jsonl"
    anyio.run(add_lines, path, still_clock, (LineType.SCORED, "screen_only::mockmed::ok::t99", {"attempt": 1}))
    assert difference_of(anchor, folder).found == "screen_only::mockmed::ok::t99"


def test_a_reopened_trial_counts_by_its_last_end(make_run: MakeRun, tmp_path: Path, still_clock: Any) -> None:
    """A trial that was unreadable, reopened and then scored verifies against files that count it as scored."""
    before, after = make_run(unscored={0: "unreadable"}), make_run()
    anyio.run(before.write_journal, tmp_path / "journal.jsonl")
    key = after.plan.key(0)
    lines = (
        (LineType.REOPENED, key, {"attempt": 4, "why": "retry"}),
        (LineType.SCORED, key, {"attempt": 4, "row": after.row(0)}),
    )
    anyio.run(add_lines, tmp_path / "journal.jsonl", still_clock, *lines)
    counts = after.counts()
    counts["screen_only"] = counts["screen_only"]._replace(unreadable_attempts=1)
    write_results(
        tmp_path,
        run_id="anchor",
        kind_name="effect",
        driver_side=after.driver,
        plan=after.plan,
        terminal=after.terminal,
        counts=counts,
        info={},
        seed=0,
    )
    assert verify(after, tmp_path) == Verification(None, 180, verify(after, tmp_path).figures)


def parts_of(run: FinishedRun, **arms: str) -> dict[str, Any]:
    tasks = {task_id: f"digest of {task_id}" for task_id in run.plan.task_ids}
    return {"tasks": tasks, "arms": {arm: arms.get(arm, "code") for arm in run.plan.arms}, "provider": "p"}


def two_plans(run: FinishedRun, folder: Path, clock: Any, kept: str, first: Any, second: Any) -> Path:
    """A run of two sessions whose arm ``kept`` was scored in the first one and not touched again."""
    anyio.run(write_two_plans, run, folder / "journal.jsonl", clock, kept, (first, second))
    history = read_history(folder / "journal.jsonl", run.plan)
    write_results(
        folder,
        run_id="anchor",
        kind_name="effect",
        driver_side=run.driver,
        plan=run.plan,
        terminal=run.terminal,
        counts=history.ledger.counts(),
        info=kept_info(history.latest, history.ledger),
        seed=0,
    )
    return folder


async def write_two_plans(run: FinishedRun, path: Path, clock: Any, kept: str, plans: tuple[Any, Any]) -> None:
    journal = Journal.create(
        path, {"run_id": "anchor", "format": 1, "plan_digest": "first", "parts": plans[0]}, clock=clock
    )

    def score(ordinal: int, parts: Any, attempt: int) -> None:
        row = run.row(ordinal)
        body: dict[str, Any] = {
            "attempt": attempt,
            "trial_digest": Content(parts, run.plan).digest(ordinal, row["seed"]),
            "row": row,
        }
        journal.append(LineType.SCORED, run.plan.key(ordinal), body)

    for ordinal in range(len(run.plan)):
        score(ordinal, plans[0], 1)
    journal.append(LineType.RESUME, None, {"plan_digest": "second", "parts": plans[1]})
    for ordinal in range(len(run.plan)):
        if run.plan.arms[run.plan.arm_of(ordinal)] != kept:
            journal.append(LineType.REOPENED, run.plan.key(ordinal), {"attempt": 1, "why": "changed"})
            score(ordinal, plans[1], 2)
    await journal.finish({"exit": 0, "conservation": {}})
    journal.close()


def test_kept_rows_of_an_earlier_plan_verify(anchor: FinishedRun, tmp_path: Path, still_clock: Any) -> None:
    """Rows of two sessions with different parts are sound where every kept row has the digest of the latest plan."""
    first, second = parts_of(anchor), parts_of(anchor, effect_verified="new code")
    folder = two_plans(anchor, tmp_path, still_clock, "screen_only", first, second)
    assert read_summary(folder)["info"]["kept"] == {"plans": 2, "trials": 90}
    assert verify(anchor, folder).ok
    edit_summary(folder, "info.kept.trials", 89)
    assert difference_of(anchor, folder).where == "summary.json: info.kept.trials"


def test_rows_of_two_plans_are_named(anchor: FinishedRun, tmp_path: Path, still_clock: Any) -> None:
    """A kept row whose digest is not that of the latest plan is found, with its key, though every figure agrees."""
    first, second = parts_of(anchor), parts_of(anchor, screen_only="new code")
    folder = two_plans(anchor, tmp_path, still_clock, "screen_only", first, second)
    key = anchor.plan.key(0)
    found = difference_of(anchor, folder)
    assert found.where == f"journal.jsonl: line 2: trial_digest of {key}"
    assert found.found == Content(first, anchor.plan).digest(0, 0)
    assert found.expected == Content(second, anchor.plan).digest(0, 0)


def test_a_trial_without_a_row_is_looked_at_where_its_seed_is_known(
    make_run: MakeRun, tmp_path: Path, still_clock: Any
) -> None:
    """An unscored trial of another plan behind the last row is found, but only by somebody who can say its seed."""
    run = make_run(arms=("screen_only",), trials=1, unscored={8: "infrastructure"})
    parts = parts_of(run)
    path = tmp_path / "journal.jsonl"

    async def write() -> None:
        journal = Journal.create(path, {"run_id": "anchor", "format": 1, "parts": parts}, clock=still_clock)
        for ordinal in range(9):
            line_type, body = run.body(ordinal) or (LineType.NOTE, {})
            seed = 0 if ordinal < 8 else 5
            digest = Content(parts, run.plan).digest(ordinal, seed)
            journal.append(line_type, run.plan.key(ordinal), {**body, "trial_digest": digest})
        await journal.finish({"exit": 0, "conservation": {}})
        journal.close()

    anyio.run(write)
    write_results(
        tmp_path,
        run_id="anchor",
        kind_name="effect",
        driver_side=run.driver,
        plan=run.plan,
        terminal=run.terminal,
        counts=run.counts(),
        info={},
        seed=0,
    )
    assert verify(run, tmp_path).ok
    seeds: list[int] = [0] * 8 + [5]
    known: Any = {"driver_side": run.driver, "plan": run.plan, "seed": 0}
    assert verify_run(tmp_path, **known, seed_of=lambda ordinal: seeds[ordinal]).ok
    found = verify_run(tmp_path, **known, seed_of=lambda _: 0).difference
    assert found is not None
    assert found.where == f"journal.jsonl: line 10: trial_digest of {run.plan.key(8)}"


class Plain:
    """A driver side of another kind, which cannot derive labels again."""

    def __init__(self, side: Any) -> None:
        for name in ("digest_entry", "summarise"):
            setattr(self, name, getattr(side, name))


def test_a_kind_without_a_row_check_is_still_verified(anchor: FinishedRun, folder: Path) -> None:
    """Rows and figures are compared for every kind; only the labels are taken as they stand."""
    side: DriverSide = Plain(anchor.driver)  # type: ignore[assignment]  # the two methods are all that is used
    assert verify_run(folder, driver_side=side, plan=anchor.plan, seed=0).ok


def test_a_missing_rows_file_is_an_input_error(anchor: FinishedRun, folder: Path) -> None:
    """Without episodes.jsonl there is nothing to verify, and the message names the file."""
    (folder / "episodes.jsonl").unlink()
    with pytest.raises(InputError, match=r"episodes\.jsonl"):
        verify(anchor, folder)


@pytest.mark.parametrize(
    ("expected", "found", "where"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a.1.b"),
        ([1, 2], [1], "1"),
        ([1], [1, 2], "1"),
        ({"a": None}, {}, "a"),
        ({"a": 0}, {"a": False}, "a"),
        ({"a": 1}, {"a": 1.0}, "a"),
        ({"a": 0.1}, {"a": 0.1 + 1e-15}, None),
        ({"a": 0.1}, {"a": 0.1 + 1e-9}, "a"),
        ({"a": {}}, {"a": []}, "a"),
        (1, 2, "(all of it)"),
    ],
)
def test_the_first_difference_is_found(expected: object, found: object, where: str | None) -> None:
    """Values differ by type or content; floats may differ by what a library's version may change."""
    difference = first_difference(expected, found, "")
    assert (difference.where if difference else None) == where
