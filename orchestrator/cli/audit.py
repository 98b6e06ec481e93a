"""``audit``: a red team against the provider's oracle, on fresh fixtures; what passes is kept in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, say, stdout_kept

if TYPE_CHECKING:
    from orchestrator.audit import TaskAudit, Verdict

GOT_THROUGH: Final = 1
_MARKS: Final = {
    "caught": "+",
    "confirmed": "+",
    "not_applicable": "-",
    "refused": "=",
    "got_through": "X",
    "not_confirmed": "X",
    "unreadable": "?",
    "failed": "!",
}
_WORST_FIRST: Final = "X!?=+-"
_LEGEND: Final = (
    "+ as it should be   X got through, or the right effect was not recognised   ? record not readable\n"
    "! could not be tried   = refused by the record system   - not applicable"
)


@click.command("audit", context_settings=options.SETTINGS)
@click.option("--config", required=True, type=click.Path(path_type=Path), help="The TOML file.")
@options.sets
@click.option("--limit", type=int, help="Only the first N tasks.")
@click.option("--task", "tasks", multiple=True, metavar="GLOB", help="Only tasks that match; repeatable.")
@click.option("--split", metavar="dev|test|all", help="This part of the pack.")
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the audit here; without it, of a whole configuration beside that, of a part nowhere.",
)
@options.as_json
@options.verbose
def audit_command(
    config: Path,
    sets: tuple[str, ...],
    limit: int | None,
    tasks: tuple[str, ...],
    split: str | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Try to satisfy the oracle of each task without the effect; keep which tasks withstood."""
    from orchestrator.audit import document_for, path_beside, write_document
    from orchestrator.audit.team import red_team
    from orchestrator.config import load_config
    from orchestrator.preparation import check_provider, prepare

    whole = limit is None and not tasks
    path = output or (path_beside(config) if whole else None)
    with stdout_kept():  # what the configuration names is imported, and may print
        prepared = prepare(load_config(config, environ=os.environ, sets=sets, tasks=tasks, split=split, limit=limit))
        check_provider(prepared)
        say(f"attacking the oracles of {len(prepared.tasks)} tasks, each attack on a fresh fixture")
        audits = red_team(prepared)
        if path is not None:
            write_document(path, document_for(prepared, audits))
    exit_code = 0 if all(audit.passed for audit in audits) else GOT_THROUGH
    if as_json:
        answer_json(exit_code, audit_facts(audits, path))
    else:
        answer(audit_text(audits))
        say("a part of a configuration is kept only with -o FILE" if path is None else f"kept in {path}")
    return exit_code


def audit_facts(audits: Sequence[TaskAudit], path: Path | None) -> dict[str, Any]:
    """The audit as plain values."""
    return {
        "passed": sum(audit.passed for audit in audits),
        "file": None if path is None else str(path),
        "tasks": {
            audit.task_id: {
                "passed": audit.passed,
                "attacks": [
                    {
                        "attack": verdict.attack.value,
                        "target": verdict.target,
                        "result": verdict.result.value,
                        "reason": verdict.reason,
                    }
                    for verdict in audit.verdicts
                ],
            }
            for audit in audits
        },
    }


def audit_text(audits: Sequence[TaskAudit]) -> str:
    """The same for a person: one line a task, one letter an attack, then everything that is to be explained."""
    from orchestrator.report.text import visible

    names = list(dict.fromkeys(verdict.attack.value for audit in audits for verdict in audit.verdicts))
    letters = {name: chr(ord("a") + place) for place, name in enumerate(names)}
    width = max((len(visible(audit.task_id)) for audit in audits), default=0)
    passed = sum(audit.passed for audit in audits)
    lines = [
        *(f"{letter} {name}" for name, letter in letters.items()),
        "",
        f"{'':{width}}  {' '.join(letters.values())}",
        *(f"{visible(audit.task_id):{width}}  {_marks(audit, names)}  {_word(audit)}" for audit in audits),
        "",
        _LEGEND,
        *_explained(audits, "not_applicable"),
        *_explained(audits, "refused"),
        *(visible(_lost(audit.task_id, verdict)) for audit in audits for verdict in audit.lost),
        *(visible(f"{audit.task_id}: {_MISSING}") for audit in audits if not audit.passed and not audit.lost),
        f"{passed} of {len(audits)} tasks have passed",
    ]
    return "\n".join(lines)


_MISSING: Final = "the right effect was never confirmed, or no attack that writes could be carried out"


def _marks(audit: TaskAudit, names: Sequence[str]) -> str:
    """The worst mark of each attack's targets."""
    found: dict[str, str] = {}
    for verdict in audit.verdicts:
        mark, before = _MARKS[verdict.result.value], found.get(verdict.attack.value)
        found[verdict.attack.value] = mark if before is None else min(mark, before, key=_WORST_FIRST.index)
    return " ".join(found.get(name, " ") for name in names)


def _word(audit: TaskAudit) -> str:
    return "passed" if audit.passed else "NOT PASSED"


def _lost(task_id: str, verdict: Verdict) -> str:
    return f"{task_id}: {verdict.name}: {verdict.result.value.replace('_', ' ')}: {verdict.reason}"


def _explained(audits: Sequence[TaskAudit], result: str) -> list[str]:
    """Why attacks were not carried out: one line an attack and reason, with the number of tasks."""
    from orchestrator.report.text import visible

    reasons: dict[tuple[str, str], set[str]] = {}
    for audit in audits:
        for verdict in audit.verdicts:
            if verdict.result.value == result:
                reasons.setdefault((verdict.name, verdict.reason), set()).add(audit.task_id)
    word = result.replace("_", " ")
    return [
        visible(f"{word}: {name} ({len(tasks)} of {len(audits)} tasks): {reason}")
        for (name, reason), tasks in reasons.items()
    ]
