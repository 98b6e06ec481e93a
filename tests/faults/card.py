"""The fault card: what was injected, how often, and what it broke.

``docs/fault-card.json`` is the card as data, a row by its number::

    {"format": 1, "rows": {"1": {"fault", "trials", "injected", "violations": [...], "seconds",
                                 "mode", "seed", "date", "command", "machine": {...}, "note"}}}

``docs/fault-card.md`` is made from it. A run of some rows leaves the others as they stand there.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Protocol

import orjson

FORMAT: Final = 1
SOAK: Final = 26
MACHINE: Final = 27
NODES: Final = 28
"""The numbers under which soak, state machine of the driver and killed nodes stand; the card has 25 rows."""
SHOWN: Final = {SOAK: "soak", MACHINE: "machine", NODES: "2, nodes"}

NEEDS_PROCESSES: Final = "needs isolation level `process`, which this version does not have"
NOTES: Final[Mapping[int, str]] = {
    **dict.fromkeys((16, 17, 18, 20, 21), NEEDS_PROCESSES),
    19: "reports are return values; those of arms in processes of their own come with level `process`",
    24: "a run directory as a whole; files handed in by others come with the leaderboard",
}
"""Row -> why it cannot be complete yet."""


@dataclass
class Recorder:
    """What one row has seen so far.

    Attributes:
        trials: how often the whole was tried.
        injected: how many faults were injected.
        found: violated invariants, as texts.
        seconds: how long the row's tests took.
        notes: what is said beside the figures.
    """

    number: int
    fault: str
    trials: int = 0
    injected: int = 0
    found: list[str] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Say something beside the figures, such as a measurement."""
        self.notes.append(text)

    def trial(self, n: int = 1) -> None:
        """Count trials."""
        self.trials += n

    def inject(self, n: int = 1) -> None:
        """Count injected faults."""
        self.injected += n

    def violations(self, found: Iterable[object]) -> None:
        """Note what a checker found; nothing where it found nothing."""
        self.found += map(str, found)


class Card:
    """The rows of one session of tests."""

    def __init__(self) -> None:
        self.rows: dict[int, Recorder] = {}

    def row(self, number: int, fault: str) -> Recorder:
        """The recorder of a row; several tests may add to one."""
        return self.rows.setdefault(number, Recorder(number, fault))

    def merged(self, before: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """The card's data with this session's rows in the place of earlier ones.

        Args:
            before: the data as they stand, or nothing.
            facts: of this session, added to each of its rows.
        """
        rows = dict(before.get("rows", {})) if before.get("format") == FORMAT else {}
        for number, row in self.rows.items():
            rows[str(number)] = {
                "fault": row.fault,
                "trials": row.trials,
                "injected": row.injected,
                "violations": row.found,
                "seconds": round(row.seconds, 1),
                "note": "; ".join(filter(None, [*row.notes, NOTES.get(number, "")])),
                **facts,
            }
        return {"format": FORMAT, "rows": dict(sorted(rows.items(), key=lambda item: int(item[0])))}


class CardOfTest:
    """The card as one test sees it; the test's time goes to the rows that it asked for."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._before = {number: len(row.found) for number, row in card.rows.items()}
        self.asked: list[Recorder] = []

    def row(self, number: int, fault: str) -> Recorder:
        """The recorder of a row."""
        recorder = self._card.row(number, fault)
        if recorder not in self.asked:
            self.asked.append(recorder)
        return recorder

    def found(self) -> list[str]:
        """What this test has noted as violated."""
        return [text for row in self.asked for text in row.found[self._before.get(row.number, 0) :]]


class Scale(Protocol):
    """Picks a count by the size of the session."""

    def __call__(self, *, smoke: int, quick: int, full: int) -> int:
        """The one of the three that is asked for."""


def machine() -> dict[str, str]:
    """What the figures were taken on; no names and no places."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "ray": version("ray"),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def bound(faults: int, violations: int) -> str:
    """What no violation in N faults allows to say: at 95 %, at most 3/N of such faults violate anything."""
    if violations or not faults:
        return ""
    return f"≤ {min(3 / faults, 1):.1%}"


def markdown(data: Mapping[str, Any]) -> str:
    """The card as a page."""
    rows: Mapping[str, Mapping[str, Any]] = data["rows"]
    lines = [
        "# The fault card",
        "",
        "What was broken on purpose, how often, and what it did to the results. Rows are judged by `tests/checker`, a",
        "program that knows a run's files and none of the project's code. A violation is a lost, doubled or changed",
        "row, a verdict without a reading, a wrong exit code, a process left behind. **Bound**: where N faults",
        "violated nothing, at most 3/N of such faults do, at 95 % (the rule of three).",
        "",
        f"Made by `make faults` ({_total(rows)}). Parts of it: `make faults-quick`, or",
        "`pytest tests/faults/test_01_driver_killed.py --faults=full --fault-seed=N`.",
        "",
        "| # | fault | trials | faults injected | violations | bound | seconds | mode | note |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    lines += [_line(number, row) for number, row in rows.items()]
    lines += ["", "## Where and when", "", *_circumstances(rows)]
    broken = [f"* {number}: {text}" for number, row in rows.items() for text in row["violations"]]
    if broken:
        lines += ["", "## Violations", "", *broken]
    return "\n".join(lines) + "\n"


def _total(rows: Mapping[str, Mapping[str, Any]]) -> str:
    faults = sum(row["injected"] for row in rows.values())
    violations = sum(len(row["violations"]) for row in rows.values())
    minutes = sum(row["seconds"] for row in rows.values()) / 60
    return f"{faults:,} faults, {violations} violations, {minutes:.0f} minutes in all"


def _line(number: str, row: Mapping[str, Any]) -> str:
    count = len(row["violations"])
    cells = [
        SHOWN.get(int(number), number),
        row["fault"],
        f"{row['trials']:,}",
        f"{row['injected']:,}",
        f"**{count}**" if count else "0",
        bound(row["injected"], count),
        f"{row['seconds']:.0f}",
        row["mode"],
        row["note"],
    ]
    return f"| {' | '.join(cells)} |"


def _circumstances(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One line a session: what was called, with which seed, on what, when."""
    sessions: dict[str, list[str]] = {}
    for number, row in rows.items():
        of = row["machine"]
        text = (
            f"`{row['command']}`, seed {row['seed']}, {row['date']}: {of['cpu']}, {of['cores']} cores, "
            f"{of['system']}, Python {of['python']}, Ray {of['ray']}"
        )
        sessions.setdefault(text, []).append(SHOWN.get(int(number), number))
    return [f"* rows {', '.join(numbers)}: {text}" for text, numbers in sessions.items()]


def read_card(path: Path) -> dict[str, Any]:
    """The card's data as they stand; nothing where there is no card."""
    return dict(orjson.loads(path.read_bytes())) if path.exists() else {}


def write_card(folder: Path, data: Mapping[str, Any]) -> None:
    """Write the card as data and as a page."""
    (folder / "fault-card.json").write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n")
    (folder / "fault-card.md").write_text(markdown(data), encoding="utf-8")
