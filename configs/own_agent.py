"""An agent of your own: the smallest that chooses for itself.

It works a medical record's screen by typed tools. A real one would put a language model where ``run`` decides; what
it is given and what it answers stay the same:

* ``task`` has the goal in plain words, the trial's values in ``params``, the tools with their JSON Schemas, a seed
  and a deadline in seconds. Nothing in it says whether the save will work.
* ``environment.call(tool, **arguments)`` acts. What comes back is what the screen shows, which may be wrong.
* The answer is a claim: ``reported_success``, and ``halted`` where it stopped on purpose. The orchestrator reads the
  record itself, by a path that the agent cannot reach, and compares.

A plain ``async def run(task, environment)`` would do as well; a class is made once, with the arm's options.
"""

from __future__ import annotations

import re
from typing import Any

from arms.base import ArmTask
from arms.environment import Environment
from spec.report import AgentReport

GOAL = re.compile(r"Record an? (?P<type>\w+) encounter for the patient (?P<name>.+?), born (?P<born>[\d-]{10}),")


class CarefulClerk:
    """Makes sure of the patient and of the button before it saves, and then believes the banner.

    Args:
        double_check: look at the patient's chart after the save, and claim nothing that it does not show.
    """

    def __init__(self, double_check: bool = True) -> None:
        self.double_check = double_check

    async def __call__(self, task: ArmTask, environment: Environment) -> AgentReport:
        """Work on one trial."""
        wanted = GOAL.search(task.goal)
        if wanted is None:
            return halt("the goal is not one that this agent understands")
        found: Any = await environment.call("find_patients", name=wanted["name"], birth_date=wanted["born"])
        if len(found) != 1:
            return halt(f"{len(found)} patients fit the goal")
        patient_id, note = found[0]["patient_id"], task.params["note"]
        draft: Any = await environment.call("start_encounter", patient_id=patient_id, type=wanted["type"], note=note)
        screen: Any = await environment.call("read_screen")
        control = next(entry["control"] for entry in screen["controls"] if entry["enabled"])
        banner: Any = await environment.call("save_encounter", encounter=draft["encounter"], control=control)
        if not banner["saved"]:
            return AgentReport(reported_success=False, message=banner["banner"])
        if self.double_check and not await on_chart(environment, patient_id, note):
            return halt("the banner says saved, but the chart does not show it")
        return AgentReport(reported_success=True, message=banner["banner"])


async def on_chart(environment: Environment, patient_id: str, note: object) -> bool:
    """Whether the chart shows the note. It shows what the client believes, so even this can be wrong."""
    chart: Any = await environment.call("read_chart", patient_id=patient_id)
    return any(encounter["note"] == note for encounter in chart["encounters"])


def halt(reason: str) -> AgentReport:
    """Stop on purpose: better than a claim that may be wrong."""
    return AgentReport(reported_success=False, halted=True, message=reason)
