"""Every attack gets through somewhere: a provider that leaks fails it by name, one that does not withstands all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from orchestrator.audit import AttackName, Result, TaskAudit
from orchestrator.preparation import Prepared
from spec.errors import InputError

AttackClinic = Callable[[str], TaskAudit]

LEAKS: Final = {
    AttackName.POSITIVE_CONTROL: "is blind",
    AttackName.PHANTOM: "believes the claim",
    AttackName.PAINTED_SCREEN: "reads the banner as the record",
    AttackName.DECOY: "takes any patient for the right one",
    AttackName.WRONG_PAYLOAD: "compares only counts",
    AttackName.WRONG_TARGET: "takes any patient for the right one",
    AttackName.DUPLICATE: "reads distinct rows",
    AttackName.PRIOR_TRIAL: "compares only counts",
    AttackName.STALE_ROW: "has no baseline",
    AttackName.IN_PLACE_OVERWRITE: "licenses all fields",
    AttackName.TAKEN_OVER: "licenses the rest",
    AttackName.COLLATERAL_WRITE: "ignores other tables",
    AttackName.COLLATERAL_LOSS: "gives ids away again",
    AttackName.LATE_DUPLICATE: "reads once and keeps that",
    AttackName.LATE_OVERWRITE: "reads once and keeps that",
    AttackName.REACH: "shows the record to the arm",
}
"""Attack -> a leak that lets it through."""


def results(audit: TaskAudit) -> dict[str, Result]:
    return {verdict.name: verdict.result for verdict in audit.verdicts}


def test_a_sound_oracle_withstands_everything(attack_clinic: AttackClinic) -> None:
    """Without a leak each attack is carried out and caught, none is left out, and the right effect is confirmed."""
    audit = attack_clinic("")
    found = results(audit)
    assert found.pop("positive_control") is Result.CONFIRMED
    assert set(found.values()) == {Result.CAUGHT}
    assert audit.passed
    assert audit.lost == []
    assert {verdict.attack for verdict in audit.verdicts} == set(AttackName)


@pytest.mark.parametrize("name", AttackName)
def test_every_attack_can_get_through(attack_clinic: AttackClinic, name: AttackName) -> None:
    """A provider with the leak that the attack aims at does not pass, and the attack is named."""
    audit = attack_clinic(LEAKS[name])
    lost = [verdict for verdict in audit.lost if verdict.attack is name]
    assert not audit.passed
    assert lost
    expected = Result.NOT_CONFIRMED if name is AttackName.POSITIVE_CONTROL else Result.GOT_THROUGH
    assert {verdict.result for verdict in lost} == {expected}
    assert all(verdict.reason for verdict in lost)


def test_an_unreadable_record_does_not_pass(attack_clinic: AttackClinic) -> None:
    """Where the record cannot be read, nothing was proved."""
    audit = attack_clinic("cannot be read")
    assert not audit.passed
    assert [verdict.result for verdict in audit.verdicts] == [Result.FAILED]


def test_a_record_that_refuses_everything_does_not_pass(attack_clinic: AttackClinic) -> None:
    """Refused writes are listed apart and prove nothing."""
    audit = attack_clinic("refuses every write")
    assert not audit.passed
    assert results(audit)["positive_control"] is Result.REFUSED
    assert results(audit)["late_duplicate"] is Result.REFUSED


def test_without_a_back_door_there_is_no_audit(
    clinic: Callable[[str], Prepared], attack: Callable[[Prepared], list[TaskAudit]]
) -> None:
    """Fixtures that nobody can attack end the audit with one sentence that says what is missing."""
    with pytest.raises(BaseExceptionGroup) as caught:
        attack(clinic("has no back door"))
    assert caught.group_contains(InputError, match="has no back_door")
