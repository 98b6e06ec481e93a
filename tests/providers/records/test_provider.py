"""The provider before anything is started: packs, payloads, manifest, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from providers.records import Records
from providers.records.faults import NOTE_CHARS_KEPT
from providers.records.generator import COUNT_MAX
from providers.records.provider import SPLITS
from providers.records.shape import ECHO_TABLES, RECORD_TABLES
from providers.records.tables import METADATA
from spec.contract import contract_problems, unresolved
from spec.errors import ConfigError


@pytest.mark.parametrize("pack", ["ladder", "variants", "generated"])
def test_every_task_can_be_judged(pack: str) -> None:
    """No contract means nothing, and every parameter of goal and contract has a value."""
    provider = Records(pack=pack)
    for task in provider.tasks():
        params = provider.payload(task, 0, 7).params
        assert contract_problems(task.contract, provider.schema) == []
        assert unresolved(task.contract, params) == []
        assert task.goal.format_map(params)


def test_payloads_are_pure_and_unlike() -> None:
    """The same for every call, another for every trial, task and run seed."""
    provider = Records()
    one, other = provider.tasks()[:2]
    assert provider.payload(one, 3, 1) == provider.payload(one, 3, 1)
    notes = {
        str(provider.payload(task, trial, seed).params["note"])
        for task in (one, other)
        for trial in range(5)
        for seed in range(3)
    }
    assert len(notes) == 30


@pytest.mark.parametrize("pack", ["ladder", "variants"])
def test_the_goal_gives_nothing_away(pack: str) -> None:
    """All tasks of a pack have one goal."""
    goals = {task.goal for task in Records(pack=pack).tasks()}
    assert len(goals) == 1


def test_every_table_is_of_the_record_or_its_echo() -> None:
    """The judge is told of each table, and no table is both."""
    assert sorted((*RECORD_TABLES, *ECHO_TABLES)) == sorted(METADATA.tables)


@pytest.mark.parametrize(
    ("arguments", "key", "hint"),
    [
        ({"pack": "lader"}, "provider.pack", "did you mean 'ladder'"),
        ({"split": "test"}, "provider.split", ""),
        ({"options": {"read": "sq"}}, "provider.options.read", "did you mean 'sql'"),
        ({"options": {"reed": "sql"}}, "provider.options", ""),
        ({"options": {"count": 5}}, "provider.options.count", ""),
        ({"pack": "variants", "options": {"seed": 5}}, "provider.options.seed", ""),
        ({"pack": "generated", "options": {"count": 0}}, "provider.options.count", ""),
        ({"pack": "generated", "options": {"count": COUNT_MAX + 1}}, "provider.options.count", ""),
        ({"pack": "generated", "options": {"count": True}}, "provider.options.count", ""),
        ({"pack": "generated", "options": {"seed": -1}}, "provider.options.seed", ""),
        ({"pack": "generated", "options": {"seed": "7"}}, "provider.options.seed", ""),
        ({"pack": "generated", "split": "test", "options": {"count": 1}}, "provider.split", "the split 'all'"),
    ],
)
def test_what_is_not_known_is_refused(arguments: dict[str, object], key: str, hint: str) -> None:
    """Each refusal names the key, and the nearest name where there is one."""
    with pytest.raises(ConfigError) as caught:
        Records(**arguments)  # type: ignore[arg-type]  # wrong values are what is tested
    assert caught.value.key == key
    assert hint in caught.value.hint


def test_the_manifest_covers_every_task() -> None:
    """Its digest changes with the way of reading, and each task tells its contract's hash."""
    manifest = Records().manifest()
    tasks = manifest["tasks"]
    assert isinstance(tasks, list)
    assert [task["task_id"] for task in tasks] == [task.task_id for task in Records().tasks()]


def test_the_splits_part_the_generated_tasks() -> None:
    """Each task is in one split, in the pack's order; the pack's digest is that of all, the split's its own."""
    made = {split: Records("generated", split, {"count": 60}) for split in SPLITS}
    ids = {split: [task.task_id for task in provider.tasks()] for split, provider in made.items()}
    assert sorted(ids["dev"] + ids["test"]) == ids["all"]
    assert len(ids["all"]) == 60
    manifests = [provider.manifest() for provider in made.values()]
    assert len({str(manifest["pack_digest"]) for manifest in manifests}) == 1
    assert len({str(manifest["split_digest"]) for manifest in manifests}) == 3


def test_the_manifest_withholds_the_test_split() -> None:
    """Of such a task only id, category, split and digest are told; of the others all."""
    tasks: Any = Records("generated", "all", {"count": 60}).manifest()["tasks"]
    public = {"task_id", "category", "split", "digest"}
    assert {task["split"] for task in tasks} == {"dev", "test"}
    for task in tasks:
        hidden = {name for name, value in task.items() if value is None}
        assert hidden == (set(task) - public if task["split"] == "test" else set())


def test_the_seed_of_a_run_is_not_that_of_the_tasks() -> None:
    """Another run seed gives the same tasks other values."""
    provider = Records("generated", "all", {"count": 3, "seed": 4})
    (one, *_) = provider.tasks()
    assert provider.payload(one, 0, 0) != provider.payload(one, 0, 1)
    assert provider.tasks() == Records("generated", "all", {"count": 3, "seed": 4}).tasks()


def test_every_payload_of_the_variants_can_go_wrong() -> None:
    """The note is longer than what is kept of a cut one, and every weight changes when it is rounded."""
    provider = Records(pack="variants")
    for trial in range(50):
        params = provider.payload(provider.tasks()[0], trial, 0).params
        assert len(str(params["note"])) > NOTE_CHARS_KEPT
        assert not str(params["weight_kg"]).endswith("0")
        assert str(params["seen_at"]).endswith("+05:30")
