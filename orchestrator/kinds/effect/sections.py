"""The report's sections of kind effect: titled tables of plain text; ``orchestrator.report`` renders and escapes them.

A silent wrong-effect rate never stands without its over-halt rate, and no mean without the cells it is made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from orchestrator.attestations import MARK, unaudited
from orchestrator.kinds.base import Section
from orchestrator.kinds.effect.coverage import coverage_sections
from spec.errors import InputError
from spec.outcome import Outcome
from spec.text import describe

LISTED_MAX: Final = 1_000
"""Silent wrong effects that a report lists; the rest is counted and stands in the rows' file."""

LISTED_PER_TASK_MAX: Final = 25
"""The same for one arm and task, so that one task cannot fill the list."""

Summary = Mapping[str, Any]
ArmSummaries = Mapping[str, Mapping[str, Any]]


def effect_sections(summary: Summary, episodes: Path) -> list[Section]:
    """All sections, in reading order."""
    arms: ArmSummaries = summary["arms"]
    return [
        _headline(arms),
        _cells(arms),
        _outcomes(arms),
        *coverage_sections(arms, episodes),
        _reliability(arms),
        _unscored(arms),
        _effort(arms),
        _comparisons(summary["comparisons"], arms),
        _silent_wrong_effects(arms, episodes, unaudited(summary.get("info", {}))),
    ]


def _rate_text(rate: Mapping[str, Any]) -> str:
    """``50/90 = 0.5556 (0.4527 to 0.6538)``, the interval being the 95 % Wilson interval."""
    counts = f"{rate['numerator']}/{rate['denominator']}"
    if rate["rate"] is None:
        return f"{counts}, no rate"
    return f"{counts} = {rate['rate']:.4f} ({rate['ci']['lo']:.4f} to {rate['ci']['hi']:.4f})"


def _bounds_text(rate: Mapping[str, Any]) -> str:
    bounds = rate["bounds"]
    return "none planned" if bounds["lo"] is None else f"{bounds['lo']:.4f} to {bounds['hi']:.4f}"


def _number(value: float | None, places: int = 4) -> str:
    return "none" if value is None else f"{value:.{places}f}"


def _interval_text(value: float | None, ci: Mapping[str, Any] | None) -> str:
    return _number(value) if ci is None else f"{_number(value)} ({ci['lo']:.4f} to {ci['hi']:.4f})"


def _headline(arms: ArmSummaries) -> Section:
    rows = [
        (
            name,
            _rate_text(arm["swer"]),
            _rate_text(arm["over_halt"]),
            _rate_text(arm["task_success"]),
            _rate_text(arm["screen_success"]),
            _interval_text(arm["success_effect_gap"], arm["success_effect_gap_ci"]),
        )
        for name, arm in arms.items()
    ]
    return Section(
        "Headline",
        (
            "The silent wrong-effect rate (SWER) is the share of scored trials in which the arm reported success and "
            "the record does not show the effect. An arm can lower it by never acting, so its over-halt rate stands "
            "beside it. Raw counts, the rate, and its 95 % interval (Wilson; percentile bootstrap for the gap).",
        ),
        ("arm", "SWER", "over-halt", "task success", "screen success", "gap"),
        rows,
    )


def _cells(arms: ArmSummaries) -> Section:
    rows = [
        (
            name,
            cell["category"],
            cell["substrate"],
            f"{cell['n_episodes']}/{cell['n_planned']}",
            _rate_text(cell["swer"]),
            _rate_text(cell["over_halt"]),
            _rate_text(cell["task_success"]),
            _rate_text(cell["screen_success"]),
        )
        for name, arm in arms.items()
        for cell in arm["cells"]
    ]
    return Section(
        "Cells",
        ("The same rates for each category and substrate. The headline is their mean over trials and hides them.",),
        ("arm", "category", "substrate", "scored", "SWER", "over-halt", "task success", "screen success"),
        rows,
    )


def _outcomes(arms: ArmSummaries) -> Section:
    labels = [outcome.value for outcome in Outcome]
    rows = [
        (
            name,
            *(str(arm["outcome_counts"][label]) for label in labels),
            str(arm["swer_wrong_write"]["numerator"]),
            str(arm["swer_phantom"]["numerator"]),
        )
        for name, arm in arms.items()
    ]
    return Section(
        "Outcomes",
        ("Scored trials by label. A silent wrong effect is a wrong write or a phantom (nothing was written).",),
        ("arm", *labels, "of these wrong_write", "of these phantom"),
        rows,
    )


def _reliability(arms: ArmSummaries) -> Section:
    ks = list(next(iter(arms.values()))["pass_hat_k"]) if arms else []
    reasons = [
        f"{name}, k = {k}: {reason}." for name, arm in arms.items() for k, reason in arm["pass_hat_k_reason"].items()
    ]
    return Section(
        "Reliability (pass^k)",
        ("How likely k trials of a task in a row all succeed, as a mean over tasks.", *reasons),
        ("arm", *(f"pass^{k}" for k in ks)),
        [(name, *(_number(arm["pass_hat_k"][k]) for k in ks)) for name, arm in arms.items()],
    )


