"""The figures of a run against its rows and against an undisturbed run (I5)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import orjson

from tests.checker.journal import Line
from tests.checker.plan import Plan
from tests.checker.violation import Violation

VOLATILE: Final = frozenset({"run_id", "unreadable_attempts", "kept"})
"""Names in a summary that may differ between two runs with the same results; so may all with ``latency``. ``kept``
counts the plans that a run has had."""
DIGESTED: Final = (
    "episode_id",
    "task_id",
    "arm",
    "trial",
    "seed",
    "category",
    "substrate",
    "expected_effect_hash",
    "correct_action_available",
    "outcome",
    "swer_variant",
)
AGENT: Final = ("reported_success", "halted")
ORACLE: Final = (
    "verdict",
    "observed_count",
    "expected_count",
    "effect_correct",
    "effect_wrong_persisted",
    "effect_absent",
)
SHOWN_MAX: Final = 5


def judge_results(run_dir: Path, plan: Plan, final: list[Line], undisturbed: Path | None) -> list[Violation]:
    """I5.

    Args:
        run_dir: the run directory.
        plan: its plan.
        final: the final lines, in plan order.
        undisturbed: a run directory with the results that this one must have, or None.
    """
    path = run_dir / "summary.json"
    if not path.exists():
        return [Violation("I5", "there is no summary.json")] if undisturbed else []
    summary = orjson.loads(path.read_bytes())
    found = []
    if plan.kind == "effect" and summary["results_digest"] != results_digest(final):
        found.append(f"results_digest is {summary['results_digest']}, and the rows give {results_digest(final)}")
    if undisturbed is not None:
        expected = orjson.loads((undisturbed / "summary.json").read_bytes())
        differences = list(_differences("", steady(expected), steady(summary)))
        if differences:
            more = "" if len(differences) <= SHOWN_MAX else f" and {len(differences) - SHOWN_MAX} more"
            found.append(f"not as undisturbed: {'; '.join(differences[:SHOWN_MAX])}{more}")
    return [Violation("I5", text) for text in found]


def results_digest(final: list[Line]) -> str:
    """The published digest over final lines in plan order."""
    entries = orjson.dumps([_entry(line) for line in final], option=orjson.OPT_SORT_KEYS)
    return "sha256:" + hashlib.sha256(entries).hexdigest()


def _entry(line: Line) -> dict[str, Any]:
    if line.type != "scored":
        return {"episode_id": line.fields["key"], "type": line.type}
    row = line.fields["row"]
    return {
        **{name: row[name] for name in DIGESTED},
        "agent": {name: row["agent"][name] for name in AGENT},
        "oracle": {name: row["oracle"][name] for name in ORACLE},
        "arm_fault": row["env_fingerprint"]["arm_fault"],
    }


def steady(value: Any) -> Any:
    """A summary without what differs between two runs with the same results: name, times, attempts."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in VOLATILE and "latency" not in name}
        return {name: steady(item) for name, item in kept.items()}
    return [steady(item) for item in value] if isinstance(value, list) else value


def _differences(path: str, expected: Any, found: Any) -> list[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        names = list(dict.fromkeys([*expected, *found]))
        return [
            text
            for name in names
            for text in _differences(f"{path}.{name}".lstrip("."), expected.get(name), found.get(name))
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [text for place, pair in pairs for text in _differences(f"{path}[{place}]", *pair)]
    return [] if expected == found else [f"{path} is {found!r:.80}, not {expected!r:.80}"]
