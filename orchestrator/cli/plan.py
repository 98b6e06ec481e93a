"""``plan``: what would run. Nothing is started and no file is made."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, stdout_kept

if TYPE_CHECKING:
    from orchestrator.preparation import Prepared

_VARIABLE: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@click.command("plan", context_settings=options.SETTINGS)
@options.config_options
@options.as_json
@options.verbose
def plan_command(
    config: Path,
    inline: bool,
    sets: tuple[str, ...],
    limit: int | None,
    tasks: tuple[str, ...],
    arms: tuple[str, ...],
    split: str | None,
    as_json: bool,
) -> int:
    """Show what would run; start nothing."""
    from orchestrator.config import load_config
    from orchestrator.preparation import prepare

    with stdout_kept():  # what it names is imported, and may print
        loaded = load_config(
            config,
            environ=os.environ,
            sets=options.all_sets(sets, inline),
            tasks=tasks,
            arms=arms,
            split=split,
            limit=limit,
        )
        facts = plan_facts(prepare(loaded))
    if as_json:
        answer_json(0, facts)
    else:
        answer(plan_text(facts))
    return 0


def plan_facts(prepared: Prepared) -> dict[str, Any]:
    """What would run, as plain values."""
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
        "folder": str(prepared.loaded.folder) if own else None,
        "code": own,
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
        *(f"task {task_id}" for task_id in tasks),
        _needs_text(facts["resume_needs"]),
    ]
    return "\n".join(map(visible, lines))


def _arm_text(of_arm: Mapping[str, Any]) -> str:
    own_limit = f", {of_arm['in_flight']} at once" if of_arm["in_flight"] else ""
    return f"{of_arm['use']}, isolation {of_arm['isolation']}, deadline {of_arm['deadline_s']:g} s{own_limit}"


def _needs_text(needs: Mapping[str, Any]) -> str:
    parts = []
    if needs["folder"]:
        parts.append(f"{', '.join(needs['code'])} unchanged in {needs['folder']}")
    if needs["environment"]:
        parts.append(f"the environment variables {', '.join(needs['environment'])}")
    return f"a resume needs the run directory{''.join(f', {part}' for part in parts)} and the same tasks"
