"""What an audit of a configuration would be an audit of, and where its file lies."""

from __future__ import annotations

from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from oracle.hosting import CHANNELS_GROUP, OUR_CHANNELS
from orchestrator.audit.code import JUDGING, STRATEGIES, code_digest, neighbours
from orchestrator.audit.document import AuditDocument, Bookkeeping, Code, Subject, document_of, task_entry
from orchestrator.audit.verdicts import TaskAudit
from orchestrator.plugins import module_of
from orchestrator.preparation import Prepared
from spec.canonical import content_digest
from spec.contract import contract_digest
from spec.task import Task, task_digest

SUFFIX: Final = ".audit.json"


def subject_of(prepared: Prepared) -> Subject:
    """Provider, pack and code of a configuration, as they are here and now."""
    provider, schema = prepared.provider, prepared.provider.schema
    module = module_of(provider)
    return Subject(
        provider=provider.name,
        version=provider.version,
        pack=prepared.config.provider.pack,
        options=content_digest(prepared.config.written()["provider"]["options"]),
        pack_digest=prepared.pack_digest,
        code=Code(
            audit=code_digest(STRATEGIES, ("orchestrator.audit",)),
            oracle=code_digest([*JUDGING, *_channel_modules(prepared)]),
            provider=code_digest([module], neighbours(module)),
        ),
        bookkeeping=Bookkeeping(tables=list(schema.bookkeeping_tables), fields=list(schema.bookkeeping_fields)),
    )


def document_for(prepared: Prepared, audits: list[TaskAudit]) -> AuditDocument:
    """The file of an audit of the chosen tasks."""
    found = {audit.task_id: audit for audit in audits}
    tasks = [task for task in prepared.tasks if isinstance(task, Task)]
    entries = [task_entry(found[one.task_id], task_digest(one), contract_digest(one.contract)) for one in tasks]
    return document_of(subject_of(prepared), entries)


def path_beside(config: Path) -> Path:
    """Where the audit of a configuration lies: ``<stem>.audit.json`` beside it."""
    return config.with_name(config.stem + SUFFIX)


def shipped_path(prepared: Prepared) -> Path | None:
    """Where a provider's package brings its own audit of a pack, or None where it is no package."""
    package, _, _ = module_of(prepared.provider).rpartition(".")
    pack = prepared.config.provider.pack
    found = find_spec(package) if package else None
    if found is None or not found.submodule_search_locations or not pack.isidentifier():
        return None
    return Path(found.submodule_search_locations[0]) / f"{pack}{SUFFIX}"


def _channel_modules(prepared: Prepared) -> list[str]:
    names = {task.oracle.channel for task in prepared.tasks if isinstance(task, Task)}
    ours = {OUR_CHANNELS[name].partition(":")[0] for name in names if name in OUR_CHANNELS}
    return sorted(ours | {point.module for name in names for point in entry_points(group=CHANNELS_GROUP, name=name)})
