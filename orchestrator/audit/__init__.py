"""Audits the oracle of a provider: a red team tries to satisfy it without the effect, and what passes is attested.

``orchestrator.audit.team`` carries an audit out; what only looks one up does without the engine that it needs.
"""

from __future__ import annotations

from orchestrator.attestations import attested
from orchestrator.audit.attest import Found, attest, find_audit
from orchestrator.audit.document import AuditDocument, read_document, to_bytes, write_document
from orchestrator.audit.scene import AttackName
from orchestrator.audit.subject import document_for, path_beside, shipped_path
from orchestrator.audit.verdicts import Result, TaskAudit, Verdict

__all__ = [
    "AttackName",
    "AuditDocument",
    "Found",
    "Result",
    "TaskAudit",
    "Verdict",
    "attest",
    "attested",
    "document_for",
    "find_audit",
    "path_beside",
    "read_document",
    "shipped_path",
    "to_bytes",
    "write_document",
]
