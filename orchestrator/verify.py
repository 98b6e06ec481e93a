"""Does a finished run say what its journal says? Every number is made again, and the first difference is named.

The journal is the truth. From it come the rows, the counts, ``results_digest`` and the run's name; from the rows come
the figures. What the summary says of pack and split stands in no journal and is taken as it is. A row's label is
derived again from its report, its reading and its task, where the kind can do that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import orjson

from orchestrator.history import JOURNAL_NAME
from orchestrator.journal import TERMINAL, Line, LineReader, LineType, recover
from orchestrator.kinds.base import Counts, DriverSide
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from orchestrator.results import EPISODES, SUMMARY, ResultsDigest, build_summary, read_summary
from spec.canonical import JsonObject
from spec.errors import ConservationBroken, InputError

_TOLERANCE: Final = 1e-12
"""Relative difference of two numbers that another version of a library may make."""

_IN_THE_HEAD: Final = ("plan_digest", "isolation")
_MISSING: Final = "(nothing)"


@runtime_checkable
class ChecksRows(Protocol):
    """A kind's driver side that can derive a row's label again."""

    def check_row(self, row: Mapping[str, Any]) -> list[str]:
        """Everything that is wrong with a row; empty for a sound one."""


class Difference(NamedTuple):
    """The first thing in a run that is not what it should be.

    Attributes:
        where: file and place in it, such as ``summary.json: arms.screen_only.swer.rate``.
        expected: what the journal makes of it.
        found: what stands there.
    """

    where: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        """One sentence."""
        return f"{self.where}: expected {self.expected!r}, found {self.found!r}"


class Verification(NamedTuple):
    """What a verification came to.

    Attributes:
        difference: the first one, or None.
        rows: how many rows were checked.
        figures: how many values of the summary were compared.
    """

    difference: Difference | None
    rows: int
    figures: int

    @property
    def ok(self) -> bool:
        """Whether everything is as it should be."""
        return self.difference is None


def verify_run(
    run_dir: Path,
    *,
    driver_side: DriverSide,
    plan: Plan,
    seed: int,
    kind_name: str | None = None,
    info: JsonObject | None = None,
) -> Verification:
    """Verify a run from its files.

    Args:
        run_dir: the run directory.
        driver_side: the kind's part in the driver, built as for a resume of the run.
        plan: the run's plan.
        seed: the run's seed.
        kind_name: the kind's name; None: as the summary says.
        info: what the figures are about; None: as the summary says, but for what the journal's head knows better.

    Raises:
        JournalDamaged: the journal itself is not what was written.
        InputError: the journal or the summary cannot be read.
    """
    summary = read_summary(run_dir)
    standing = _Standing(plan)
    head = recover(run_dir / JOURNAL_NAME, standing.take).head
    rows, digest = 0, ResultsDigest()
    if standing.difference is not None:
        return Verification(standing.difference, rows, 0)
    with closing(_differences(run_dir, driver_side, standing.ledger, digest)) as differences:
        for difference in differences:
            rows += 1
            if difference is not None:
                return Verification(difference, rows, 0)
    figures = Counter[str]()
    said = {**summary, **({} if kind_name is None else {"kind": kind_name}), **({} if info is None else {"info": info})}
    difference = _summary_difference(
        run_dir, head, said, summary, driver_side, standing.ledger.counts(), seed, digest.value(), figures
    )
    return Verification(difference, rows, figures["compared"])


class _Standing:
    """Where each trial's terminal line stands, from one pass over the journal; what contradicts the plan is kept.

    A resume refuses such a journal; a verification has to say what is wrong with it.
    """

    def __init__(self, plan: Plan) -> None:
        self.ledger = Ledger(plan)
        self.difference: Difference | None = None

    def take(self, line: Line) -> None:
        """Note one line."""
        if line.type not in TERMINAL and line.type not in (LineType.REOPENED, LineType.FAILED):
            return
        ordinal = self.ledger.plan.find(line.key or "")
        if ordinal is None:
            self._differ(line, "a trial of the plan", line.key)
            return
        if line.type in (LineType.FAILED, LineType.UNREADABLE) and line.fields().get("cause") == "unreadable":
            self.ledger.unreadable_attempts[self.ledger.plan.arms[self.ledger.plan.cell(ordinal).arm]] += 1
        if line.type is LineType.REOPENED:
            self.ledger.reopened(ordinal)
        elif line.type in TERMINAL and not self.ledger.is_owed(ordinal):
            self._differ(line, "one terminal line a trial", f"a second one of {line.key}")
        elif line.type in TERMINAL:
            self.ledger.ended(ordinal, Standing[line.type.name], line.offset_bytes)

    def _differ(self, line: Line, expected: str, found: str | None) -> None:
        if self.difference is None:
            self.difference = Difference(f"{JOURNAL_NAME}: line {line.seq + 1}", expected, found)


def _differences(
    run_dir: Path, driver_side: DriverSide, ledger: Ledger, digest: ResultsDigest
) -> Generator[Difference | None, None, None]:
    """One answer a row of ``episodes.jsonl``, in plan order; feeds the digest on the way."""
    check = driver_side.check_row if isinstance(driver_side, ChecksRows) else None
    rows = _journal_rows(run_dir / JOURNAL_NAME, driver_side, ledger, digest)
    try:
        with (run_dir / EPISODES).open("rb") as lines:
            for number, (expected, line) in enumerate(zip_longest(rows, lines), 1):
                yield _row_difference(f"{EPISODES}: line {number}", expected, line, check)
    except OSError as error:
        raise InputError(f"{run_dir / EPISODES}: cannot be read: {error.strerror}") from error


def _journal_rows(
    journal: Path, driver_side: DriverSide, ledger: Ledger, digest: ResultsDigest
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and row of each scored trial, in plan order."""
    with LineReader(journal) as reader:
        for ordinal in range(len(ledger.plan)):
            offset = ledger.offset_bytes(ordinal)
            if offset is None:
                continue
            fields = orjson.loads(reader.read(offset))
            if fields["type"] == LineType.SCORED:
                digest.add(driver_side.digest_entry(fields["row"]))
                yield ledger.plan.key(ordinal), fields["row"]
            else:
                digest.add({"episode_id": fields["key"], "type": fields["type"]})


