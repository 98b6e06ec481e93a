"""From a run's journal to its files: ``episodes.jsonl``, ``summary.json``, ``report.md``, ``report.html``.

Each is derived and can be made again at any time; each is put in place as a whole. ``episodes.jsonl`` holds one line a
scored row, in plan order, the row alone. ``summary.json`` is one JSON object::

    {"format": 1, "run_id", "kind", "info": {...},
     "conservation": {"planned", "scored", "unreadable", "infrastructure", "cancelled", "owed"},
     "arms": {name: summary}, "comparisons": [...], "results_digest": "sha256:..."}

``info`` says what the figures are about. All of its keys are optional, and the reports show them beside every table:
provider, provider_version, pack, split, pack_digest, split_digest, plan_digest as texts, isolation as {arm: level},
warnings as a list of sentences, and, where the run's plan has changed, kept as {"plans": how many it has had,
"trials": how many ended under an earlier one}. Whatever else it holds (trials, tasks_digest) is kept and not shown.

Memory does not grow with the number of trials: rows stream from the journal into the file, and the figures come from a
scan of that file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from orchestrator.files import OS_FILES, FileSystem, write_atomically
from orchestrator.history import LatestPlan
from orchestrator.kinds.base import Counts, DriverSide
from orchestrator.ledger import Ledger, conservation
from orchestrator.plan import Plan
from orchestrator.report import Report, render_html, render_markdown
from orchestrator.shapes import from_row
from spec.canonical import Json, JsonObject, canonical_json
from spec.errors import ConservationBroken, InputError

SUMMARY_FORMAT: Final = 1

EPISODES: Final = "episodes.jsonl"
SUMMARY: Final = "summary.json"
REPORT_MARKDOWN: Final = "report.md"
REPORT_HTML: Final = "report.html"

Terminal = Callable[[int], bytes | None]
"""Ordinal of a planned trial -> its terminal journal line, or None while it is owed."""

_PARTS: Final = ("scored", "unreadable", "infrastructure", "cancelled", "owed")


class ResultsDigest:
    """The hash over what a run found, free of times, costs, attempts and hosts.

    ``sha256:`` over one canonical JSON array with an entry for each trial that is not owed, in plan order.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"[")
        self._separator = b""

    def add(self, entry: JsonObject) -> None:
        """Add the next trial's entry."""
        self._hash.update(self._separator + canonical_json(entry))
        self._separator = b","

    def value(self) -> str:
        """The digest of the array as it stands."""
        closed = self._hash.copy()
        closed.update(b"]")
        return "sha256:" + closed.hexdigest()


