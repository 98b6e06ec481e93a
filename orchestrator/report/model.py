"""What every renderer is given, and the sentences that all of them share (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from orchestrator.attestations import attestation_sentence, audit_warning
from orchestrator.kinds.base import Section

_ABOUT: Final = (
    ("provider", "provider"),
    ("provider_version", "version"),
    ("pack", "pack"),
    ("split", "split"),
    ("pack_digest", "pack digest"),
    ("split_digest", "split digest"),
    ("plan_digest", "plan digest"),
)

_PROMISES: Final[Mapping[str, str]] = {
    "in-process": "ran in the worker's own process, so the readings of these trials carry no promise of isolation",
    "process": "ran in processes of its own, under the worker's user",
    "user": "ran in processes of its own, under a user of its own",
    "sandbox": "ran in a sandbox of its own",
}


_WORDS: Final[Mapping[str, str]] = {"swer": "SWER", "over_halt": "over-halt"}


class Report(NamedTuple):
    """A report before it is rendered.

    Attributes:
        summary: as in ``summary.json``.
        headline: names of the kind's headline figures, in order.
        sections: the kind's sections, in reading order.
    """

    summary: Mapping[str, Any]
    headline: Sequence[str]
    sections: Sequence[Section]


class Figure(NamedTuple):
    """One headline figure of an arm.

    Attributes:
        name: in words.
        counts: raw counts as text.
        rate: the rate, or None where nothing was scored.
        lo, hi: the interval's ends, or None.
    """

    name: str
    counts: str
    rate: float | None
    lo: float | None
    hi: float | None

    @property
    def value(self) -> str:
        """The rate as text."""
        return "none" if self.rate is None else f"{self.rate:.4f}"

    @property
    def interval(self) -> str:
        """The interval as text, "" where there is none."""
        return "" if self.lo is None or self.hi is None else f"{self.lo:.4f} to {self.hi:.4f}"


def title_of(report: Report) -> str:
    """The report's title."""
    return f"Run {report.summary['run_id']}"


def about_line(report: Report) -> str:
    """What the figures are about, for the head of the report and beside each of its tables."""
    info = report.summary["info"]
    parts = [f"{word} {info[name]}" for name, word in _ABOUT if info.get(name) not in (None, "")]
    return ", ".join(parts) if parts else "pack and split were not given"


def conservation_sentence(report: Report) -> str:
    """Where every planned trial is."""
    parts = dict(report.summary["conservation"])
    planned = parts.pop("planned")
    return f"{planned} planned = " + " + ".join(f"{count} {name}" for name, count in parts.items())


def promises_of(report: Report) -> list[str]:
    """What each isolation level promises, with the arms that ran at it, and what is attested of the tasks."""
    attested = attestation_sentence(report.summary["info"])
    return [*_isolation_sentences(report), *([attested] if attested else [])]


def _isolation_sentences(report: Report) -> list[str]:
    levels: Mapping[str, str] = report.summary["info"].get("isolation") or {}
    by_level: dict[str, list[str]] = {}
    for arm, level in levels.items():
        by_level.setdefault(level, []).append(arm)
    return [
        f"Isolation {level}: {', '.join(arms)} {_PROMISES.get(level.split(' ')[0], 'ran at this level')}."
        for level, arms in by_level.items()
    ]


def warnings_of(report: Report) -> list[str]:
    """What a reader has to know before the figures."""
    line = report.summary["conservation"]
    warnings = [str(text) for text in report.summary["info"].get("warnings") or ()]
    kept = report.summary["info"].get("kept")
    if kept:
        warnings.append(
            f"The plan of this run has changed; these figures are those of plan {kept['plans']}. {kept['trials']} "
            "trials ended under an earlier plan and were kept, since nothing that they depend on has changed."
        )
    audits = audit_warning(report.summary["info"])
    if audits:
        warnings.append(audits)
    if line["owed"]:
        warnings.append(f"The run is not complete: {line['owed']} trials are owed; `resume` goes on.")
    apart = line["unreadable"] + line["infrastructure"] + line["cancelled"]
    if apart:
        warnings.append(
            f"{apart} trials have no verdict and are in no rate; the bounds say how much they could change."
        )
    return warnings


def figures_of(report: Report, arm: str) -> list[Figure]:
    """The headline figures of an arm that are rates."""
    summary = report.summary["arms"][arm]
    return [_figure(name, summary[name]) for name in report.headline if _is_rate(summary.get(name))]


def _is_rate(value: object) -> bool:
    return isinstance(value, Mapping) and {"numerator", "denominator", "rate"} <= value.keys()


def _figure(name: str, rate: Mapping[str, Any]) -> Figure:
    ci = rate.get("ci") or {}
    words = _WORDS.get(name, name.replace("_", " "))
    return Figure(words, f"{rate['numerator']}/{rate['denominator']}", rate["rate"], ci.get("lo"), ci.get("hi"))