def _row_difference(
    where: str,
    expected: tuple[str, dict[str, Any]] | None,
    line: bytes | None,
    check: Callable[[Mapping[str, Any]], list[str]] | None,
) -> Difference | None:
    if expected is None or line is None:
        return Difference(where, _MISSING if expected is None else expected[0], line or _MISSING)
    key, row = expected
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Difference(where, "a JSON object", str(error))
    difference = first_difference(row, found, "")
    if difference is not None:
        return difference._replace(where=f"{where}: {difference.where}")
    if row.get("episode_id", key) != key:
        return Difference(f"{where}: episode_id", key, row["episode_id"])
    problems = check(row) if check is not None else []
    return Difference(f"{where}: {key}", "a sound row", "; ".join(problems)) if problems else None


def _summary_difference(
    run_dir: Path,
    head: JsonObject,
    said: Mapping[str, Any],
    summary: dict[str, Any],
    driver_side: DriverSide,
    counts: Mapping[str, Counts],
    seed: int,
    results_digest: str,
    figures: Counter[str],
) -> Difference | None:
    try:
        expected = build_summary(
            run_dir / EPISODES,
            run_id=str(head["run_id"]),
            kind_name=str(said.get("kind")),
            driver_side=driver_side,
            counts=counts,
            info=_info(head, said),
            seed=seed,
            results_digest=results_digest,
        )
    except (ValueError, ConservationBroken) as error:
        return Difference(EPISODES, "rows that give a summary", str(error))
    difference = first_difference(orjson.loads(orjson.dumps(expected)), summary, "", figures)
    return None if difference is None else difference._replace(where=f"{SUMMARY}: {difference.where}")


def _info(head: JsonObject, said: Mapping[str, Any]) -> dict[str, Any]:
    """What the figures are about: as is said, but for what the journal's head knows better."""
    info: Mapping[str, Any] = said.get("info") or {}
    return {name: head.get(name, said) if name in _IN_THE_HEAD else said for name, said in info.items()}


def first_difference(
    expected: object, found: object, where: str, seen: Counter[str] | None = None
) -> Difference | None:
    """The first place, depth first in the expected order, at which two JSON values differ.

    Args:
        expected: what should stand there.
        found: what stands there.
        where: dotted path of this place, "" for the top.
        seen: counts the values that were compared, under ``compared``.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        places = [(key, expected.get(key, _MISSING), found.get(key, _MISSING)) for key in {**expected, **found}]
    elif isinstance(expected, list) and isinstance(found, list):
        pairs = zip_longest(expected, found, fillvalue=_MISSING)
        places = [(index, one, other) for index, (one, other) in enumerate(pairs)]
    else:
        if seen is not None:
            seen["compared"] += 1
        return None if _same(expected, found) else Difference(where or "(all of it)", expected, found)
    for key, one, other in places:
        difference = first_difference(one, other, f"{where}.{key}" if where else str(key), seen)
        if difference is not None:
            return difference
    return None


def _same(expected: object, found: object) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(expected, found, rel_tol=_TOLERANCE)
    return type(expected) is type(found) and bool(expected == found)
