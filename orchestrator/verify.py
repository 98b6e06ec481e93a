"""Does a finished run say what its journal says? Every number is made again, and the first difference is named.

The journal is the truth. From it come the rows, the counts, ``results_digest`` and the run's name; from the rows come
the figures. What the summary says of pack and split stands in no journal and is taken as it is. A row's label is
derived again from its report, its reading and its task, where the kind can do that. A run can have had several plans;
every trial that counts has to be one of the latest, by its ``trial_digest``.
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

from orchestrator.content import Content, other_digest
from orchestrator.history import JOURNAL_NAME, LatestPlan, Replay
from orchestrator.journal import Line, LineReader, LineType, recover
from orchestrator.kinds.base import Counts, DriverSide
from orchestrator.ledger import Ledger
from orchestrator.plan import Plan
from orchestrator.results import EPISODES, SUMMARY, ResultsDigest, build_summary, kept_info, read_summary
from orchestrator.shapes import from_row
from spec.canonical import JsonObject
from spec.errors import ConservationBroken, InputError

_TOLERANCE: Final = 1e-12
"""Relative difference of two numbers that another version of a library may make."""

_IN_THE_JOURNAL: Final = ("plan_digest", "isolation")
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
    seed_of: Callable[[int], int] | None = None,
) -> Verification:
    """Verify a run from its files.

    Args:
        run_dir: the run directory.
        driver_side: the kind's part in the driver, built as for a resume of the run.
        plan: the run's plan.
        seed: the run's seed.
        kind_name: the kind's name; None: as the summary says.
        info: what the figures are about; None: as the summary says, but for what the journal knows better.
        seed_of: ordinal -> seed, for trials without a row; None: nobody can say, and their digests are not checked.

    Raises:
        JournalDamaged: the journal itself is not what was written.
        InputError: the journal or the summary cannot be read.
    """
    summary = read_summary(run_dir)
    standing = _Standing(plan)
    sessions = recover(run_dir / JOURNAL_NAME, standing.replay.on_line).sessions
    rows, digest = 0, ResultsDigest()
    if standing.difference is not None:
        return Verification(standing.difference, rows, 0)
    ledger = standing.replay.ledger
    check = _digest_check(sessions[-1].get("parts"), plan, seed_of)
    with closing(_differences(run_dir, driver_side, ledger, digest, check)) as differences:
        for difference in differences:
            rows += 1
            if difference is not None:
                return Verification(difference, rows, 0)
    figures = Counter[str]()
    said = {**summary, **({} if kind_name is None else {"kind": kind_name}), **({} if info is None else {"info": info})}
    said["info"] = _info(sessions[-1], said, standing.replay.latest, ledger)
    difference = _summary_difference(
        run_dir, sessions[0], said, summary, driver_side, ledger.counts(), seed, digest.value(), figures
    )
    return Verification(difference, rows, figures["compared"])


class _Standing:
    """Where each trial's terminal line stands, from one pass over the journal; what contradicts the plan is kept.

    A resume refuses such a journal; a verification has to say what is wrong with it.
    """

    def __init__(self, plan: Plan) -> None:
        self.replay = Replay(plan, self._twice)
        self._second: Line | None = None

    def _twice(self, line: Line) -> None:
        self._second = self._second or line

    @property
    def difference(self) -> Difference | None:
        """The first line that cannot be, or None."""
        found = [line for line in (self.replay.foreign, self._second) if line is not None]
        if not found:
            return None
        line = min(found, key=lambda line: line.seq)
        where = f"{JOURNAL_NAME}: line {line.seq + 1}"
        if line is self._second:
            return Difference(where, "one terminal line a trial", f"a second one of {line.key}")
        return Difference(where, "a trial of the plan", line.key)


DigestCheck = Callable[[int, Mapping[str, Any]], Difference | None]


def _digest_check(parts: Any, plan: Plan, seed_of: Callable[[int], int] | None) -> DigestCheck:  # noqa: ANN401 - JSON
    """Looks whether a terminal line is one of the latest plan; a journal that names no parts cannot tell."""
    content = None if parts is None else Content(parts, plan)

    def check(ordinal: int, fields: Mapping[str, Any]) -> Difference | None:
        expected = None if content is None else other_digest(content, ordinal, fields, seed_of)
        if expected is None:
            return None
        where = f"{JOURNAL_NAME}: line {fields['seq'] + 1}: trial_digest of {fields['key']}"
        return Difference(where, expected, fields.get("trial_digest", _MISSING))

    return check


def _differences(
    run_dir: Path, driver_side: DriverSide, ledger: Ledger, digest: ResultsDigest, check_digest: DigestCheck
) -> Generator[Difference | None, None, None]:
    """One answer a row of ``episodes.jsonl``, in plan order; feeds the digest on the way."""
    check = driver_side.check_row if isinstance(driver_side, ChecksRows) else None
    others: list[Difference] = []
    rows = _journal_rows(run_dir / JOURNAL_NAME, driver_side, ledger, digest, check_digest, others)
    try:
        with (run_dir / EPISODES).open("rb") as lines:
            for number, (expected, line) in enumerate(zip_longest(rows, lines), 1):
                if others:
                    break
                yield _row_difference(f"{EPISODES}: line {number}", expected, line, check)
    except OSError as error:
        raise InputError(f"{run_dir / EPISODES}: cannot be read: {error.strerror}") from error
    yield from others[:1]


def _journal_rows(
    journal: Path,
    driver_side: DriverSide,
    ledger: Ledger,
    digest: ResultsDigest,
    check_digest: DigestCheck,
    others: list[Difference],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and row of each scored trial, in plan order, up to the first one of another plan, which is noted."""
    with LineReader(journal) as reader:
        for ordinal in range(len(ledger.plan)):
            offset = ledger.offset_bytes(ordinal)
            if offset is None:
                continue
            fields = orjson.loads(reader.read(offset))
            other = check_digest(ordinal, fields)
            if other is not None:
                others.append(other)
                return
            if fields["type"] == LineType.SCORED:
                digest.add(from_row(fields, driver_side.digest_entry))
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
            info=said["info"],
            seed=seed,
            results_digest=results_digest,
        )
    except (InputError, ValueError, ConservationBroken) as error:
        return Difference(EPISODES, "rows that give a summary", str(error))
    difference = first_difference(orjson.loads(orjson.dumps(expected)), summary, "", figures)
    return None if difference is None else difference._replace(where=f"{SUMMARY}: {difference.where}")


def _info(session: JsonObject, said: Mapping[str, Any], latest: LatestPlan, ledger: Ledger) -> dict[str, Any]:
    """What the figures are about: as is said, but for what the journal's last session knows better."""
    info: Mapping[str, Any] = said.get("info") or {}
    known = {name: session.get(name, value) for name, value in info.items() if name in _IN_THE_JOURNAL}
    others = {name: value for name, value in info.items() if name != "kept"}
    return {**others, **known, **kept_info(latest, ledger)}


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
