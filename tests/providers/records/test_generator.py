"""The generated pack before anything is started: tasks unlike each other, always the same, that give nothing away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.audit.attest import has_decoy
from orchestrator.kinds.effect.tasks import task_problems
from providers.records import Records
from providers.records.entry import Entry, Pack
from providers.records.faults import FAULTS, NOTE_CHARS_KEPT
from providers.records.generator import SEED_MAX, generated, kind_of
from providers.records.kinds import KINDS, ROUND, Trap
from providers.records.scripts import NAME_SCRIPTS, NOTE_SCRIPTS
from spec.canonical import Json, canonical_json, content_digest
from spec.contract import contract_digest
from spec.task import Category, Split, task_json

MANY = 1_000
TRIALS = 20
PINNED = [
    "sha256:e4fcf4415823ae85ad68d78c0ab41b5175cba89dfa2e5fd5b319104aef230cc2",
    "sha256:b772437d66cb3351b33c95b62beeade432d5bb6e16d211dbf0d26347aa326d75",
]


@pytest.fixture(scope="module")
def pack() -> Pack:
    """A thousand tasks."""
    return generated("sql", MANY, 0)


def texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in texts_in(one))
    elif isinstance(value, list | tuple):
        yield from (text for one in value for text in texts_in(one))


def target_of(entry: Entry) -> dict[str, Any]:
    wanted = entry.task.contract[0].match["patient_id"]
    (row,) = [dict(row) for row in entry.wiring.rows["patients"] if row["id"] == wanted]
    return row


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 80), st.integers(0, 40), st.integers(0, SEED_MAX))
def test_the_first_tasks_do_not_depend_on_their_number(count: int, more: int, seed: int) -> None:
    """The same (count, seed) gives the same tasks, payloads too, and a larger count only adds to them."""
    one, other = generated("sql", count, seed), generated("sql", count + more, seed)
    assert one.entries == other.entries[:count]
    assert len(other.entries) == count + more
    last = one.entries[-1].task.task_id
    assert one.payload(last, 3, 7) == other.payload(last, 3, 7)


def test_the_tasks_of_a_seed_are_these() -> None:
    """A pack that was published stays what it is: tasks and values are pinned; another seed has other ones."""
    digests = []
    for seed in (0, 1):
        provider = Records("generated", "all", {"count": 50, "seed": seed})
        values = [provider.payload(task, 1, 2).params for task in provider.tasks()]
        digests += [provider.manifest()["pack_digest"], content_digest(values)]
    assert digests[:2] == PINNED
    assert len(set(digests)) == 4


def test_a_thousand_tasks_are_different(pack: Pack) -> None:
    """Ids are unique, and no two tasks agree in contract, goal and what stands on record."""
    assert len({entry.task.task_id for entry in pack.entries}) == MANY
    alike = {
        (contract_digest(task.contract), task.goal, canonical_json(task_json(task)["initial_state"]))
        for task, _ in pack.entries
    }
    assert len(alike) == MANY
    assert len({(task.goal, canonical_json(task_json(task)["initial_state"])) for task, _ in pack.entries}) == MANY


def test_a_thousand_tasks_have_everything(pack: Pack) -> None:
    """Every fault, trap, category and script occurs, and both values of every axis."""
    tasks = [entry.task for entry in pack.entries]
    assert {entry.wiring.fault for entry in pack.entries} == set(FAULTS)
    assert {kind_of(0, index).trap for index in range(MANY)} == set(Trap)
    assert {task.category for task in tasks} == set(Category)
    assert {task.split for task in tasks} == set(Split)
    axes = [
        (task.reversible, task.effect_declared, task.oracle.refusal_controls, task.correct_action_available)
        for task in tasks
    ]
    assert all(set(values) == {True, False} for values in zip(*axes, strict=True))
    assert {task.title.rpartition("(")[2][:-1] for task in tasks} == {script.name for script in NOTE_SCRIPTS}
    named = [target_of(entry)["name"] for entry in pack.entries]
    for script in NAME_SCRIPTS:
        assert any(set(name) & set("".join(script.family)) - {" "} for name in named)


def test_every_round_has_every_kind() -> None:
    """As many tasks in a row as a round has are of each kind as often as its share says."""
    for lap in range(5):
        kinds = [kind_of(9, lap * len(ROUND) + place) for place in range(len(ROUND))]
        assert all(kinds.count(kind) == kind.share for kind in KINDS)


def test_no_value_comes_twice(pack: Pack) -> None:
    """Over all trials of all tasks notes and keys are unique, and another run seed gives others again."""
    ids = [entry.task.task_id for entry in pack.entries]
    params = [pack.payload(task_id, trial, 0).params for task_id in ids for trial in range(TRIALS)]
    params += [pack.payload(task_id, 0, 1).params for task_id in ids]
    for name in ("note", "record_key"):
        assert len({param[name] for param in params}) == len(params)


@pytest.mark.parametrize("read", ["sql", "rest", "fhir"])
def test_every_generated_task_can_be_run_and_judged(read: str) -> None:
    """The plan finds nothing wrong with any of them."""
    provider = Records("generated", "all", {"count": MANY, "read": read})
    for task in provider.tasks():
        assert task_problems(task, provider.payload(task, 1, 7), provider.schema) == []
        assert task.oracle.channel == read


def test_every_fault_can_go_wrong(pack: Pack) -> None:
    """Whatever is drawn, the task's fault changes what the contract, or the audit of the record, looks at."""
    for entry in pack.entries:
        params, fault = pack.payload(entry.task.task_id, 4, 0).params, entry.wiring.fault
        note, target = str(params["note"]), target_of(entry)
        assert len(note) > NOTE_CHARS_KEPT
        assert re.search("[a-z]", note), "a database turns at least these into capitals"
        assert not target["name"].isascii()
        assert target["id"] != "p2"
        assert str(params.get("weight_kg", "0.01"))[-1] != "0"
        assert ("seen_at" in params) >= (fault == "zone_lost")
        assert ("weight_kg" in params) >= (fault == "weight_rounded")
        if fault in ("last_write_wins", "concurrent_edit_overwritten", "others_soft_deleted"):
            assert any(row["patient_id"] == target["id"] and row["note"] for row in entry.wiring.rows["encounters"])


