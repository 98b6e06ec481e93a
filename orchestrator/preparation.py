"""From a configuration to everything that a run needs, checked: kind, provider, tasks, plan, digests.

Nothing is started and no file is made, so `plan` uses it as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from arms.loading import instantiate
from orchestrator.artifacts import open_store
from orchestrator.config import ArmTable, LoadedConfig, RunConfig, choose_tasks, plan_config_part
from orchestrator.content import Content
from orchestrator.credentials import check_credentials
from orchestrator.kinds.base import DriverSide, Kind, WorkerSide
from orchestrator.plan import Plan
from orchestrator.plugins import Plugins, call_factory, code_digest, import_reference, resolve_all, takes_folder
from providers.base import Provider
from spec.canonical import Json, JsonObject, canonical_json, content_digest
from spec.errors import ConfigError, ConfigErrors, InputError, ProviderFault, let_interruptions_through
from spec.report import ArmFault
from spec.text import describe
from spec.trial import Payload

ISOLATION: Final = "in-process"
"""The only level that this version provides; printed with every figure."""

_PROVIDER_PARTS: Final = ("name", "version", "tasks", "payload", "open", "manifest", "close")


@dataclass(frozen=True)
class Prepared:
    """A run that could be started.

    Attributes:
        loaded: the configuration, narrowed to the chosen tasks.
        kind: the address of the kind's parts.
        provider: made in this process, for tasks and payloads only.
        tasks: the chosen tasks, in the pack's order.
        side: the kind's driver side.
        plan: the trials.
        parts: content digests: tasks, arms, provider (which stands for all that every trial shares: the kind, the
            provider with its options, and the run's seed).
        code: digests of the provider's and the arms' code, None where there is no file; they say why a part differs.
        pack_manifest: the provider's public manifest.
        reads_folder: whether the provider reads files of the configuration's folder.
    """

    loaded: LoadedConfig
    kind: Kind
    provider: Provider
    tasks: Sequence[Any]
    side: DriverSide
    plan: Plan
    parts: Mapping[str, Any]
    code: Mapping[str, Any]
    pack_manifest: JsonObject
    reads_folder: bool = False

    @property
    def config(self) -> RunConfig:
        """The frozen values."""
        return self.loaded.config

    @cached_property
    def plan_digest(self) -> str:
        """The digest of everything that rows depend on; the number of trials is no part of it."""
        body = {"format": 1, "kind": self.kind.name, "config": plan_config_part(self.config), "parts": self.parts}
        return content_digest(body)

    @cached_property
    def tasks_digest(self) -> str:
        """The digest of the chosen tasks, in order: those of the split that no glob and no limit left out."""
        return content_digest(list(self.parts["tasks"].items()))

    @property
    def pack_digest(self) -> str | None:
        """The digest of the whole pack, as the provider's manifest states it; None where it states none."""
        return self._stated("pack_digest")

    @property
    def split_digest(self) -> str | None:
        """The same of the chosen split."""
        return self._stated("split_digest")

    def _stated(self, name: str) -> str | None:
        value = self.pack_manifest.get(name)
        return value if isinstance(value, str) else None

    def payload(self, task: int, trial: int) -> Payload:
        """A trial's seed and parameters, by the task's place.

        Raises:
            ProviderFault: what the provider gave is no payload; every problem is named. Whatever else it raises
                passes through.
        """
        return _checked_payload(self.provider.payload(self.tasks[task], trial, self.config.run.seed))

    def seed(self, ordinal: int) -> int:
        """The seed of a trial; 0 where its payload cannot be had, as in the line that tells of that."""
        cell = self.plan.cell(ordinal)
        try:
            return self.payload(cell.task, cell.trial).seed
        except BaseException as error:  # noqa: BLE001 - a provider may raise anything; the trial's turn will tell
            let_interruptions_through(error)
            return 0

    def trial_digest(self, ordinal: int, seed: int) -> str:
        """The content of one trial; resume compares it."""
        return self.content.digest(ordinal, seed)

    def not_reported(self, fault: ArmFault, detail: str) -> JsonObject:
        """The report that stands for an arm that broke the rules, as the kind's worker side makes it."""
        side_of: Any = import_reference(self.kind.worker, self.loaded.folder)
        side: WorkerSide = side_of()
        return side.not_reported(fault, detail)

    def patience_s(self) -> float:
        """Seconds that the most patient task lets a live record be waited for; 0 where its kind does not say."""
        told: Callable[[], float] = getattr(self.side, "patience_s", lambda: 0.0)
        return told()

    @cached_property
    def content(self) -> Content:
        """What the trials are made of."""
        return Content(self.parts, self.plan)

    def isolation(self) -> dict[str, str]:
        """Arm -> isolation level."""
        return dict.fromkeys(self.plan.arms, ISOLATION)

    def info(self) -> dict[str, Json]:
        """What stands beside every figure: pack, split and digests."""
        provider = self.config.provider
        return {
            "provider": self.provider.name,
            "provider_version": self.provider.version,
            "pack": provider.pack,
            "split": provider.split,
            "pack_digest": self.pack_digest,
            "split_digest": self.split_digest,
            "tasks_digest": self.tasks_digest,
            "plan_digest": self.plan_digest,
            "trials": self.config.run.trials,
            "isolation": self.isolation(),
        }


def _checked_payload(payload: Payload) -> Payload:
    """A payload that the journal and a worker can take as it is."""
    found: object = payload
    if not isinstance(found, Payload):
        raise ProviderFault(f"a payload must be a spec.trial.Payload, not a {type(found).__name__}")
    problems: list[str] = []
    if type(payload.seed) is not int or not -(2**63) <= payload.seed < 2**63:
        problems.append(f"its seed must be a whole number of 64 bits, not {payload.seed!r}")
    if not isinstance(payload.params, dict):
        problems.append(f"its params must be a dict, not a {type(payload.params).__name__}")
    else:
        try:
            canonical_json(payload.params)
        except TypeError as error:
            problems.append(f"its params are no plain JSON: {error}")
    if problems:
        raise ProviderFault(f"a payload cannot be used: {'; '.join(problems)}")
    return payload


def prepare(loaded: LoadedConfig) -> Prepared:
    """Find, make and check everything that a configuration names.

    Raises:
        ConfigErrors: with every problem found.
    """
    _check_artifacts(loaded)
    plugins = resolve_all(loaded)
    provider = make_provider(loaded, plugins.provider)
    every_task = _asked(loaded, "tasks", provider.tasks)
    chosen = choose_tasks(loaded, _unique_ids(loaded, every_task))
    ids = set(chosen.task_ids)
    tasks = [task for task in every_task if task.task_id in ids]
    side = _driver_side(plugins.kind, provider, tasks, loaded)
    _check_tasks(chosen.loaded, provider, tasks, side)
    _check_arms(chosen.loaded, plugins)
    plan = Plan(chosen.task_ids, [arm.name for arm in chosen.loaded.config.arms], chosen.loaded.config.run.trials)
    code = _code(plugins)
    parts = _digests(chosen.loaded.config, plugins.kind, provider, side, code)
    manifest = _manifest(loaded, provider)
    reads_folder = takes_folder(plugins.provider)
    return Prepared(chosen.loaded, plugins.kind, provider, tasks, side, plan, parts, code, manifest, reads_folder)


def check_provider(prepared: Prepared) -> None:
    """Let the provider look at what a run would meet, where it has such a check; for ``plan`` and the start of a run.

    The credentials that its oracle reads with have to be there.

    Raises:
        ConfigErrors: with every problem found.
    """
    check_credentials(prepared.loaded, prepared.provider, os.environ)
    check: Callable[[], None] | None = getattr(prepared.provider, "check", None)
    if check is None:
        return
    try:
        check()
    except ConfigErrors:
        raise
    except BaseException as error:
        let_interruptions_through(error)
        message = describe(error, "the provider's check failed")
        raise ConfigErrors([prepared.loaded.error(("provider", "use"), message)]) from error


def _check_artifacts(loaded: LoadedConfig) -> None:
    """Refuse a place for artifacts that nobody here can write to, before anything is spent."""
    url = loaded.config.artifacts.url
    try:
        if url:
            open_store(url, loaded.folder)
    except InputError as error:
        raise ConfigErrors([loaded.error(("artifacts", "url"), str(error))]) from error


def make_provider(loaded: LoadedConfig, factory: Callable[..., Any]) -> Provider:
    """The configured provider, checked for its parts.

    Raises:
        ConfigErrors: it cannot be made, or something is missing from it.
    """
    table = loaded.config.provider
    try:
        provider = call_factory(
            factory, pack=table.pack, split=table.split, options=table.options, folder=loaded.folder
        )
    except ConfigErrors:  # in a file of the provider's own, so they have their lines
        raise
    except ConfigError as error:
        place = tuple(error.key.split(".")) if error.key else ("provider", "use")
        raise ConfigErrors([loaded.error(place, error.message, error.hint)]) from error
    except BaseException as error:
        let_interruptions_through(error)
        message = describe(error, "the provider cannot be made")
        raise ConfigErrors([loaded.error(("provider", "use"), message)]) from error
    missing = [name for name in _PROVIDER_PARTS if not hasattr(provider, name)]
    if missing:
        message = f"a {type(provider).__name__} is no provider: it has no {', '.join(missing)}"
        raise ConfigErrors([loaded.error(("provider", "use"), message)])
    made: Provider = provider
    return made


def _asked(loaded: LoadedConfig, what: str, ask: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """What the provider answers, or a configuration error where it fails."""
    try:
        return list(ask())
    except BaseException as error:
        let_interruptions_through(error)
        message = describe(error, f"the provider's {what} cannot be had")
        raise ConfigErrors([loaded.error(("provider", "use"), message)]) from error


def _manifest(loaded: LoadedConfig, provider: Provider) -> JsonObject:
    """The provider's manifest, if it can stand in a file."""
    try:
        manifest = provider.manifest()
        if not isinstance(manifest, dict):
            raise TypeError(f"it must be a dict, not a {type(manifest).__name__}")
        canonical_json(manifest)
    except BaseException as error:
        let_interruptions_through(error)
        message = describe(error, "the provider's manifest cannot be had")
        raise ConfigErrors([loaded.error(("provider", "use"), message)]) from error
    return manifest


def _unique_ids(loaded: LoadedConfig, tasks: Sequence[Any]) -> list[str]:
    ids = [getattr(task, "task_id", None) for task in tasks]
    strange = [f"{name!r}" for name in ids if not isinstance(name, str) or not name or not name.isprintable()]
    twice = sorted({f"{name!r} twice" for name in ids if ids.count(name) > 1})
    if strange or twice:
        message = f"the provider's tasks need ids that are texts, each once; found {', '.join([*strange, *twice][:10])}"
        raise ConfigErrors([loaded.error(("provider", "use"), message)])
    return [str(name) for name in ids]


def _driver_side(kind: Kind, provider: Provider, tasks: Sequence[Any], loaded: LoadedConfig) -> DriverSide:
    try:
        factory: Any = import_reference(kind.driver, loaded.folder)
        side: DriverSide = factory(provider, tasks)
    except ConfigError as error:
        raise ConfigErrors([loaded.error(("run", "kind"), error.message, error.hint)]) from error
    except BaseException as error:
        let_interruptions_through(error)
        message = describe(error, f"kind {kind.name} cannot work with this provider")
        raise ConfigErrors([loaded.error(("provider", "use"), message)]) from error
    return side


def _check_tasks(loaded: LoadedConfig, provider: Provider, tasks: Sequence[Any], side: DriverSide) -> None:
    """Refuse tasks that could not be judged, before anything is spent on them."""
    problems: list[str] = []
    for task in tasks:
        try:
            payload = _checked_payload(provider.payload(task, 0, loaded.config.run.seed))
        except BaseException as error:  # noqa: BLE001 - told as the provider's problem, with its task
            let_interruptions_through(error)
            problems.append(describe(error, f"{task.task_id}: no payload"))
            continue
        problems += [f"{task.task_id}: {problem}" for problem in side.problems(task, payload)]
    if problems:
        raise ConfigErrors([loaded.error(("provider", "use"), problem) for problem in problems])


def _check_arms(loaded: LoadedConfig, plugins: Plugins) -> None:
    errors: list[ConfigError] = []
    for arm in loaded.config.arms:
        try:
            instantiate(plugins.arms[arm.name], dict(arm.options))
        except ConfigError as error:
            place = ("arms", arm.name, error.key.rpartition(".")[2] or "use")
            errors.append(loaded.error(place, error.message, error.hint))
    if errors:
        raise ConfigErrors(errors)


def _code(plugins: Plugins) -> dict[str, Any]:
    arms = {name: code_digest(found) for name, found in plugins.arms.items()}
    return {"provider": code_digest(plugins.provider), "arms": arms}


def _digests(
    config: RunConfig, kind: Kind, provider: Provider, side: DriverSide, code: Mapping[str, Any]
) -> dict[str, Any]:
    """The parts. Options count as they are written: a renewed credential changes nothing, and is in no digest."""
    written = config.written()
    shared = [kind.name, provider.name, provider.version, code["provider"], written["provider"]["options"]]
    return {
        "tasks": dict(side.task_digests()),
        "arms": {
            arm.name: _arm_digest(config, arm, body["options"], code["arms"][arm.name])
            for arm, body in zip(config.arms, written["arms"], strict=True)
        },
        "provider": content_digest([*shared, config.run.seed]),
    }


def _arm_digest(config: RunConfig, arm: ArmTable, options: JsonObject, code: str | None) -> str:
    body: JsonObject = {
        "use": arm.use,
        "options": options,
        "isolation": arm.isolation or ISOLATION,
        "deadline_s": config.arm_deadline_s(arm),
        "idle_s": config.limits.idle_s,
        "report_bytes_max": config.limits.report_bytes_max,
        "code": code,
    }
    return content_digest(body)
