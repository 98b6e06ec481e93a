"""Whatever cannot work is found before anything starts, and everything that rows depend on is in the digest."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config import config_from_mapping, load_config
from orchestrator.preparation import Prepared, check_provider, prepare
from spec.errors import ConfigError, ConfigErrors, ProviderFault
from spec.trial import Payload

DESK = '''
from providers.mockmed import MockMed
from spec.errors import ConfigError, ConfigErrors
from spec.trial import Payload


class Desk(MockMed):
    """MockMed, changed by its options."""

    name = "desk"

    def __init__(self, pack, split, options):
        super().__init__(pack, split, {})
        self.options = options

    def tasks(self):
        match self.options.get("tasks"):
            case "raise": raise OSError("no pack")
            case "twice": return [super().tasks()[0]] * 2
            case "other": return [object()]
            case "none": return []
            case _: return super().tasks()

    def payload(self, task, trial, run_seed):
        match self.options.get("payload"):
            case "raise": raise KeyError("tag")
            case "empty": return Payload(trial, {})
            case "plain": return (1, {})
            case "late" if trial: return Payload("one", [])
            case _: return super().payload(task, trial, run_seed)

    def check(self):
        match self.options.get("check"):
            case "raise": raise OSError("no route to the desk")
            case "refuse": raise ConfigErrors([ConfigError("no such table", file="desk.toml", line=3)])

    def manifest(self):
        return object() if self.options.get("manifest") else super().manifest()


class Stub:
    def __init__(self, pack, split, options): pass
    name = version = ""
    def tasks(self): return []


def picky(pack, split, options):
    raise RuntimeError("not today")


class Loud:
    def __init__(self, volume): self.volume = volume
    async def __call__(self, task, environment): ...
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A user's folder with providers and an arm; their module is forgotten afterwards."""
    (tmp_path / "desk_for_preparation.py").write_text(DESK, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("desk_for_preparation", None)


Make = Callable[..., Prepared]


@pytest.fixture
def make(folder: Path) -> Make:
    """Prepares a configuration with one arm over the anchor pack, changed table by table."""

    def made(**tables: Mapping[str, Any]) -> Prepared:
        provider = {"use": "desk_for_preparation:Desk", **tables.get("provider", {})}
        document = {
            "format": 1,
            "run": {"name": "r", **tables.get("run", {})},
            "engine": {"kind": "inline", **tables.get("engine", {})},
            "provider": provider,
            "limits": dict(tables.get("limits", {})),
            "artifacts": dict(tables.get("artifacts", {})),
            "arms": [{"name": "a", "use": "screen_only", **tables.get("arm", {})}],
        }
        return prepare(config_from_mapping(document, folder, environ={}))

    return made


def refusals(make: Make, **tables: Mapping[str, Any]) -> list[ConfigError]:
    try:
        make(**tables)
    except (ConfigError, ConfigErrors) as refused:
        return list(refused.errors)
    raise AssertionError("it was not refused")


def test_a_configuration_becomes_plan_and_parts(make: Make) -> None:
    """Tasks in the pack's order, one arm, ten trials, and a digest for each part."""
    prepared = make()
    assert len(prepared.plan) == 90
    assert list(prepared.plan.task_ids) == [task.task_id for task in prepared.tasks]
    assert list(prepared.parts["tasks"]) == list(prepared.plan.task_ids)
    assert list(prepared.parts["arms"]) == ["a"]
    assert prepared.isolation() == {"a": "in-process"}
    info = prepared.info()
    assert (info["provider"], info["pack"], info["split"], info["trials"]) == ("desk", "anchor", "dev", 10)
    assert info["plan_digest"] == prepared.plan_digest


def test_pack_split_and_tasks_have_a_digest_each(make: Make) -> None:
    """That of the pack and of the split are the manifest's, whatever a glob leaves over; that of the tasks is ours."""
    whole, narrowed = make().info(), make(provider={"tasks": ["*ok"]}).info()
    manifest = make().provider.manifest()
    for info in (whole, narrowed):
        assert (info["pack_digest"], info["split_digest"]) == (manifest["pack_digest"], manifest["split_digest"])
    assert whole["tasks_digest"] != narrowed["tasks_digest"]
    silent = dataclasses.replace(make(), pack_manifest={"pack_digest": 7})
    assert (silent.pack_digest, silent.split_digest) == (None, None)


def test_payloads_are_asked_by_place(make: Make) -> None:
    """The task's place and the trial's number give what the provider gives for them."""
    prepared = make(run={"seed": 5})
    task = prepared.tasks[3]
    assert prepared.payload(3, 7) == prepared.provider.payload(task, 7, 5)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"tasks": "raise"}, "the provider's tasks cannot be had: OSError: no pack"),
        ({"tasks": "twice"}, "'mockmed::ok' twice"),
        ({"tasks": "other"}, "found None"),
        ({"payload": "raise"}, "mockmed::ok: no payload: KeyError: 'tag'"),
        ({"payload": "plain"}, "a payload must be a spec.trial.Payload, not a tuple"),
        ({"payload": "empty"}, "the contract needs the parameter 'note'"),
        ({"manifest": True}, "the provider's manifest cannot be had: TypeError"),
    ],
    ids=str,
)
def test_a_provider_that_cannot_work_is_refused(make: Make, option: Mapping[str, Any], words: str) -> None:
    """What is wrong with tasks, payloads or manifest is told with the key that names the provider."""
    errors = refusals(make, provider={"options": option})
    assert any(words in error.message for error in errors), errors
    assert {error.key for error in errors} == {"provider.use"}


