"""What is attested of the tasks of a run, each word of it earned; what a provider authors in ``OracleSpec`` is a claim.

* ``adversarially_audited``: the task's audit has passed, at this pack digest and with this code (``document``).
* ``isolated_from_agent``: the audit's probe met nothing of the oracle's path, and every arm runs at a level that keeps
  arm code away from files and processes; below that level nobody promises it.
* ``trial_unique_payload``: the contract binds a value that differs between all trials that were looked at.
* ``refusal_controls``: a record stands there from the start that satisfies a selector in part.

Nothing of this is part of a task's digest, so a run can be gone on with whatever was audited meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from orchestrator.attestations import AUDITED, CONTROLS, ISOLATED, UNIQUE
from orchestrator.audit.document import AuditDocument, Subject, TaskEntry, read_document
from orchestrator.audit.scene import AttackName
from orchestrator.audit.subject import path_beside, shipped_path, subject_of
from orchestrator.audit.verdicts import Result
from orchestrator.preparation import Prepared
from spec.canonical import Json, canonical_json
from spec.contract import Param, contract_digest, selector
from spec.errors import InputError, let_interruptions_through
from spec.reading import Record
from spec.task import Task, task_digest
from spec.values import FieldType, equal

LEVELS_APART: Final = ("user", "sandbox")
"""Isolation levels at which an arm can read neither files nor processes of others (SPEC.md section 6.3)."""

TRIALS_COMPARED_MAX: Final = 32
"""Trials of a task whose values are compared."""


class Found(NamedTuple):
    """The audit that counts for a configuration.

    Attributes:
        document: the file's content, or None.
        problem: why there is none, or "".
    """

    document: AuditDocument | None
    problem: str


def attest(prepared: Prepared, found: Found | None = None) -> dict[str, Json] | None:
    """What is attested of each task (``orchestrator.attestations``); None for a kind without contracts.

    Args:
        prepared: the run.
        found: the audit that counts; None: it is looked for.
    """
    tasks = [(place, task) for place, task in enumerate(prepared.tasks) if isinstance(task, Task)]
    if not tasks or len(tasks) < len(prepared.tasks):
        return None
    document, problem = find_audit(prepared) if found is None else found
    compared = min(max(prepared.plan.trials, 2), TRIALS_COMPARED_MAX)
    apart = all(level.partition(" ")[0] in LEVELS_APART for level in prepared.isolation().values())
    earned: dict[str, Json] = {}
    for place, task in tasks:
        entry = None if document is None else _entry(document, task)
        audited = entry is not None and entry.passed
        facts = {
            AUDITED: audited,
            ISOLATED: apart and entry is not None and _out_of_reach(entry),
            UNIQUE: _is_unique(prepared, place, task, compared),
            CONTROLS: has_decoy(task),
        }
        earned[task.task_id] = [name for name, holds in facts.items() if holds]
    return {
        "audit": None if document is None else document.digest,
        "problem": problem,
        "trials_compared": compared,
        "tasks": earned,
    }


def find_audit(prepared: Prepared) -> Found:
    """The audit beside the configuration, else the one that the provider's package ships, if it is of what is here.

    A file that is stale, edited or of something else counts as none; the problem says which and why.
    """
    source = prepared.loaded.source
    beside = None if source is None else path_beside(source)
    paths = [path for path in (beside, shipped_path(prepared)) if path is not None and path.exists()]
    if not paths:
        return Found(None, "nobody has audited this configuration; `audit --config FILE` does")
    subject = subject_of(prepared)
    problems: list[str] = []
    for path in paths:
        try:
            document = read_document(path)
        except InputError as error:
            problems.append(str(error))
            continue
        differs = _differs(document, subject)
        if not differs:
            return Found(document, "")
        problems.append(f"{path}: {differs}; audit it again")
    return Found(None, "; ".join(problems))


def has_decoy(task: Task) -> bool:
    """Whether a record stands there from the start that satisfies a selector in some fields and not in all.

    Only fields with a literal are looked at: no record that stands there can know what a trial will write.
    """
    for effect in task.contract:
        rows = _rows(task, effect.table)
        terms = {name: term for name, term in selector(effect).items() if not isinstance(term, Param)}
        for row in rows:
            hits = [equal(row.get(name), term, effect.types.get(name, FieldType.TEXT)) for name, term in terms.items()]
            if any(hits) and not all(hits):
                return True
    return False


def _rows(task: Task, table: str) -> Iterable[Record]:
    """The records of a table from the start; the provider's main table has no name of its own here."""
    tables = task.initial_state
    return tables[table] if table in tables else [row for rows in tables.values() for row in rows] if not table else ()


def _differs(document: AuditDocument, subject: Subject) -> str:
    """What an audit is not of, in a clause; "" where it is of what is here."""
    for name in ("provider", "pack", "version", "options", "pack_digest", "bookkeeping"):
        if getattr(document, name) != getattr(subject, name):
            return f"is of another {name.replace('_', ' ')}"
    for name in ("oracle", "provider", "audit"):
        if getattr(document.code, name) != getattr(subject.code, name):
            return f"was made with other code of the {name}"
    return ""


def _entry(document: AuditDocument, task: Task) -> TaskEntry | None:
    entry = document.task(task.task_id)
    if entry is None or entry.task != task_digest(task) or entry.contract != contract_digest(task.contract):
        return None
    return entry


def _out_of_reach(entry: TaskEntry) -> bool:
    return any(one.attack is AttackName.REACH and one.result is Result.CAUGHT for one in entry.attacks)


def _is_unique(prepared: Prepared, place: int, task: Task, trials: int) -> bool:
    """Whether some parameter that the contract binds has another value in every trial that is looked at."""
    names = _bound(task)
    if not names:
        return False
    try:
        payloads = [prepared.payload(place, trial).params for trial in range(trials)]
        return any(len({canonical_json(params[name]) for params in payloads}) == trials for name in names)
    except BaseException as error:  # noqa: BLE001 - a provider may raise anything; the trial's turn will tell
        let_interruptions_through(error)
        return False


def _bound(task: Task) -> Sequence[str]:
    terms = [
        term
        for effect in task.contract
        for term in (*effect.match.values(), effect.value, effect.idempotency_key, *effect.also.values())
    ]
    return list(dict.fromkeys(term.name for term in terms if isinstance(term, Param)))
