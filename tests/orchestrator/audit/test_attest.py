"""Attestations are earned: by an audit of exactly this, by values that differ, by a decoy that stands there."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from orchestrator.audit import TaskAudit, attest, code, document_for, find_audit, path_beside, write_document
from orchestrator.audit.attest import has_decoy
from orchestrator.preparation import Prepared
from spec.canonical import content_digest
from spec.contract import Effect, EffectKind, Param
from spec.task import Task
from spec.trial import Payload

PrepareClinic = Callable[..., Prepared]
TASK = "clinic::save"
COPIES = count()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A copy of the clinic in a folder of its own, with a name that no other test has imported."""
    here, module = Path(__file__).parent, f"leaky_{next(COPIES)}"
    shutil.copy(here / "leaky.py", tmp_path / f"{module}.py")
    text = (here / "leaky.toml").read_text().replace("leaky:Clinic", f"{module}:Clinic")
    (tmp_path / "clinic.toml").write_text(text)
    return tmp_path / "clinic.toml"


def earned(prepared: Prepared) -> set[str]:
    found: Any = attest(prepared)
    return set(found["tasks"][TASK])


def test_nothing_is_audited_by_a_claim(clinic: PrepareClinic, config: Path) -> None:
    """Without a file no task is audited, whatever its author says, and the problem names the command."""
    prepared = clinic(config=config)
    claiming = replace(prepared.tasks[0], oracle=replace(prepared.tasks[0].oracle, adversarially_audited=True))
    prepared = dataclasses.replace(prepared, tasks=[claiming])
    assert earned(prepared) == {"trial_unique_payload", "refusal_controls"}
    assert "audit --config" in find_audit(prepared).problem


def test_a_passed_audit_counts(
    clinic: PrepareClinic, config: Path, attack: Callable[[Prepared], list[TaskAudit]]
) -> None:
    """The file beside the configuration makes the task audited; the run's plan digest does not change."""
    prepared = clinic(config=config)
    write_document(path_beside(config), document_for(prepared, attack(prepared)))
    assert "adversarially_audited" in earned(prepared)
    assert clinic(config=config).plan_digest == prepared.plan_digest


def test_isolation_is_never_promised_in_process(
    clinic: PrepareClinic, config: Path, attack: Callable[[Prepared], list[TaskAudit]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same probe counts at the level of an own user, and not where the arm shares the worker's process."""
    prepared = clinic(config=config)
    write_document(path_beside(config), document_for(prepared, attack(prepared)))
    assert "isolated_from_agent" not in earned(prepared)
    for level, promised in (("process", False), ("user", True), ("sandbox", True)):
        monkeypatch.setattr(Prepared, "isolation", lambda self, level=level: {"screen_only": level})
        assert ("isolated_from_agent" in earned(prepared)) is promised, level


def test_a_failed_audit_does_not_count(
    clinic: PrepareClinic, config: Path, attack: Callable[[Prepared], list[TaskAudit]]
) -> None:
    """The file of an audit in which an attack got through is right, and attests nothing."""
    prepared = clinic("ignores other tables", config)
    write_document(path_beside(config), document_for(prepared, attack(prepared)))
    assert find_audit(prepared).problem == ""
    assert "adversarially_audited" not in earned(prepared)


def test_a_stale_edited_or_foreign_audit_counts_as_none(
    clinic: PrepareClinic, config: Path, attack: Callable[[Prepared], list[TaskAudit]]
) -> None:
    """Another pack, other options, an edited file: each is none, and it is said why."""
    prepared = clinic(config=config)
    document = document_for(prepared, attack(prepared))
    path = path_beside(config)
    for change, why in (
        ({"pack_digest": "sha256:1"}, "another pack digest"),
        ({"provider": "hospital"}, "another provider"),
        ({"code": document.code.model_copy(update={"oracle": "sha256:1"})}, "other code of the oracle"),
        ({"code": document.code.model_copy(update={"audit": "sha256:1"})}, "other code of the audit"),
    ):
        other = document.model_copy(update=change)
        body = other.model_dump(mode="json", exclude={"digest"})
        write_document(path, other.model_copy(update={"digest": content_digest(body)}))
        assert why in find_audit(prepared).problem
        assert "adversarially_audited" not in earned(prepared)
    write_document(path, document.model_copy(update={"pack": "other"}))
    assert "was edited" in find_audit(prepared).problem
    write_document(path, document)
    assert "another options" in find_audit(clinic("is blind", config)).problem


def test_a_changed_provider_has_to_be_audited_again(
    clinic: PrepareClinic, config: Path, attack: Callable[[Prepared], list[TaskAudit]]
) -> None:
    """One more line in the provider's file, and its audit counts for nothing."""
    prepared = clinic(config=config)
    write_document(path_beside(config), document_for(prepared, attack(prepared)))
    (copy,) = config.parent.glob("*.py")
    with copy.open("a") as file:
        file.write("\n# changed\n")
    code._read.cache_clear()
    assert "other code of the provider" in find_audit(clinic(config=config)).problem


def test_a_payload_that_repeats_is_not_unique(clinic: PrepareClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two of the trials that are looked at share the value, or the contract binds none, it is not attested."""
    prepared = clinic()
    assert "trial_unique_payload" in earned(prepared)
    monkeypatch.setattr(
        type(prepared.provider), "payload", lambda *_: Payload(seed=1, params={"note": "always the same"})
    )
    assert "trial_unique_payload" not in earned(prepared)
    monkeypatch.undo()
    (effect,) = prepared.tasks[0].contract
    unbound = replace(prepared.tasks[0], contract=(replace(effect, match={"type": "Triage"}),))
    assert "trial_unique_payload" not in earned(dataclasses.replace(prepared, tasks=[unbound]))


def with_rows(task: Task, *rows: dict[str, Any], table: str = "encounters") -> Task:
    return replace(task, initial_state={table: list(rows)})


def test_a_decoy_shares_some_fields_and_not_all(clinic: PrepareClinic) -> None:
    """A record beside the target is a decoy; one that has nothing of it, or all of it, or none at all, is not."""
    task = clinic().tasks[0]
    assert has_decoy(with_rows(task, {"patient_id": "p2", "type": "Triage"}))
    assert not has_decoy(with_rows(task, {"patient_id": "p2", "type": "Consult"}))
    assert not has_decoy(with_rows(task, {"patient_id": "p1", "type": "Triage"}))
    assert not has_decoy(with_rows(task))
    billed = Effect(EffectKind.RECORD_WRITTEN, {"patient_id": "p1", "amount": Param("note")}, table="billing")
    assert not has_decoy(with_rows(replace(task, contract=(billed,)), {"patient_id": "p2", "type": "Triage"}))
