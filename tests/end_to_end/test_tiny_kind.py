"""A kind that the engine has never heard of runs through all of it: plan, workers, oracle, journal, report, verify."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchestrator.results import EPISODES, REPORT_HTML, REPORT_MARKDOWN


def test_it_runs_to_its_own_figures(run_it: Callable[..., Any]) -> None:
    """Its rows, its summary and its headline are what its own parts make of guess and hidden number."""
    finished = run_it("guess.toml")
    assert finished.ended.exit_code == 0
    assert finished.arm("lowest") == {"n_scored": 10, "accuracy": {"numerator": 7, "denominator": 10, "rate": 0.7}}
    assert finished.arm("shrug")["accuracy"]["numerator"] == 0
    assert {row["arm_fault"] for row in finished.rows() if row["arm"] == "shrug"} == {"malformed"}
    assert finished.ended.summary["kind"] == "guess"
    assert finished.ended.summary["conservation"]["scored"] == 20


def test_the_reports_carry_its_section(run_it: Callable[..., Any]) -> None:
    """Both report files show its headline and its table."""
    run_dir: Path = run_it("guess.toml").ended.run_dir
    for name in (REPORT_MARKDOWN, REPORT_HTML):
        text = (run_dir / name).read_text()
        assert [words for words in ("Right guesses", "accuracy", "7/10") if words not in text] == []


def test_a_sound_run_is_verified(run_it: Callable[..., Any]) -> None:
    """Verifying makes all of its numbers again."""
    found = run_it("guess.toml").verify()
    assert found.ok
    assert found.rows == 20


def test_a_changed_row_is_found(run_it: Callable[..., Any]) -> None:
    """A row that was turned from wrong to right in the rows' file is named."""
    finished = run_it("guess.toml")
    path = finished.ended.run_dir / EPISODES
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    place = next(place for place, row in enumerate(rows) if not row["right"])
    rows[place]["right"] = True
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    assert f"{EPISODES}: line {place + 1}" in str(finished.verify().difference)


@pytest.mark.ray
@pytest.mark.timeout(120)
def test_its_parts_are_found_on_ray(run_it: Callable[..., Any]) -> None:
    """Worker and oracle processes import its parts from the configuration's folder, and find the same."""
    on_ray = run_it("guess.toml", ['engine.kind="ray"', "engine.workers=1"])
    assert on_ray.ended.exit_code == 0
    assert on_ray.digest == run_it("guess.toml").digest
