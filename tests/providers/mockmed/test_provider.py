"""MockMed keeps the provider's seam: payloads, splits, fixtures, and clear words about a bad configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.base import Fixture, Provider
from providers.mockmed import MockMed
from spec.errors import ConfigError, ProviderFault
from spec.reading import ReadPath

Finish = Callable[..., Any]


def test_it_keeps_the_seam(finish: Finish) -> None:
    """Provider and fixture satisfy their protocols, and the record is read once, by snapshot."""
    provider = MockMed()
    task = provider.tasks()[0]
    fixture = finish(provider.open(task, provider.payload(task, 0, 0)))
    assert isinstance(provider, Provider)
    assert isinstance(fixture, Fixture)
    assert fixture.read_path == ReadPath("snapshot", True, {})
    assert provider.schema.main_table == "encounters"
    assert provider.schema.bookkeeping_fields == ("id",)
    finish(fixture.close())
    finish(provider.close())


@given(trial=st.integers(0, 10**6), run_seed=st.integers())
def test_the_payload_comes_from_task_and_trial(trial: int, run_seed: int) -> None:
    """Seed and values follow the published formula, and the run's seed changes nothing."""
    provider = MockMed()
    task = provider.tasks()[3]
    tag = hashlib.sha256(f"mockmed::timeout:{trial}".encode()).hexdigest()[:12]
    payload = provider.payload(task, trial, run_seed)
    assert payload.seed == trial
    assert payload.params == {"note": f"triage note {tag}", "record_key": f"key-{tag}"}


@pytest.mark.parametrize(
    ("pack", "split", "count"),
    [("anchor", "dev", 9), ("anchor", "all", 9), ("full", "dev", 14), ("full", "test", 6), ("full", "all", 20)],
)
def test_the_split_chooses_tasks(pack: str, split: str, count: int) -> None:
    """A split is its tasks in the pack's order."""
    tasks = MockMed(pack=pack, split=split).tasks()
    assert len(tasks) == count
    whole = [task.task_id for task in MockMed(pack=pack, split="all").tasks()]
    assert [task.task_id for task in tasks] == [t for t in whole if t in {task.task_id for task in tasks}]
    assert all(split in ("all", task.split.value) for task in tasks)


@pytest.mark.parametrize(
    ("arguments", "key", "words"),
    [
        ({"pack": "ancor"}, "provider.pack", "did you mean 'anchor'?"),
        ({"pack": 3}, "provider.pack", "one of anchor, full"),
        ({"split": "tset"}, "provider.split", "did you mean 'test'?"),
        ({"pack": "anchor", "split": "test"}, "provider.split", "no task in the split 'test'"),
        ({"options": {"speed": 1}}, "provider.options", "no options, but got speed"),
    ],
)
def test_a_bad_configuration_is_named(arguments: dict[str, Any], key: str, words: str) -> None:
    """A wrong pack, split or option is an error with its key and the nearest valid name."""
    with pytest.raises(ConfigError) as caught:
        MockMed(**arguments)
    assert caught.value.key == key
    assert words in str(caught.value)


def test_a_foreign_task_is_the_providers_fault(finish: Finish) -> None:
    """A task of another pack cannot be opened."""
    foreign = MockMed(pack="full").tasks()[0]
    with pytest.raises(ProviderFault, match="has no task 'mockmed_c1_partial_note_dropped'"):
        finish(MockMed().open(foreign, MockMed().payload(foreign, 0, 0)))