def write_results(
    run_dir: Path,
    *,
    run_id: str,
    kind_name: str,
    driver_side: DriverSide,
    plan: Plan,
    terminal: Terminal,
    counts: Mapping[str, Counts],
    info: JsonObject,
    seed: int,
    files: FileSystem = OS_FILES,
) -> dict[str, Any]:
    """Write the four files of a run.

    Args:
        run_dir: the run directory, which exists.
        run_id: the run's name.
        kind_name: the kind's name.
        driver_side: the kind's part in the driver.
        plan: the planned trials.
        terminal: the trials' terminal lines.
        counts: arm -> how its trials ended, in the configuration's order.
        info: what the figures are about; see the module.
        seed: the run's seed, for the bootstrap.
        files: the disk.

    Returns:
        The summary, as written.

    Raises:
        ConservationBroken: the counts do not add up, or are not those of the lines.
        InputError: a row is none of this plan: somebody else wrote it into the journal.
        JournalUnwritable: the disk refused.
    """
    digest, scored = ResultsDigest(), Counter[str]()
    write_atomically(run_dir / EPISODES, _episodes(driver_side, plan, terminal, digest, scored), files)
    _check_scored(counts, scored)
    summary = build_summary(
        run_dir / EPISODES,
        run_id=run_id,
        kind_name=kind_name,
        driver_side=driver_side,
        counts=counts,
        info=info,
        seed=seed,
        results_digest=digest.value(),
    )
    write_atomically(run_dir / SUMMARY, orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n", files)
    write_reports(run_dir, summary, driver_side, files)
    return summary


def build_summary(
    episodes: Path,
    *,
    run_id: str,
    kind_name: str,
    driver_side: DriverSide,
    counts: Mapping[str, Counts],
    info: JsonObject,
    seed: int,
    results_digest: str,
) -> dict[str, Any]:
    """The content of ``summary.json``, from the rows' file and the counts.

    Raises:
        ConservationBroken: the counts do not add up.
        InputError: a row is none of this plan.
        ValueError: the rows are not those that the counts speak of.
    """
    line = conservation_line(counts)
    arms, comparisons = driver_side.summarise(episodes, counts, seed)
    return {
        "format": SUMMARY_FORMAT,
        "run_id": run_id,
        "kind": kind_name,
        "info": dict(info),
        "conservation": line,
        "arms": arms,
        "comparisons": comparisons,
        "results_digest": results_digest,
    }


def conservation_line(counts: Mapping[str, Counts]) -> dict[str, int]:
    """How all planned trials ended.

    Raises:
        ConservationBroken: planned is not the sum of its parts, for some arm.
    """
    for arm, of_arm in counts.items():
        total = sum(getattr(of_arm, part) for part in _PARTS)
        if total != of_arm.planned:
            raise ConservationBroken(f"{arm}: {of_arm.planned} trials were planned and {total} are accounted for")
    return conservation(counts)


def write_reports(
    run_dir: Path, summary: Mapping[str, Any], driver_side: DriverSide, files: FileSystem = OS_FILES
) -> None:
    """Write ``report.md`` and ``report.html`` from a summary and the rows beside it.

    Raises:
        JournalUnwritable: the disk refused.
    """
    report = make_report(run_dir, summary, driver_side)
    write_atomically(run_dir / REPORT_MARKDOWN, render_markdown(report).encode(), files)
    write_atomically(run_dir / REPORT_HTML, render_html(report).encode(), files)


def make_report(run_dir: Path, summary: Mapping[str, Any], driver_side: DriverSide) -> Report:
    """What the three renderers of ``orchestrator.report`` take."""
    return Report(
        summary=summary,
        headline=tuple(driver_side.headline({})),
        sections=tuple(driver_side.sections(summary, run_dir / EPISODES)),
    )


def kept_info(latest: LatestPlan, ledger: Ledger) -> dict[str, Json]:
    """What ``info`` says of trials that ended under an earlier plan and are the same in the latest one."""
    if latest.number == 1:
        return {}
    return {"kept": {"plans": latest.number, "trials": ledger.ended_before(latest.since_bytes)}}


def read_summary(run_dir: Path) -> dict[str, Any]:
    """The run's summary, as it stands on the disk.

    Raises:
        InputError: there is none, or it is not one of this format.
    """
    path = run_dir / SUMMARY
    try:
        summary = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: is no JSON: {error}") from error
    if not isinstance(summary, dict) or summary.get("format") != SUMMARY_FORMAT:
        raise InputError(f"{path}: is no summary of format {SUMMARY_FORMAT}")
    return summary


def _episodes(
    driver_side: DriverSide, plan: Plan, terminal: Terminal, digest: ResultsDigest, scored: Counter[str]
) -> Iterator[bytes]:
    """The rows' file in pieces; feeds the digest and counts the scored trials of each arm on the way."""
    for ordinal in range(len(plan)):
        line = terminal(ordinal)
        if line is None:
            continue
        fields = orjson.loads(line)
        if fields["type"] != "scored":
            digest.add({"episode_id": fields["key"], "type": fields["type"]})
            continue
        digest.add(from_row(fields, driver_side.digest_entry))
        scored[plan.arms[plan.cell(ordinal).arm]] += 1
        yield orjson.dumps(fields["row"], option=orjson.OPT_APPEND_NEWLINE)


def _check_scored(counts: Mapping[str, Counts], scored: Counter[str]) -> None:
    for arm, of_arm in counts.items():
        if of_arm.scored != scored[arm]:
            raise ConservationBroken(f"{arm}: {of_arm.scored} trials are scored and {scored[arm]} rows were written")
