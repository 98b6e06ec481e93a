"""MockMed as a provider: packs, payloads, fixtures."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeVar

from oracle.effect import EffectJudge
from providers.mockmed.fixture import MockMedFixture
from providers.mockmed.manifest import pack_manifest
from providers.mockmed.pack import VERSION, PackName, pack_entries
from providers.mockmed.store import SCHEMA
from spec.canonical import JsonObject
from spec.errors import ConfigError, ProviderFault
from spec.reading import RecordSchema
from spec.task import Split, Task
from spec.trial import Payload

_TAG_CHARS: Final = 12


class SplitChoice(StrEnum):
    """Which part of a pack a run takes."""

    DEV = "dev"
    TEST = "test"
    ALL = "all"


class MockMed:
    """A synthetic medical record in memory, with faults at its save.

    Args:
        pack: ``anchor`` or ``full``.
        split: ``dev``, ``test`` or ``all``.
        options: none are known.

    Raises:
        ConfigError: a value is not one of these, or the pack has no task in that split.
    """

    def __init__(self, pack: str = "anchor", split: str = "dev", options: Mapping[str, object] | None = None) -> None:
        if options:
            raise ConfigError(f"mockmed has no options, but got {', '.join(sorted(options))}", key="provider.options")
        self._pack = _choice(PackName, pack, "provider.pack")
        self._split = _choice(SplitChoice, split, "provider.split")
        self._whole = pack_entries(self._pack)
        self._entries = {entry.task.task_id: entry for entry in self._whole if _taken(entry.task.split, self._split)}
        if not self._entries:
            message = f"the pack {self._pack.value!r} has no task in the split {self._split.value!r}"
            raise ConfigError(message, key="provider.split", hint="take the split 'dev', or the pack 'full'")
        self._judges = {
            task_id: EffectJudge(entry.task.contract, SCHEMA)
            for task_id, entry in self._entries.items()
            if entry.task.effect_declared
        }
        self._tasks = tuple(entry.task for entry in self._entries.values())

    @property
    def name(self) -> str:
        """Short name, as in reports."""
        return "mockmed"

    @property
    def version(self) -> str:
        """Changes whenever a task or a fixture changes its meaning."""
        return VERSION

    @property
    def schema(self) -> RecordSchema:
        """One table; the id is the record's own."""
        return SCHEMA

    def tasks(self) -> Sequence[Task]:
        """The tasks of the chosen pack and split, in the pack's order."""
        return self._tasks

    def payload(self, task: Task, trial: int, run_seed: int) -> Payload:
        """The trial's seed and values, from task and trial alone: the run's seed plays no part."""
        return trial_payload(task.task_id, trial)

    async def open(self, task: Task, payload: Payload) -> MockMedFixture:
        """A fresh record for one trial; never waits.

        Raises:
            ProviderFault: the task is not one of this pack and split.
        """
        entry = self._entries.get(task.task_id)
        if entry is None:
            raise ProviderFault(f"mockmed has no task {task.task_id!r} in this pack and split")
        return MockMedFixture(entry.wiring, self._judges.get(task.task_id), payload)

    def manifest(self) -> JsonObject:
        """The public manifest; see ``providers.mockmed.manifest``."""
        return pack_manifest(
            self.name, self._pack, self._split, self._whole, tuple(self._entries.values()), trial_payload
        )

    async def close(self) -> None:
        """Nothing is held across fixtures."""


def trial_payload(task_id: str, trial: int) -> Payload:
    """The values of one trial, the same for every arm and run."""
    tag = hashlib.sha256(f"{task_id}:{trial}".encode()).hexdigest()[:_TAG_CHARS]
    return Payload(seed=trial, params={"note": f"triage note {tag}", "record_key": f"key-{tag}"})


def _taken(split: Split, choice: SplitChoice) -> bool:
    return choice is SplitChoice.ALL or split.value == choice.value


C = TypeVar("C", bound=StrEnum)


def _choice(names: type[C], value: object, key: str) -> C:
    known = [name.value for name in names]
    if isinstance(value, str) and value in known:
        return names(value)
    near = difflib.get_close_matches(str(value), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "one of " + ", ".join(known)
    raise ConfigError(f"{value!r} is not known to mockmed", key=key, hint=hint)
