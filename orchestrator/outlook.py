"""What a resume would do, before anything is done: what of the plan has changed, and which trials that invalidates.

Two questions that have answers of their own. *Has the plan changed?* Its configuration, its parts or its digest are
not those of the last session; that has to be accepted. *Which ended trials are other ones now?* Those whose
``trial_digest`` is not what the plan gives now, whenever that came about; they are owed again, all others are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import orjson

from orchestrator.config import Change, Changes, LoadedConfig, RunConfig, classify_changes, config_from_mapping
from orchestrator.content import Content, Parts
from orchestrator.history import JOURNAL_NAME, History, read_history
from orchestrator.journal import LineReader
from orchestrator.ledger import Ledger, Standing
from orchestrator.manifest import read_manifest
from orchestrator.plan import Plan
from orchestrator.preparation import Prepared
from orchestrator.stored import load_run_config, part_changes, prepare_again, read_head
from spec.errors import ConfigErrors, InputError

RETRIABLE: Final[Mapping[str, Standing]] = {
    "unreadable": Standing.UNREADABLE,
    "infrastructure": Standing.INFRASTRUCTURE,
}
"""What ``--retry`` takes: how trials ended that may be owed again."""

KEYS_SHOWN: Final = 3

_SHARED_KEYS: Final = {
    "run.seed": "the run's seed",
    "run.kind": "the run's kind",
    "provider.use": "another provider",
    "provider.options": "its options",
}
_ARM_KEYS: Final = {"use": "another arm", "options": "its options", "isolation": "its isolation"}
_LIMIT_KEYS: Final = ("limits.idle_s", "limits.report_bytes_max")


class ArmOutlook(NamedTuple):
    """What becomes of an arm's trials.

    Attributes:
        planned: trials of the plan.
        kept: ended, and they stay so.
        invalidated: ended, other ones now, owed again.
        retried: ended, and owed again because it was asked for.
        owed: what the resume has to run, invalidated and retried ones included.
        left: ended and no longer planned; their lines stay in the journal and are in no result.
        examples: keys of some invalidated trials.
    """

    planned: int
    kept: int
    invalidated: int
    retried: int
    owed: int
    left: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a resume would do.

    Attributes:
        prepared: the run's configuration, as it would go on.
        history: its journal, read against that.
        free: changed keys that need nobody's consent.
        gated: changed keys that do.
        changed: every change that has to be accepted, one sentence each.
        invalidated: ordinals of ended trials that are other ones now.
        retried: ordinals of ended trials that are owed again by ``--retry``.
    """

    run_dir: Path
    prepared: Prepared
    history: History
    free: tuple[Change, ...]
    gated: tuple[Change, ...]
    changed: tuple[str, ...]
    invalidated: Sequence[int]
    retried: Sequence[int]

    @property
    def reopen(self) -> dict[int, str]:
        """Ordinals that are owed again -> why, as the journal says it."""
        return {**dict.fromkeys(self.invalidated, "changed"), **dict.fromkeys(self.retried, "retry")}

    @property
    def changes(self) -> tuple[Change, ...]:
        """What differs from the last session: keys of the configuration, then parts by their digests."""
        before, after = cast(Parts, self.history.session["parts"]), self.prepared.parts
        return (*self.free, *self.gated, *_part_entries(before, after))

    def arms(self) -> dict[str, ArmOutlook]:
        """What becomes of the trials of each arm, of those that are no longer planned too."""
        plan, counts, left = self.prepared.plan, self.history.ledger.counts(), self.history.left
        by_arm: dict[str, list[int]] = {arm: [] for arm in plan.arms}
        for ordinal in self.invalidated:
            by_arm[plan.arms[plan.arm_of(ordinal)]].append(ordinal)
        retried = Counter(plan.arms[plan.arm_of(ordinal)] for ordinal in self.retried)
        found = {}
        for arm, of_arm in counts.items():
            again = len(by_arm[arm]) + retried[arm]
            found[arm] = ArmOutlook(
                planned=of_arm.planned,
                kept=of_arm.planned - of_arm.owed - again,
                invalidated=len(by_arm[arm]),
                retried=retried[arm],
                owed=of_arm.owed + again,
                left=left[arm],
                examples=tuple(plan.key(ordinal) for ordinal in by_arm[arm][:KEYS_SHOWN]),
            )
        gone = {arm: ArmOutlook(0, 0, 0, 0, 0, ended, ()) for arm, ended in left.items() if ended and arm not in counts}
        return found | gone


def look_ahead(
    run_dir: Path, environ: Mapping[str, str], *, sets: Sequence[str] = (), retry: Collection[str] = ()
) -> Outlook:
    """Find out what a resume would do; nothing is changed.

    Args:
        run_dir: the run directory.
        environ: environment variables for ``${NAME}``.
        sets: ``key=value`` texts that change the run's own configuration.
        retry: of ``RETRIABLE``: trials that ended so would be owed again.

    Raises:
        InputError: there is no run, or it cannot be prepared any more.
        JournalDamaged: its journal is damaged before its last commit.
    """
    read_head(run_dir)
    written, loaded = load_run_config(run_dir, environ), load_run_config(run_dir, environ, sets=sets)
    prepared = prepare_again(loaded)
    history = read_history(run_dir / JOURNAL_NAME, prepared.plan, next_plan=True)
    manifest = _manifest_of(run_dir, history)
    changes = classify_changes(_last_config(manifest, written, environ), loaded.config)
    invalidated = _other_trials(run_dir, prepared, history)
    return Outlook(
        run_dir=run_dir,
        prepared=prepared,
        history=history,
        free=changes.free,
        gated=changes.gated,
        changed=tuple(_sentences(changes, prepared, history, manifest)),
        invalidated=invalidated,
        retried=_without(owed_again(history.ledger, retry), invalidated),
    )