def _unscored(arms: ArmSummaries) -> Section:
    names = ("n_planned", "n_episodes", "n_unreadable", "n_infrastructure", "n_cancelled", "n_owed")
    rows = [
        (
            name,
            *(str(arm[field]) for field in names),
            str(arm["unreadable_attempts"]),
            _bounds_text(arm["swer"]),
            _bounds_text(arm["over_halt"]),
        )
        for name, arm in arms.items()
    ]
    return Section(
        "What was not scored",
        (
            "Trials without a verdict are in no rate. The bounds are the rates over all planned trials, had none or "
            "all of those counted. An arm can make its record unreadable, so unreadable attempts are shown for each.",
        ),
        (
            "arm",
            "planned",
            "scored",
            "unreadable",
            "infrastructure",
            "cancelled",
            "owed",
            "unreadable attempts",
            "bounds of SWER",
            "bounds of over-halt",
        ),
        rows,
    )


def _effort(arms: ArmSummaries) -> Section:
    rows = [
        (who, category, substrate, _cost_text(part), _number(part["mean_cost_usd"], 6), _number(part["mean_latency_s"]))
        for who, category, substrate, part in _arms_and_cells(arms)
    ]
    return Section(
        "Cost and time",
        ("Cost of model calls in US dollars and time that the arm ran in seconds; for each arm, then for each cell.",),
        ("arm", "category", "substrate", "total cost", "mean cost", "mean time"),
        rows,
    )


def _arms_and_cells(arms: ArmSummaries) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    for name, arm in arms.items():
        yield name, "all", "all", arm
        for cell in arm["cells"]:
            yield name, cell["category"], cell["substrate"], cell


def _cost_text(part: Mapping[str, Any]) -> str:
    total = f"{part['total_cost_usd']:.6f}"
    unknown = part["n_usage_unknown"]
    return total if not unknown else f"at least {total} (usage of {unknown} trials is unknown)"


def _comparisons(comparisons: Sequence[Mapping[str, Any]], arms: ArmSummaries) -> Section:
    reasons = [
        f"{name} and {other} are not compared: {reason}."
        for place, (name, arm) in enumerate(arms.items())
        for other, reason in arm["comparisons_reason"].items()
        if list(arms).index(other) > place
    ]
    rows = [
        (
            " - ".join(one["arms"]),
            str(one["n_pairs"]),
            f"{one['discordant']['only_first']} / {one['discordant']['only_second']}",
            _interval_text(one["swer_difference"], one["swer_difference_ci"]),
            f"{_number(one['over_halt'][0])} / {_number(one['over_halt'][1])}",
            f"{one['p_value']:.3g}",
            f"{one['p_holm']:.3g}",
        )
        for one in comparisons
    ]
    return Section(
        "Comparisons",
        (
            "Two arms over the trials that both have scored. The interval resamples whole tasks. The test takes "
            "trials for independent; where an arm always does the same on a task, its p value is too small.",
            *(reasons or ([] if len(arms) > 1 else ["There is one arm only."])),
        ),
        (
            "arms",
            "shared trials",
            "silently wrong: only first / only second",
            "difference of SWER",
            "over-halt of each",
            "p (exact McNemar)",
            "p (Holm)",
        ),
        rows,
    )


def _silent_wrong_effects(arms: ArmSummaries, episodes: Path, marked: Sequence[str]) -> Section:
    total = sum(arm["swer"]["numerator"] for arm in arms.values())
    rows = [] if not total else list(_listed(episodes, frozenset(marked)))
    more = total - len(rows)
    note = f" {more} more are not listed here; they stand in episodes.jsonl." if more else ""
    return Section(
        "Silent wrong effects",
        (f"{total} trials reported success while the record says otherwise.{note}",),
        ("trial", "variant", "what was said", "what was read", "records seen / expected"),
        rows,
    )


def _listed(episodes: Path, marked: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """The first silent wrong effects of each arm and task, in plan order, up to both limits.

    Raises:
        InputError: a row is not of the public form: somebody else wrote it.
    """
    of_task: Counter[tuple[str, str]] = Counter()
    with episodes.open("rb") as lines:
        for line in lines:
            if b"silent_wrong_effect" not in line:  # most lines of a large run need no parsing
                continue
            row = orjson.loads(line)
            place = (row["arm"], row["task_id"])
            if row["outcome"] != Outcome.SILENT_WRONG_EFFECT.value or of_task[place] >= LISTED_PER_TASK_MAX:
                continue
            of_task[place] += 1
            try:
                yield _listed_row(row, MARK if row["task_id"] in marked else "")
            except (LookupError, TypeError) as error:
                raise InputError(f"{episodes}: the row of {place} cannot be shown: {describe(error)}") from error
            if of_task.total() >= LISTED_MAX:
                return


def _listed_row(row: Mapping[str, Any], mark: str) -> tuple[str, ...]:
    oracle = row["oracle"]
    return (
        str(row["episode_id"]) + mark,
        str(row["swer_variant"]),
        str(row["agent"]["message"] or "reported success"),
        str(oracle["reason"]),
        f"{oracle['observed_count']} / {oracle['expected_count']}",
    )
