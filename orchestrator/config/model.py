"""A run's configuration as frozen values: every key, its type, its bounds and its default.

Strict on purpose: an unknown key, a value of another type, or a number out of its bounds is refused, and nothing is
ever converted in silence. Times and sizes carry their unit in their name. The docstring under a key is also its
description in the shipped JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

from orchestrator.config.rules import (
    NAME_PATTERN,
    RUN_NAME_PATTERN,
    check_address,
    check_arms,
    check_artifacts_url,
    check_directory,
    check_isolation,
    check_kind,
    check_options,
    check_use,
    list_to_tuple,
)

FORMAT = 1
"""The format of the configuration that this version reads and writes."""

WEEK_S = 7 * 24 * 3600.0
"""The longest time that a key can ask for, in seconds."""

TRIALS_MAX = 10**9
"""The most trials of a run: tasks x arms x trials."""

Seconds = Annotated[float, Field(gt=0, le=WEEK_S)]
SecondsOrZero = Annotated[float, Field(ge=0, le=WEEK_S)]
Use = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(check_use)]
Options = Annotated[dict[str, Any], AfterValidator(check_options)]
Globs = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=256)], ...],
    BeforeValidator(list_to_tuple),
    Field(max_length=10_000),
]


class WrittenText(NamedTuple):
    """A text that takes environment variables.

    Attributes:
        written: as in the file, with ``${NAME}``.
        value: with the variables' values; may hold a secret.
    """

    written: str
    value: str


class Table(BaseModel):
    """What every table has in common: closed, frozen, strict, finite."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )


class RunTable(Table):
    """``[run]``: what is measured and how often."""

    kind: Annotated[str, AfterValidator(check_kind)] = "effect"
    """The kind of measurement: effect, or "module:attribute" of a kind of your own."""
    name: Annotated[str, Field(pattern=RUN_NAME_PATTERN)] = "reference"
    """The beginning of the run's id: letters, digits, dot, hyphen and underscore, at most 64."""
    trials: Annotated[int, Field(ge=1, le=TRIALS_MAX)] = 10
    """Repetitions of each task by each arm."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """The run's seed; with task and trial it fixes every payload."""
    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    """Executions of a trial before it is counted unreadable or infrastructure."""
    drain_s: SecondsOrZero = 30.0
    """Seconds that trials in flight may still take after the first Ctrl-C."""
    dir: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(check_directory)] = "runs"
    """Where run directories are made; a relative path starts at the working directory."""


class EngineTable(Table):
    """``[engine]``: where trials run and how many at once."""

    kind: Literal["ray", "inline"] = "ray"
    """ray: worker and oracle actors. inline: everything in this process."""
    address: Annotated[str, Field(max_length=256), AfterValidator(check_address)] = ""
    """"" starts Ray here, "host:port" joins a cluster, "job" is for use inside `ray job submit`."""
    workers: Annotated[int, Field(ge=0, le=4096)] = 0
    """Worker actors; 0: one a core."""
    in_flight: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    """Arms running at once, in all."""
    lease_max: Annotated[int, Field(ge=1, le=100_000)] = 256
    """Trials handed to a worker at once, at most."""
    deadline_s: Seconds = 600.0
    """Seconds that an arm has for a trial."""


class OracleTable(Table):
    """``[oracle]``: who reads the record and how patiently."""

    actors: Annotated[int, Field(ge=1, le=1024)] = 1
    """Oracle actors."""
    read_attempts: Annotated[int, Field(ge=1, le=1000)] = 5
    """How often a record that cannot be read is tried, at most."""
    read_deadline_s: Seconds = 30.0
    """Seconds after which a record that cannot be read is given up."""


class ProviderTable(Table):
    """``[provider]``: the system of record and its tasks."""

    use: Use = "mockmed"
    """A provider's name, or "module:attribute" found from the file's own folder."""
    pack: Annotated[str, Field(max_length=256)] = "anchor"
    """Which of the provider's packs of tasks."""
    split: Literal["dev", "test", "all"] = "dev"
    """Which part of the pack."""
    tasks: Globs = ()
    """Globs over task ids; empty: all."""
    options: Options = Field(default={}, repr=False)
    """What the provider itself takes."""


class ArmTable(Table):
    """``[[arms]]``: a system under test."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    """The arm's name in keys and reports: a-z, 0-9, underscore and hyphen, at most 64."""
    use: Use = Field(default_factory=lambda data: str(data.get("name", "")))
    """An arm's name, or "module:attribute" found from the file's own folder; left out: the arm's own name."""
    isolation: Annotated[str, AfterValidator(check_isolation)] = ""
    """How the arm is kept from the record; "": the arm's default."""
    in_flight: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Trials of this arm running at once; 0: no limit of its own."""
    deadline_s: SecondsOrZero = 0.0
    """Seconds that this arm has for a trial; 0: the engine's."""
    options: Options = Field(default={}, repr=False)
    """What the arm itself takes."""


