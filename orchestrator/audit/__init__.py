"""Audits the oracle of a provider: a red team tries to satisfy it without the effect, and what passes is attested."""

from __future__ import annotations

from orchestrator.audit.attest import AUDITED, attest, attested, find_audit, unaudited
from orchestrator.audit.document import AuditDocument, read_document, to_bytes, write_document
from orchestrator.audit.scene import AttackName
from orchestrator.audit.subject import document_for, path_beside, shipped_path
from orchestrator.audit.team import audit_tasks, red_team
from orchestrator.audit.verdicts import Result, TaskAudit, Verdict

__all__ = [
    "AUDITED",
    "AttackName",
    "AuditDocument",
    "Result",
    "TaskAudit",
    "Verdict",
    "attest",
    "attested",
    "audit_tasks",
    "document_for",
    "find_audit",
    "path_beside",
    "read_document",
    "red_team",
    "shipped_path",
    "to_bytes",
    "unaudited",
    "write_document",
]