def owed_again(ledger: Ledger, retry: Collection[str]) -> list[int]:
    """The ordinals of the trials that ended in one of the ways of ``retry``.

    Raises:
        InputError: a word is not one of ``RETRIABLE``.
    """
    unknown = [word for word in retry if word not in RETRIABLE]
    if unknown:
        raise InputError(f"--retry: {unknown[0]!r} cannot be owed again; known: {', '.join(RETRIABLE)}")
    wanted = {RETRIABLE[word] for word in retry}
    return [ordinal for ordinal in range(len(ledger.plan)) if wanted and ledger.standing(ordinal) in wanted]


def _without(ordinals: Sequence[int], others: Sequence[int]) -> list[int]:
    left_out = set(others) if ordinals else set()
    return [ordinal for ordinal in ordinals if ordinal not in left_out]


def _manifest_of(run_dir: Path, history: History) -> Mapping[str, Any]:
    """The manifest, where it is that of the last session; it knows why a part differs, and nothing depends on it."""
    manifest = read_manifest(run_dir)
    return manifest if manifest.get("plan_digest") == history.session["plan_digest"] else {}


def _last_config(manifest: Mapping[str, Any], written: LoadedConfig, environ: Mapping[str, str]) -> RunConfig:
    """The configuration of the last session: the manifest's, which nobody edits, or else what run.toml says."""
    try:
        return config_from_mapping(manifest["config"], written.folder, environ=environ).config
    except (KeyError, TypeError, AttributeError, ConfigErrors):
        return written.config


def _other_trials(run_dir: Path, prepared: Prepared, history: History) -> list[int]:
    """The ended trials whose line does not carry the digest that the plan gives now.

    Only trials are looked at of which some session had another task, arm or provider: the others have the digest that
    they had.
    """
    ledger, plan, content = history.ledger, prepared.plan, prepared.content
    earlier = _different_parts(history)
    contents = [Content(parts, plan) for parts in earlier]
    found = []
    with LineReader(run_dir / JOURNAL_NAME) as lines:
        for start in range(0, len(plan), plan.trials):
            if not any(content.differs(other, start) for other in contents):
                continue
            for ordinal in range(start, start + plan.trials):
                offset_bytes = ledger.offset_bytes(ordinal)
                if offset_bytes is not None:
                    fields = orjson.loads(lines.read(offset_bytes))
                    seed = prepared.seed(ordinal)
                    if fields.get("trial_digest") != content.digest(ordinal, seed):
                        found.append(ordinal)
    return found


def _different_parts(history: History) -> list[Parts]:
    found: list[Parts] = []
    for session in history.recovered.sessions:
        parts = cast(Parts, session["parts"])
        if parts not in found:
            found.append(parts)
    return found


def _sentences(changes: Changes, prepared: Prepared, history: History, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Every change that has to be accepted."""
    session = history.session
    before = cast(Parts, session["parts"])
    found = [f"{change.key} was {change.old!r} and would be {change.new!r}" for change in changes.gated]
    found += part_changes(before, prepared.parts, _reasons(changes, prepared, manifest))
    fewer = _fewer_trials(prepared.plan, history)
    if fewer and not any(change.key == "run.trials" for change in changes.gated):
        found.append(fewer)
    if not found and session["plan_digest"] != prepared.plan_digest:
        found.append("a key of run.toml that results depend on is not what the run's last session had")
    yield from found


def _fewer_trials(plan: Plan, history: History) -> str:
    """Whether the last session had more trials; a head does not say how many it had, but its lines may."""
    trials = history.session.get("trials")
    if isinstance(trials, int) and trials > plan.trials:
        return f"run.trials was {trials} and would be {plan.trials}"
    if trials is None and +history.left and list(plan.arms) == list(cast(Parts, history.session["parts"])["arms"]):
        return f"run.trials would be {plan.trials}, and trials beyond that have ended"
    return ""


def _reasons(changes: Changes, prepared: Prepared, manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """``arm NAME`` or ``provider`` -> what of it has changed, by the keys of the configuration and the code."""
    keys = {change.key for change in changes.gated}
    code: Mapping[str, Any] = manifest.get("code") or {}
    shared = [text for key, text in _SHARED_KEYS.items() if key in keys]
    if manifest.get("provider_version", prepared.provider.version) != prepared.provider.version:
        shared.append(f"its version, from {manifest['provider_version']} to {prepared.provider.version}")
    if code.get("provider", prepared.code["provider"]) != prepared.code["provider"]:
        shared.append("its code")
    arms: Mapping[str, Any] = code.get("arms") or {}
    found = {"provider": shared}
    for arm in prepared.config.arms:
        reasons = [text for key, text in _ARM_KEYS.items() if f"arms.{arm.name}.{key}" in keys]
        if f"arms.{arm.name}.deadline_s" in keys or ("engine.deadline_s" in keys and not arm.deadline_s):
            reasons.append("its deadline")
        reasons += [key for key in _LIMIT_KEYS if key in keys]
        if arms.get(arm.name, prepared.code["arms"][arm.name]) != prepared.code["arms"][arm.name]:
            reasons.append("its code")
        found[f"arm {arm.name}"] = reasons or ["its options, its deadline, its isolation or its code"]
    return found


def _part_entries(before: Parts, after: Parts) -> Iterator[Change]:
    """The parts that differ, as a ``resume`` line lists them."""
    for table in ("tasks", "arms"):
        old, new = before[table], after[table]
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                yield Change(f"parts.{table}.{name}", old.get(name), new.get(name))
    if before["provider"] != after["provider"]:
        yield Change("parts.provider", before["provider"], after["provider"])
