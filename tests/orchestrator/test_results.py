from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jsonschema
import orjson
import pytest

from orchestrator.results import ResultsDigest, conservation_line, read_summary, write_reports, write_results
from spec.errors import ConservationBroken, InputError

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun, MakeRun

ROOT: Final = Path(__file__).parents[2]
ENDS: Final = {0: "unreadable", 1: "infrastructure", 2: "cancelled", 3: "owed"}


def write(run: FinishedRun, folder: Path, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "run_id": "anchor-1",
        "kind_name": "effect",
        "driver_side": run.driver,
        "plan": run.plan,
        "terminal": run.terminal,
        "counts": run.counts(),
        "info": {"pack": "anchor", "split": "dev"},
        "seed": 0,
    }
    return write_results(folder, **(given | changes))


def test_a_run_gets_its_four_files(anchor: FinishedRun, tmp_path: Path) -> None:
    """Rows, summary and both reports are written, 0600, and nothing else is left."""
    summary = write(anchor, tmp_path)
    names = ["episodes.jsonl", "report.html", "report.md", "summary.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert read_summary(tmp_path) == summary


def test_episodes_are_the_scored_rows_in_plan_order(make_run: MakeRun, tmp_path: Path) -> None:
    """Each scored trial gives one line, the row alone, as it stands in the journal; unscored trials give none."""
    run = make_run(unscored=ENDS)
    write(run, tmp_path)
    lines = (tmp_path / "episodes.jsonl").read_bytes().splitlines()
    assert [orjson.loads(line) for line in lines] == list(run.rows())
    assert len(lines) == 176


def test_the_summary_fits_its_schema(make_run: MakeRun, tmp_path: Path) -> None:
    """The shipped JSON Schema is valid and takes the summary of a run with every kind of ending."""
    schema = orjson.loads((ROOT / "orchestrator/schemas/summary.schema.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    for run in (make_run(unscored=ENDS), make_run(("screen_only",), 1, dict.fromkeys(range(9), "owed"))):
        write(run, tmp_path)
        jsonschema.validate(orjson.loads((tmp_path / "summary.json").read_bytes()), schema)


def test_the_conservation_line_stands_in_the_summary(make_run: MakeRun, tmp_path: Path) -> None:
    """Planned and its five parts are summed over the arms."""
    assert write(make_run(unscored=ENDS), tmp_path)["conservation"] == {
        "planned": 180,
        "scored": 176,
        "unreadable": 1,
        "infrastructure": 1,
        "cancelled": 1,
        "owed": 1,
    }


def test_the_digest_is_over_one_canonical_array(make_run: MakeRun, tmp_path: Path) -> None:
    """results_digest hashes one sorted, compact array: an entry a scored trial, id and type of the others, no owed."""
    run = make_run(unscored=ENDS)
    names = {0: "unreadable", 1: "infrastructure", 2: "cancelled"}
    array: list[object] = [{"episode_id": run.plan.key(place), "type": name} for place, name in names.items()]
    array += [run.driver.digest_entry(row) for row in run.rows()]
    expected = "sha256:" + hashlib.sha256(orjson.dumps(array, option=orjson.OPT_SORT_KEYS)).hexdigest()
    assert write(run, tmp_path)["results_digest"] == expected


def test_an_empty_digest_is_that_of_an_empty_array() -> None:
    """Where everything is owed the digest is that of ``[]``, and asking does not close it."""
    digest = ResultsDigest()
    assert digest.value() == digest.value() == "sha256:" + hashlib.sha256(b"[]").hexdigest()
    digest.add({"b": 1, "a": "\u00e9"})
    assert digest.value() == "sha256:" + hashlib.sha256('[{"a":"\u00e9","b":1}]'.encode()).hexdigest()


def test_counts_that_do_not_add_up_break_the_law(anchor: FinishedRun, tmp_path: Path) -> None:
    """A trial that nobody accounts for, or a row that nobody counted, ends in an error and leaves no summary."""
    counts = anchor.counts()
    lost = counts | {"screen_only": counts["screen_only"]._replace(planned=91)}
    with pytest.raises(ConservationBroken, match="91 trials were planned and 90"):
        conservation_line(lost)
    wrong = counts | {"screen_only": counts["screen_only"]._replace(scored=89, owed=1)}
    with pytest.raises(ConservationBroken, match="89 trials are scored and 90 rows"):
        write(anchor, tmp_path, counts=wrong)
    assert not (tmp_path / "summary.json").exists()


def test_what_the_figures_are_about_stands_in_every_file(anchor: FinishedRun, tmp_path: Path) -> None:
    """Pack, split and digests are in the summary and in both reports."""
    info = {"pack": "anchor", "split": "dev", "pack_digest": "sha256:abc", "isolation": {"screen_only": "in-process"}}
    assert write(anchor, tmp_path, info=info)["info"] == info
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text()
        assert "pack anchor, split dev, pack digest sha256:abc" in text
        assert "no promise of isolation" in text


def test_reports_can_be_made_again_from_the_files(anchor: FinishedRun, tmp_path: Path) -> None:
    """Summary and rows alone give the same reports, byte for byte."""
    write(anchor, tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in ("report.md", "report.html")}
    for name in before:
        (tmp_path / name).unlink()
    write_reports(tmp_path, read_summary(tmp_path), anchor.driver)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("content", [None, b"{", b"[]", b'{"format": 2}'])
def test_what_is_no_summary_is_an_input_error(tmp_path: Path, content: bytes | None) -> None:
    """A missing, broken or foreign summary is reported with its path."""
    if content is not None:
        (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(InputError, match=r"summary\.json"):
        read_summary(tmp_path)