def test_texts_are_in_nfc(pack: Pack) -> None:
    """What stands on record, goals and values."""
    for task, _ in pack.entries:
        for text in texts_in([task_json(task), pack.payload(task.task_id, 0, 0).params]):
            assert unicodedata.is_normalized("NFC", text)


def test_what_is_drawn_says_only_what_is_asked(pack: Pack) -> None:
    """A goal has no word that is not in some goal of a save that works, its patient's name and numbers aside."""

    def words(entry: Entry) -> set[str]:
        said = entry.task.goal.replace(target_of(entry)["name"], "")
        return set(re.findall(r"[^\W\d_]+", said))

    plain: set[str] = set()
    for index, entry in enumerate(pack.entries):
        if kind_of(0, index) is KINDS[0]:
            plain |= words(entry)
    for entry in pack.entries:
        assert words(entry) <= plain


def test_an_id_says_nothing_but_seed_and_number(pack: Pack) -> None:
    """So the manifest can name the tasks that it withholds."""
    assert [entry.task.task_id for entry in pack.entries[:2]] == ["generated::0-00000", "generated::0-00001"]
    assert all(re.fullmatch(r"generated::0-\d{5}", entry.task.task_id) for entry in pack.entries)


def test_a_homonym_shares_name_and_birth_date(pack: Pack) -> None:
    """The goal tells the record number where it has to; a blind agent opens the first of the name."""
    met = set()
    for index, (task, wiring) in enumerate(pack.entries):
        kind, target = kind_of(0, index), target_of(pack.entries[index])
        alike = [
            row
            for row in wiring.rows["patients"]
            if (row["name"], row["birth_date"]) == (target["name"], target["birth_date"])
        ]
        assert wiring.intended_patient == alike[0]["id"]
        assert len({row["record_number"] for row in alike}) == len(alike) <= 2
        told = target["record_number"] in task.goal
        assert not told if kind.trap is Trap.TWINS else told >= (len(alike) == 2)
        assert (wiring.intended_patient != target["id"]) == (kind.trap in (Trap.HOMONYM, Trap.TWINS))
        assert (wiring.preset_type != task.contract[0].match["type"]) == (kind.trap is Trap.PRESET)
        met.add((kind.trap, len(alike)))
    assert met == {(Trap.NONE, 1), (Trap.NONE, 2), (Trap.HOMONYM, 2), (Trap.TWINS, 2), (Trap.PRESET, 1)}


def test_a_refusal_control_has_its_decoy(pack: Pack) -> None:
    """Wherever the task claims one, a row stands there that satisfies the contract in part."""
    claimed = [task for task, _ in pack.entries if task.oracle.refusal_controls]
    assert claimed
    assert all(has_decoy(task) for task in claimed)


def test_amounts_are_exact_decimals(pack: Pack) -> None:
    """Every amount and weight is a decimal as text, and some cannot be held by two decimal places or a float."""
    amounts = [str(row["amount"]) for _, wiring in pack.entries for row in wiring.rows["billing"]]
    assert all(f"{Decimal(amount):f}" == amount for amount in amounts)
    assert {"0.005", "1234567890123.45"} <= set(amounts)
