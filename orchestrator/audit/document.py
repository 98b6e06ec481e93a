"""The file that keeps what an audit came to.

One JSON object, and nothing in it depends on when or where it was made::

    {"format": 1,
     "provider": "mockmed", "version": "1.0.0", "pack": "anchor",
     "options": "sha256:...",        of the provider's options, as they are written
     "pack_digest": "sha256:...",    as the provider's manifest states it, or null
     "code": {"audit": "sha256:...", "oracle": "sha256:...", "provider": "sha256:..."},
     "bookkeeping": {"tables": [...], "fields": [...]},     what the provider licenses, so what nobody looked at
     "tasks": [{"task_id": "...", "task": "sha256:...", "contract": "sha256:...", "passed": true, "attacks": [
         {"attack": "wrong_payload", "target": "note", "result": "caught", "reason": ""}, ...]}, ...],
     "digest": "sha256:..."}         of the canonical JSON of all the rest

``attack`` is one of ``orchestrator.audit.scene.AttackName``, ``result`` one of ``orchestrator.audit.verdicts.Result``.
Only what was not applicable has a reason, which holds no value of a trial: the test split stays withheld. A file is
read strictly: an unknown key, a wrong type, a digest that is not that of the content or a ``passed`` that does not
follow from the results make it none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.audit.scene import AttackName
from orchestrator.audit.verdicts import Result, TaskAudit, has_passed
from orchestrator.files import write_atomically
from spec.canonical import content_digest
from spec.errors import InputError

FORMAT: Final = 1
FILE_BYTES_MAX: Final = 64 << 20


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AttackEntry(_Strict):
    """One attack on one task."""

    attack: AttackName
    target: str
    result: Result
    reason: str


class TaskEntry(_Strict):
    """One task: digests of it and of its contract, and what came of the attacks."""

    task_id: str
    task: str
    contract: str
    passed: bool
    attacks: list[AttackEntry]


class Code(_Strict):
    """Digests of the code that took part."""

    audit: str
    oracle: str
    provider: str


class Bookkeeping(_Strict):
    """What the provider's schema licenses."""

    tables: list[str]
    fields: list[str]


class Subject(_Strict):
    """What was audited: an audit counts for exactly this."""

    provider: str
    version: str
    pack: str
    options: str
    pack_digest: str | None
    code: Code
    bookkeeping: Bookkeeping


class AuditDocument(Subject):
    """The whole file."""

    format: int
    tasks: list[TaskEntry]
    digest: str

    def task(self, task_id: str) -> TaskEntry | None:
        """The entry of a task, or None."""
        return next((entry for entry in self.tasks if entry.task_id == task_id), None)


def task_entry(audit: TaskAudit, task_digest: str, contract_digest: str) -> TaskEntry:
    """What a file says of a task."""
    attacks = [
        AttackEntry(
            attack=verdict.attack,
            target=verdict.target,
            result=verdict.result,
            reason=verdict.reason if verdict.result is Result.NOT_APPLICABLE else "",
        )
        for verdict in audit.verdicts
    ]
    return TaskEntry(
        task_id=audit.task_id, task=task_digest, contract=contract_digest, passed=audit.passed, attacks=attacks
    )


def document_of(subject: Subject, tasks: Sequence[TaskEntry]) -> AuditDocument:
    """The file of an audit."""
    body = {
        **subject.model_dump(mode="json"),
        "format": FORMAT,
        "tasks": [one.model_dump(mode="json") for one in tasks],
    }
    return AuditDocument.model_validate({**body, "digest": content_digest(body)})


def write_document(path: Path, document: AuditDocument) -> None:
    """Put the file in place.

    Raises:
        InputError: its folder is not there.
        JournalUnwritable: the disk refused.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: there is no such folder")
    write_atomically(path, to_bytes(document))


def to_bytes(document: AuditDocument) -> bytes:
    """The file's content, a task a line: equal audits, equal bytes."""
    head = document.model_dump(mode="json")
    tasks = b",\n  ".join(orjson.dumps(entry, option=orjson.OPT_SORT_KEYS) for entry in head.pop("tasks"))
    lines = [
        b'"%b":%b' % (name.encode(), orjson.dumps(head[name], option=orjson.OPT_SORT_KEYS)) for name in sorted(head)
    ]
    return b"{" + b",\n ".join([*lines, b'"tasks":[\n  %b]' % tasks]) + b"}\n"


def read_document(path: Path) -> AuditDocument:
    """A file, checked by itself; whether it speaks of what is here now is another question.

    Raises:
        InputError: it cannot be read, is no such file, or was edited.
    """
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise InputError(f"{path}: is larger than {FILE_BYTES_MAX} bytes")
        found: Any = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"{path}: is no audit of format {FORMAT}")
    try:
        document = AuditDocument.model_validate(found, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path}: is no audit: {where}: {first['msg']}") from error
    _check(path, found, document)
    return document


def _check(path: Path, found: dict[str, Any], document: AuditDocument) -> None:
    body = {name: value for name, value in found.items() if name != "digest"}
    if content_digest(body) != document.digest:
        raise InputError(f"{path}: was edited: its digest is not that of its content")
    for entry in document.tasks:
        if entry.passed is not has_passed([(one.attack, one.result) for one in entry.attacks]):
            raise InputError(f"{path}: says of {entry.task_id} what does not follow from its attacks")
    ids = [entry.task_id for entry in document.tasks]
    if len(set(ids)) < len(ids):
        raise InputError(f"{path}: has a task twice")
