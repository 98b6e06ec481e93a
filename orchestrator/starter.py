"""A first configuration and a first agent, which run as they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spec.errors import InputError, JournalUnwritable

CONFIG: Final = "agent.toml"
AGENT: Final = "my_agent.py"

_CONFIG_TEXT: Final = f"""\
# Your agent beside a scripted one, on the same trials of a synthetic medical record.
#
#   python -m orchestrator --config {CONFIG}
#   python -m orchestrator plan --config {CONFIG}      what would run; starts nothing
format = 1

[run]
name = "my-agent"
trials = 3                 # of each task by each arm

[engine]
kind = "inline"            # in this process; "ray" for many agents at once

[provider]
use = "mockmed"
pack = "full"              # tasks that hide a wrong record behind a green screen, in several ways
split = "dev"

[[arms]]
name = "screen_only"       # believes the banner: what to compare with
use = "screen_only"

[[arms]]
name = "my_agent"
use = "my_agent:run"       # the function run in {AGENT}, beside this file
in_flight = 8              # trials of it at once
deadline_s = 60
"""

_AGENT_TEXT: Final = '''\
"""An agent to start from. Replace what `run` decides by whatever your agent decides with.

`task` says what is wanted: a goal in plain words, the values in `params`, the tools with their JSON Schemas, a seed
and a deadline in seconds. `environment` is the only thing to act on. What is returned is a claim; the orchestrator
reads the record itself, by another path, and compares.
"""

from __future__ import annotations

import re
from typing import Any

from arms.base import ArmTask
from arms.environment import Environment
from spec.report import AgentReport

GOAL = re.compile(r"an? (?P<type>\\w+) encounter for the patient (?P<name>.+?), born (?P<born>[\\d-]{10})")


async def run(task: ArmTask, environment: Environment) -> AgentReport:
    """Work on one trial and say how it went."""
    wanted = GOAL.search(task.goal)
    if wanted is None:
        return AgentReport(reported_success=False, halted=True, message="the goal was not understood")

    # Every tool is called by its name; `task.tools` lists them with what they take.
    patients: Any = await environment.call("find_patients", name=wanted["name"], birth_date=wanted["born"])
    if len(patients) != 1:
        return AgentReport(reported_success=False, halted=True, message=f"{len(patients)} patients fit")

    patient_id, note = patients[0]["patient_id"], task.params["note"]
    draft: Any = await environment.call("start_encounter", patient_id=patient_id, type=wanted["type"], note=note)
    screen: Any = await environment.call("read_screen")
    control = next(entry["control"] for entry in screen["controls"] if entry["enabled"])
    banner: Any = await environment.call("save_encounter", encounter=draft["encounter"], control=control)

    # The banner is what the screen says. Is it what the record holds?
    return AgentReport(reported_success=banner["saved"], message=banner["banner"])
'''


def write_starter(directory: Path) -> list[Path]:
    """Write a configuration and an agent into a directory, which is made if it is not there.

    Args:
        directory: where to.

    Returns:
        The two files.

    Raises:
        InputError: one of them exists; then neither is written.
        JournalUnwritable: the directory cannot be written.
    """
    texts = {directory / CONFIG: _CONFIG_TEXT, directory / AGENT: _AGENT_TEXT}
    there = [str(path) for path in texts if path.exists() or path.is_symlink()]
    if there:
        raise InputError(f"{', '.join(there)}: exists already, and nothing is overwritten; name another directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except FileExistsError as error:
        raise InputError(f"{error.filename}: exists already, and nothing is overwritten") from error
    except OSError as error:
        raise JournalUnwritable(f"{directory}: cannot be written: {error.strerror}") from error
    return list(texts)
