"""A first configuration with a first agent, or with a first record; they run as they are written."""

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


RECORD_CONFIG: Final = "record.toml"

_RECORD_TEXTS: Final = {
    RECORD_CONFIG: """\
# Your record, declared in desk.toml, and a scripted arm that believes what the screen says.
#
#   python -m orchestrator plan --config record.toml      what would run; starts nothing
#   python -m orchestrator --config record.toml
format = 1

[run]
name = "my-record"
trials = 3

[engine]
kind = "inline"            # in this process; "ray" for many trials at once

[provider]
use = "declared"
options = { file = "desk.toml" }

[[arms]]
name = "screen_only"
use = "screen_only"
""",
    "desk.toml": """\
# A record that is declared: how it is made, acted on and read. Every table is explained in docs/bring-your-record.md.
format = 1
name = "my-desk"
check = true               # plan opens one record and looks for what the contracts speak of

[reset.sql]                # a fresh database for each trial
database = "sqlite"        # or "postgres"
template = ["schema.sql"]
scripts = ["ticket.sql"]

[[tools.command]]          # what an agent can do; arguments are JSON on the program's standard input
name = "close_ticket"
description = "Close a ticket with a note."
argv = ["{python}", "{here}/desk.py"]
env = { DESK = "{database_path}", FAULT = "{fault}" }
parameters = { number = { type = "integer" }, note = { type = "string" } }

[action]                   # what a scripted arm does
tool = "close_ticket"
arguments = { number = "{number}", note = "{note}" }
banner = { pointer = "/banner", saved = "^Closed" }

[record]                   # where the oracle reads, by a connection of its own
channel = "sql"
where = { url = "{database_url}" }
final = true
main_table = "tickets"

[params]                   # different in every trial
number = { int = [1000, 9999] }
note = { text = "called back, {unique}" }

[[tasks]]
id = "close"
title = "Close a ticket"
goal = "Close ticket {number} with the note: {note}"
correct_action_available = true
wiring = { fault = "" }    # for the application; no agent sees it
[[tasks.contract]]
kind = "field_equals"
match = { number = "{number}" }
types = { number = "int" }
field = "status"
value = "closed"
also = { note = "{note}" }

[[tasks]]
id = "note_lost"
title = "The note is lost behind a green screen"
goal = "Close ticket {number} with the note: {note}"
category = "C1_partial_save"
correct_action_available = false
wiring = { fault = "note" }
[[tasks.contract]]
kind = "field_equals"
match = { number = "{number}" }
types = { number = "int" }
field = "status"
value = "closed"
also = { note = "{note}" }
""",
    "schema.sql": """\
CREATE TABLE tickets (id INTEGER PRIMARY KEY, number INTEGER UNIQUE, status TEXT, note TEXT);
""",
    "ticket.sql": """\
-- The trial's own ticket; :number is bound by the driver.
INSERT INTO tickets (number, status) VALUES (:number, 'open');
""",
    "desk.py": """\
import json
import os
import sqlite3
import sys

asked = json.load(sys.stdin)
note = None if os.environ["FAULT"] == "note" else asked["note"]
desk = sqlite3.connect(os.environ["DESK"])
done = desk.execute("UPDATE tickets SET status = 'closed', note = ? WHERE number = ?", (note, asked["number"]))
desk.commit()
print(json.dumps({"banner": "Closed" if done.rowcount else "No such ticket"}))
""",
}


def write_starter(directory: Path, *, record: bool = False) -> list[Path]:
    """Write a configuration with an agent, or with a record, into a directory, which is made if it is not there.

    Args:
        directory: where to.
        record: a record that is declared, in place of an agent.

    Returns:
        The files, the configuration first.

    Raises:
        InputError: one of them exists; then neither is written.
        JournalUnwritable: the directory cannot be written.
    """
    chosen = _RECORD_TEXTS if record else {CONFIG: _CONFIG_TEXT, AGENT: _AGENT_TEXT}
    texts = {directory / name: text for name, text in chosen.items()}
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
