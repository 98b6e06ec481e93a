"""``plan``: what would run, or what a resume of a run would do. Nothing is started and no file is made."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, stdout_kept

if TYPE_CHECKING:
    from orchestrator.outlook import ArmOutlook, Outlook
    from orchestrator.preparation import Prepared

_SUMS: Final = ("kept", "invalidated", "retried", "owed", "left")
_VARIABLE: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@click.command("plan", context_settings=options.SETTINGS)
@partial(options.config_options, required=False)
@click.option(
    "--resume", "run_dir", type=click.Path(path_type=Path), metavar="RUN_DIR", help="Show what a resume of it would do."
)
@options.retry
@options.as_json
@options.verbose
def plan_command(
    config: Path | None,
    inline: bool,
    sets: tuple[str, ...],
    limit: int | None,
    tasks: tuple[str, ...],
    arms: tuple[str, ...],
    split: str | None,
    run_dir: Path | None,
    retry: str,
    as_json: bool,
) -> int:
    """Show what would run, or what a resume would keep, owe and invalidate; start nothing."""
    all_sets = options.all_sets(sets, inline)
    if (config is None) is (run_dir is None):
        raise click.UsageError("either --config FILE or --resume RUN_DIR has to be given")
    if run_dir is not None and (limit is not None or tasks or arms or split):
        raise click.UsageError("--resume takes the run's own configuration; change it with --set, as resume does")
    if config is not None and retry:
        raise click.UsageError("--retry goes with --resume RUN_DIR")
    with stdout_kept():  # what it names is imported, and may print
        if run_dir is not None:
            facts, text = _outlook(run_dir.absolute(), all_sets, options.words(retry))
        else:
            from orchestrator.config import load_config
            from orchestrator.preparation import check_provider, prepare

            loaded = load_config(
                Path(config or ""), environ=os.environ, sets=all_sets, tasks=tasks, arms=arms, split=split, limit=limit
            )
            prepared = prepare(loaded)
            check_provider(prepared)
            facts = plan_facts(prepared)
            text = plan_text(facts)
    if as_json:
        answer_json(0, facts)
    else:
        answer(text)
    return 0


def _outlook(run_dir: Path, sets: tuple[str, ...], retry: list[str]) -> tuple[dict[str, Any], str]:
    from orchestrator.outlook import look_ahead

    facts = outlook_facts(look_ahead(run_dir, os.environ, sets=sets, retry=retry))
    return facts, outlook_text(facts)


def outlook_facts(outlook: Outlook) -> dict[str, Any]:
    """What a resume would do, as plain values."""
    arms = outlook.arms()
    return {
        "run_dir": str(outlook.run_dir),
        "plan_digest": outlook.prepared.plan_digest,
        "needs_accept_changes": bool(outlook.changed),
        "changed": list(outlook.changed),
        "changes": [change._asdict() for change in outlook.changes],
        "trials": len(outlook.prepared.plan),
        **{name: sum(getattr(arm, name) for arm in arms.values()) for name in _SUMS},
        "arms": {name: arm._asdict() for name, arm in arms.items()},
        "resume_needs": _resume_needs(outlook.prepared),
    }


def outlook_text(facts: Mapping[str, Any]) -> str:
    """The same for a person."""
    from orchestrator.outlook import ArmOutlook
    from orchestrator.report.text import visible

    free = [change for change in facts["changes"] if not change["key"].startswith("parts.")]
    lines = [
        f"{facts['trials']} trials are planned: {facts['kept']} are kept, {facts['owed']} are owed",
        *(f"changed: {sentence}" for sentence in facts["changed"]),
        *([] if facts["changed"] else [f"free to change: {change['key']} = {change['new']!r}" for change in free]),
        *(f"arm {name}: {_arm_outlook(ArmOutlook(**of_arm))}" for name, of_arm in facts["arms"].items()),
        "the resume needs --accept-changes" if facts["needs_accept_changes"] else "the resume needs no further flag",
    ]
    return "\n".join(map(visible, lines))


def _arm_outlook(arm: ArmOutlook) -> str:
    parts = [f"{arm.planned} planned, {arm.kept} kept, {arm.owed} owed"]
    if arm.invalidated:
        more = ", ..." if arm.invalidated > len(arm.examples) else ""
        parts.append(f"of these {arm.invalidated} are other trials now ({', '.join(arm.examples)}{more})")
    if arm.retried:
        parts.append(f"{arm.retried} are tried again")
    if arm.left:
        parts.append(f"{arm.left} ended trials are no longer planned")
    return "; ".join(parts)


def plan_facts(prepared: Prepared) -> dict[str, Any]:
    """What would run, as plain values."""
    from orchestrator.audit import attest

    config, plan = prepared.config, prepared.plan
    return {
        "kind": prepared.kind.name,
        "trials": len(plan),
        "repetitions": plan.trials,
        "provider": prepared.provider.name,
        "pack": config.provider.pack,
        "split": config.provider.split,
        "tasks": list(plan.task_ids),
        "arms": {arm.name: _arm_facts(prepared, arm.name) for arm in config.arms},
        "plan_digest": prepared.plan_digest,
        "pack_digest": prepared.pack_digest,
        "split_digest": prepared.split_digest,
        "tasks_digest": prepared.tasks_digest,
        "attestations": attest(prepared),
        "where": _where(prepared),
        "in_flight": config.engine.in_flight,
        "run_dir": str(Path(config.run.dir).absolute()),
        "resume_needs": _resume_needs(prepared),
    }


def _arm_facts(prepared: Prepared, name: str) -> dict[str, Any]:
    arm = prepared.config.arm(name)
    return {
        "use": arm.use,
        "isolation": prepared.isolation()[name],
        "in_flight": arm.in_flight or None,
        "deadline_s": prepared.config.arm_deadline_s(arm),
        "digest": prepared.parts["arms"][name],
    }


def _where(prepared: Prepared) -> str:
    engine = prepared.config.engine
    if engine.kind == "inline":
        return "in this process, without Ray"
    places = {"": "Ray, started on this machine", "job": "Ray, the cluster of this job"}
    workers = f"{engine.workers or os.cpu_count() or 1} workers"
    return f"{places.get(engine.address, f'Ray, the cluster at {engine.address}')}, {workers}"


def _resume_needs(prepared: Prepared) -> dict[str, Any]:
    """What has to be there beside the run directory, so that the run can be gone on with."""
    from orchestrator.config.rules import is_reference

    config = prepared.config
    uses = [config.run.kind, config.provider.use, *(arm.use for arm in config.arms)]
    own = [use for use in uses if is_reference(use)]
    return {
        "folder": str(prepared.loaded.folder) if own or prepared.reads_folder else None,
        "code": own,
        "provider_files": prepared.reads_folder,
        "environment": sorted(set(_VARIABLE.findall(prepared.loaded.effective_toml))),
    }


def plan_text(facts: Mapping[str, Any]) -> str:
    """The same for a person."""
    from orchestrator.report.text import visible

    tasks, arms = facts["tasks"], facts["arms"]
    lines = [
        f"{facts['trials']} trials: {len(tasks)} tasks x {len(arms)} arms x {facts['repetitions']}",
        f"kind {facts['kind']}, provider {facts['provider']}, pack {facts['pack']}, split {facts['split']}",
        f"plan digest {facts['plan_digest']}",
        *(f"{what} digest {facts[f'{what}_digest']}" for what in ("pack", "split", "tasks") if facts[f"{what}_digest"]),
        f"runs: {facts['where']}; up to {facts['in_flight']} arms at once; directory below {facts['run_dir']}",
        *(f"arm {name}: {_arm_text(of_arm)}" for name, of_arm in arms.items()),
        *_task_lines(facts, tasks),
        _needs_text(facts["resume_needs"]),
    ]
    return "\n".join(map(visible, lines))


def _task_lines(facts: Mapping[str, Any], tasks: Sequence[str]) -> list[str]:
    """The tasks, marked where no audit has passed, and what is attested of them."""
    from orchestrator.attestations import MARK, attestation_sentence, audit_warning, unaudited

    marked = set(unaudited(facts))
    said = [text for text in (attestation_sentence(facts), audit_warning(facts)) if text]
    return [*(f"task {task_id}{' ' + MARK if task_id in marked else ''}" for task_id in tasks), *said]


def _arm_text(of_arm: Mapping[str, Any]) -> str:
    own_limit = f", {of_arm['in_flight']} at once" if of_arm["in_flight"] else ""
    return f"{of_arm['use']}, isolation {of_arm['isolation']}, deadline {of_arm['deadline_s']:g} s{own_limit}"


def _needs_text(needs: Mapping[str, Any]) -> str:
    parts = []
    if needs["folder"]:
        things = [*needs["code"], *(["the files of the provider"] if needs["provider_files"] else [])]
        parts.append(f"{', '.join(things)} unchanged in {needs['folder']}")
    if needs["environment"]:
        parts.append(f"the environment variables {', '.join(needs['environment'])}")
    return f"a resume needs the run directory{''.join(f', {part}' for part in parts)} and the same tasks"