def test_every_task_that_cannot_be_judged_is_told(make: Make) -> None:
    """All nine problems come at once, each with its task."""
    errors = refusals(make, provider={"options": {"payload": "raise"}})
    assert len(errors) == 9
    assert len({error.message.split(": ")[0] for error in errors}) == 9


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("desk_for_preparation:picky", "the provider cannot be made: RuntimeError: not today"),
        ("desk_for_preparation:Stub", "is no provider: it has no payload, open, manifest, close"),
    ],
)
def test_what_is_no_provider_is_refused(make: Make, use: str, words: str) -> None:
    """A factory that fails, or that makes something else, is told with everything that is missing."""
    (error,) = refusals(make, provider={"use": use})
    assert words in error.message


def test_no_task_is_no_run(make: Make) -> None:
    """A provider without tasks leaves nothing to run, and that is said."""
    (error,) = refusals(make, provider={"options": {"tasks": "none"}})
    assert "has no task" in error.message


def test_a_providers_own_complaint_keeps_its_key(make: Make) -> None:
    """A value that the provider refuses is told under the key where it stands."""
    (error,) = refusals(make, provider={"use": "mockmed", "pack": "anchr"})
    assert error.key == "provider.pack"


def test_a_providers_check_is_asked_and_keeps_its_own_lines(make: Make) -> None:
    """Its errors pass as they are, any other failure names the provider, and one without a check is content."""
    found = {}
    for option in ("none", "refuse", "raise"):
        prepared = make(provider={"use": "desk_for_preparation:Desk", "options": {"check": option}})
        try:
            check_provider(prepared)
        except ConfigErrors as errors:
            found[option] = str(errors)
    assert found["refuse"] == "desk.toml:3: no such table"
    assert "the provider's check failed: OSError: no route to the desk" in found["raise"]
    assert "none" not in found
    check_provider(make())


def test_an_arms_options_are_tried(make: Make) -> None:
    """An arm that cannot be made is told under its own key."""
    arm = {"use": "desk_for_preparation:Loud"}
    assert [error.key for error in refusals(make, arm=arm)] == ["arms.a.options"]
    assert make(arm={**arm, "options": {"volume": 3}}).plan.arms == ["a"]


def test_a_payload_that_goes_wrong_later_is_the_providers_fault(make: Make) -> None:
    """A later trial's payload that is none is named with all its problems, as that trial's own failure."""
    prepared = make(provider={"options": {"payload": "late"}})
    assert isinstance(prepared.payload(0, 0), Payload)
    with pytest.raises(ProviderFault, match=r"its seed must be a whole number.*its params must be a dict"):
        prepared.payload(0, 1)


SAME = [
    {"run": {"trials": 20}},
    {"run": {"drain_s": 5}},
    {"engine": {"in_flight": 3, "lease_max": 7}},
    {"limits": {"close_s": 5}},
    {"arm": {"in_flight": 2}},
]
DIFFERENT = [
    {"run": {"seed": 1}},
    {"run": {"name": "other"}},
    {"arm": {"deadline_s": 5}},
    {"arm": {"use": "always_halt"}},
    {"arm": {"name": "b"}},
    {"engine": {"deadline_s": 5}},
    {"provider": {"tasks": ["*ok"]}},
    {"provider": {"options": {"colour": "red"}}},
]


@pytest.mark.parametrize("tables", SAME, ids=str)
def test_how_a_run_is_carried_out_is_not_in_the_plan_digest(make: Make, tables: Mapping[str, Any]) -> None:
    """What resume may change leaves the digest as it is."""
    assert make(**tables).plan_digest == make().plan_digest


@pytest.mark.parametrize("tables", DIFFERENT, ids=str)
def test_whatever_rows_depend_on_is_in_the_plan_digest(make: Make, tables: Mapping[str, Any]) -> None:
    """Another seed, arm, limit of an arm, task or option is another plan."""
    assert make(**tables).plan_digest != make().plan_digest


def test_the_code_of_a_provider_is_in_the_plan_digest(make: Make, folder: Path) -> None:
    """A changed module is another provider, under whatever version it says."""
    before = make()
    (folder / "desk_for_preparation.py").write_text(DESK + "\n# changed\n", encoding="utf-8")
    after = make()
    assert before.plan_digest != after.plan_digest
    assert before.parts["tasks"] == after.parts["tasks"]


def test_a_trials_digest_covers_its_task_arm_provider_and_seed(make: Make) -> None:
    """Two trials of one cell share it only with the same seed; the arm's place in the plan plays no part."""
    prepared, other = make(), make(arm={"use": "always_halt"})
    assert prepared.trial_digest(0, 0) == prepared.trial_digest(1, 0)
    different = {
        prepared.trial_digest(0, 0),
        prepared.trial_digest(0, 1),
        prepared.trial_digest(10, 0),
        other.trial_digest(0, 0),
    }
    assert len(different) == 4


def test_the_shipped_reference_is_prepared_without_starting_anything(tmp_path: Path) -> None:
    """The reference configuration is 180 trials of nine tasks and two arms, and no file is made."""
    root = Path(__file__).parents[2]
    loaded = load_config(root / "configs" / "reference.toml", environ={}, sets=[f'run.dir="{tmp_path}"'])
    prepared = prepare(loaded)
    assert (len(prepared.plan), len(prepared.tasks), list(prepared.plan.arms)) == (
        180,
        9,
        ["screen_only", "effect_verified"],
    )
    assert list(tmp_path.iterdir()) == []


def test_a_place_for_artifacts_is_looked_at_first(make: Make) -> None:
    """A URL that nobody here can write to is told with its key, before a provider is made."""
    with pytest.raises(ConfigErrors, match="nothing here can write to 'nowhere://x'") as caught:
        make(artifacts={"url": "nowhere://x"})
    assert caught.value.errors[0].key == "artifacts.url"
    make(artifacts={"url": "memory://x"})