class LimitsTable(Table):
    """``[limits]``: a bound on everything else."""

    open_s: Seconds = 60.0
    """Seconds in which a fixture must open."""
    baseline_s: Seconds = 30.0
    """Seconds in which the reading before the arm must be there; else the attempt counts as unreadable."""
    idle_s: SecondsOrZero = 0.0
    """Seconds without progress after which an arm is stopped; 0: off."""
    close_s: Seconds = 30.0
    """Seconds in which a fixture must close."""
    stall_report_s: Seconds = 60.0
    """Seconds without any news of a trial after which the run says what it waits for."""
    heartbeat_s: Seconds = 2.0
    """Seconds between the signs of life that are asked of workers and oracles."""
    worker_failures_max: Annotated[int, Field(ge=0, le=10_000)] = 3
    """How many workers and oracles may be lost with no row in between before the run ends."""
    report_bytes_max: Annotated[int, Field(ge=1024, le=2**23)] = 1_048_576
    """The largest report of an arm that is read, in bytes."""
    tail_bytes_max: Annotated[int, Field(ge=0, le=2**30)] = 65_536
    """How much of an arm's last output is kept, in bytes."""
    group_commit_ms: Annotated[float, Field(ge=0, le=10_000)] = 5.0
    """Milliseconds that journal lines are gathered before they are synced together."""
    disk_free_min_bytes: Annotated[int, Field(ge=0, le=2**60)] = 268_435_456
    """Free space below which no run is begun or gone on with, in bytes."""


class ArtifactsTable(Table):
    """``[artifacts]``: where large things of a run are kept."""

    url: Annotated[str, Field(max_length=2048), AfterValidator(check_artifacts_url)] = ""
    """A place that fsspec can write to, such as "s3://bucket/prefix"; "": artifacts/ in the run directory.

    No arm of this version hands anything in; the place is checked when a run is prepared.
    """


class RunConfig(Table):
    """Everything that a run is told, with every default filled in.

    Texts stand here with their environment variables filled in; ``written`` gives the form that may be stored.
    """

    format: Literal[1] = 1
    """The format of this file."""
    run: RunTable = RunTable()
    engine: EngineTable = EngineTable()
    oracle: OracleTable = OracleTable()
    provider: ProviderTable = ProviderTable()
    arms: Annotated[
        tuple[ArmTable, ...],
        BeforeValidator(list_to_tuple),
        Field(min_length=1, max_length=1000),
        AfterValidator(check_arms),
    ]
    limits: LimitsTable = LimitsTable()
    artifacts: ArtifactsTable = ArtifactsTable()

    _texts: Mapping[tuple[str, ...], WrittenText] = PrivateAttr(default_factory=dict)

    TABLES: ClassVar[Mapping[str, type[Table]]] = {
        "run": RunTable,
        "engine": EngineTable,
        "oracle": OracleTable,
        "provider": ProviderTable,
        "arms": ArmTable,
        "limits": LimitsTable,
        "artifacts": ArtifactsTable,
    }
    """The tables by their names."""

    def arm(self, name: str) -> ArmTable:
        """The arm of that name.

        Raises:
            KeyError: there is none.
        """
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise KeyError(name)

    def arm_deadline_s(self, arm: ArmTable) -> float:
        """Seconds that the arm has for a trial: its own deadline, else the engine's."""
        return arm.deadline_s or self.engine.deadline_s

    def with_texts(self, texts: Mapping[tuple[str, ...], WrittenText]) -> RunConfig:
        """The same values, remembering how texts with environment variables were written.

        Args:
            texts: by place; an arm stands in a place by its name, an element of a list by its index as text.
        """
        copy = self.model_copy()
        copy._texts = dict(texts)
        return copy

    def written(self) -> dict[str, Any]:
        """All keys as plain values, with ``${NAME}`` where the file has it: no secret is in them."""
        body = self.model_dump(mode="json")
        arms = {arm["name"]: arm for arm in body["arms"]}
        for place, text in self._texts.items():
            root = arms if place[0] == "arms" else body
            _put_back(root, place[1:] if place[0] == "arms" else place, text)
        return body


def _put_back(root: object, place: tuple[str, ...], text: WrittenText) -> None:
    """Write ``${NAME}`` over its value, where the place still holds that value."""
    *parents, last = place
    for name in parents:
        root = _step(root, name)
    if _step(root, last) != text.value:
        return
    if isinstance(root, list):
        root[int(last)] = text.written
    elif isinstance(root, dict):
        root[last] = text.written


def _step(node: object, name: str) -> object:
    if isinstance(node, list):
        return node[int(name)] if int(name) < len(node) else None
    return node.get(name) if isinstance(node, dict) else None
