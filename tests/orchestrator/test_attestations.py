"""What a report and a submission read out of a run's attestations."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.attestations import attestation_sentence, attested, audit_warning, unaudited
from spec.errors import InputError

AUDITED = "adversarially_audited"


def info(problem: str = "", **tasks: list[str]) -> dict[str, Any]:
    found = {"audit": None, "problem": problem, "trials_compared": 2, "tasks": tasks}
    return {"attestations": found}


def test_a_task_without_a_passed_audit_is_named() -> None:
    """The warning counts and names them and says why; a run in which all have passed has none."""
    told = info("nobody has audited it", one=[AUDITED], two=["refusal_controls"], three=[])
    assert unaudited(told) == ["two", "three"]
    assert audit_warning(told) == "2 of 3 tasks have no passed audit, marked †: two, three; nobody has audited it."
    assert audit_warning(info(one=[AUDITED])) == ""
    assert "their audit has not passed" in audit_warning(info(one=[]))


def test_long_lists_are_cut() -> None:
    """Ten names stand in the warning, the others are counted."""
    nothing: Any = []
    warning = audit_warning(info(**dict.fromkeys([f"task{number}" for number in range(12)], nothing)))
    assert "task9 and 2 more" in warning
    assert "task10" not in warning


def test_each_attestation_is_counted() -> None:
    """The sentence says of how many tasks each attestation holds."""
    told = info(one=[AUDITED, "refusal_controls"], two=[AUDITED])
    assert attestation_sentence(told).startswith("Of 2 tasks, by evidence: 2 adversarially audited, 0 isolated")
    assert attestation_sentence(told).endswith("1 with refusal controls.")


@pytest.mark.parametrize("old", [{}, {"attestations": None}, {"attestations": []}, {"attestations": {}}])
def test_an_old_run_says_nothing(old: dict[str, Any]) -> None:
    """A run of an earlier version has neither warning nor sentence."""
    assert (unaudited(old), audit_warning(old), attestation_sentence(old)) == ([], "", "")


@pytest.mark.parametrize("earned", [1, None, AUDITED, {AUDITED: True}])
def test_what_is_no_list_has_earned_nothing(earned: Any) -> None:
    """A file that somebody edited attests nothing, and is no error of this program."""
    assert unaudited(info(one=earned)) == ["one"]
    assert "0 adversarially audited" in attestation_sentence(info(one=earned))


def test_only_an_audited_run_may_be_submitted() -> None:
    """A run whose tasks have all passed is let through; another one, or one that does not say, is refused."""
    attested(info(one=[AUDITED]))
    with pytest.raises(InputError, match="two"):
        attested(info(one=[AUDITED], two=[]))
    with pytest.raises(InputError, match="says nothing"):
        attested({})
