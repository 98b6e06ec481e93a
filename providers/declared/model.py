"""The declaration: everything that a user's TOML file may say, with every default.

Single keys are checked here; what concerns several of them is checked in ``providers.declared.checks``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from providers.declared.params import Draw, parse_param
from providers.declared.templates import NAME_PATTERN, TemplateError, names_in
from spec.contract import EffectKind, FieldType, Risk
from spec.task import Category, Split, Substrate

TASKS_MAX: Final = 10_000
DEADLINE_MAX_S: Final = 3_600.0


def rule(reason: str, hint: str = "") -> PydanticCustomError:
    """The refusal of one value.

    Args:
        reason: what is wrong, behind the value.
        hint: what to do instead.
    """
    return PydanticCustomError("rule", "{reason}", {"reason": reason, "hint": hint})


def _template(text: str) -> str:
    try:
        names_in(text)
    except TemplateError as error:
        raise rule(f"is no template: {error}", "write {{ and }} for braces that are meant as such") from None
    return text


def _templates(value: Any) -> Any:  # noqa: ANN401 - whatever TOML can hold
    """Plain JSON, with templates as texts; a date of TOML's own is neither."""
    try:
        names_in(value)
    except TemplateError as error:
        raise rule(f"cannot stand here: {error}") from None
    return value


Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1, max_length=4096)]
Template = Annotated[str, Field(min_length=1, max_length=65_536), AfterValidator(_template)]
Value = Annotated[Any, AfterValidator(_templates)]
Argv = Annotated[list[Template], Field(min_length=1, max_length=256)]
Seconds = Annotated[float, Field(gt=0, le=DEADLINE_MAX_S)]
SecondsOrZero = Annotated[float, Field(ge=0, le=DEADLINE_MAX_S)]
Status = Annotated[int, Field(ge=0, le=999)]
Path = Annotated[str, Field(min_length=1, max_length=1024)]
Pointer = Annotated[str, Field(pattern=r"^(/.*)?$")]
if TYPE_CHECKING:
    Param = Draw
else:  # pydantic would look into the class, and its values are JSON, which knows no end
    Param = Annotated[Any, AfterValidator(parse_param)]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Table(BaseModel):
    """A table of the file: no key that is not listed, no value of another type, frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SqlReset(Table):
    """``[reset.sql]``: a database made for each trial and filled by scripts."""

    database: Literal["sqlite", "postgres"]
    """A file of SQLite, or a database of PostgreSQL."""
    template: Annotated[list[Path], Field(max_length=64)] = []
    """Scripts, beside the declaration, that fill what every trial begins with; they are run once."""
    scripts: Annotated[list[Path], Field(max_length=64)] = []
    """Scripts that each trial adds; ``:name`` in them is a value of the trial, bound by the database's driver."""
    dsn_env: Variable | None = None
    """The environment variable that names your own PostgreSQL server; left out: one that is embedded."""
    oracle_role: Text | None = None
    """The role by which the oracle reads on your own server."""
    databases_max: Annotated[int, Field(ge=1, le=1024)] = 16
    """Databases of PostgreSQL that stand at once in a worker; a trial waits for one that is free."""


class CommandReset(Table):
    """``[reset.command]``: a program that makes the record of a trial."""

    argv: Argv
    """The program and its arguments; never a shell."""
    env: dict[Variable, Template] = {}
    """What stands in its environment, beside a plain PATH."""
    pass_env: list[Variable] = []
    """Variables that it takes from the orchestrator's environment."""
    deadline_s: Seconds = 30.0
    """Seconds in which it must end, with 0."""
    keep: dict[Name, Pointer] = {}
    """Placeholder -> JSON pointer into what it prints."""


class HttpReset(Table):
    """``[[reset.http]]``: a request that makes the record of a trial."""

    method: Method = "POST"
    url: Template
    json_body: Annotated[Value, Field(alias="json")] = None
    """What is sent as JSON; left out: nothing."""
    headers: dict[str, Template] = {}
    token_env: Variable | None = None
    """The environment variable that holds a bearer token."""
    status: list[Status] = [200, 201, 202, 204]
    """The answers that are right."""
    deadline_s: Seconds = 30.0
    keep: dict[Name, Pointer] = {}
    """Placeholder -> JSON pointer into the answer."""


class Reset(Table):
    """``[reset]``: how a fresh record is made; SQL first, then the command, then the requests in order."""

    sql: SqlReset | None = None
    command: CommandReset | None = None
    http: list[HttpReset] = []


class DeclaredTool(Table):
    """What every listed tool has."""

    name: Identifier
    description: Text
    parameters: dict[Name, dict[str, Any]] = {}
    """Argument -> its JSON Schema."""
    required: list[Name] | None = None
    """The arguments that must be given; left out: all."""
    deadline_s: Seconds = 10.0
    """Seconds in which an answer must be there."""
    on_timeout: Literal["fault", "answer"] = "fault"
    """What a missing answer is: the environment's fault, or an answer with status 0 that the agent sees."""


class HttpTool(DeclaredTool):
    """``[[tools.http]]``: an endpoint."""

    method: Method = "POST"
    url: Template
    """May hold placeholders, and arguments of the call; both are quoted."""
    query: list[Name] = []
    """Arguments that go into the query; left out, those of a GET or DELETE that are not in the path do."""
    headers: dict[str, Template] = {}
    token_env: Variable | None = None


class CommandTool(DeclaredTool):
    """``[[tools.command]]``: a program; the arguments of a call are JSON on its standard input."""

    argv: Argv
    env: dict[Variable, Template] = {}
    pass_env: list[Variable] = []


class OpenApiTools(Table):
    """``[tools.openapi]``: the operations of an OpenAPI 3 file."""

    file: Path
    url: Template
    """The address in front of every path."""
    operations: list[str] = ["*"]
    """Globs over operationId."""
    headers: dict[str, Template] = {}
    token_env: Variable | None = None
    deadline_s: Seconds = 10.0
    on_timeout: Literal["fault", "answer"] = "fault"


class McpTools(Table):
    """``[tools.mcp]``: the tools of an MCP server, started for each trial or reached by URL."""

    argv: Argv | None = None
    url: Template | None = None
    """Streamable HTTP."""
    env: dict[Variable, Template] = {}
    pass_env: list[Variable] = []
    headers: dict[str, Template] = {}
    token_env: Variable | None = None
    tools: list[str] = ["*"]
    """Globs over the names of its tools."""
    deadline_s: Seconds = 10.0


class Tools(Table):
    """``[tools]``: what an agent acts with."""

    answer_bytes_max: Annotated[int, Field(ge=256, le=2**24)] = 262_144
    """The largest answer of a tool, in bytes."""
    http: list[HttpTool] = []
    command: list[CommandTool] = []
    openapi: OpenApiTools | None = None
    mcp: McpTools | None = None


class Banner(Table):
    """``[action.banner]``: how a scripted arm reads what the screen says."""

    status: list[Status] | None = None
    """The answers that paint success; left out: 200 to 299 of HTTP, 0 of anything else."""
    pointer: Pointer = ""
    """Where in the answer the banner's text stands, as a JSON pointer; "" is the whole answer."""
    saved: Annotated[str, Field(max_length=1024)] | None = None
    """A regular expression that the text must hold; left out: the status alone decides."""


class Action(Table):
    """``[action]``: what a scripted arm does: one call."""

    tool: Identifier
    arguments: dict[str, Value] = {}
    banner: Banner = Banner()


class Bookkeeping(Table):
    """``[record.bookkeeping]``: what the system keeps for itself, and may always change."""

    fields: list[str] = ["id"]
    tables: list[str] = []


class RecordTable(Table):
    """``[record]``: where the oracle reads, and how it tells rows apart."""

    channel: Identifier
    where: dict[str, Value]
    """The address of one trial's record; see docs/bring-your-record.md."""
    final: bool | None = None
    """One reading is the truth; left out: so for file and fs, not for the others."""
    main_table: Text
    id_field: Text = "id"
    keys: dict[str, list[Text]] = {}
    """Table -> the fields that tell its rows apart, where that is not ``id_field``."""
    bookkeeping: Bookkeeping = Bookkeeping()
    read_credentials: list[Variable] = []
    """Environment variables that only the oracle gets."""


class EffectTable(Table):
    """``[[tasks.contract]]``: one statement about the record; ``"{name}"`` is a parameter of the trial."""

    kind: Annotated[EffectKind, Field(strict=False)]
    match: dict[str, Value]
    table: str = ""
    field: Text | None = None
    value: Value = None
    also: dict[str, Value] = {}
    types: dict[str, Annotated[FieldType, Field(strict=False)]] = {}
    expected_count: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    idempotency_key: Value = None
    key_field: Text = "key"
    count_new_only: bool = False
    forbid_collateral_loss: bool = True
    risk: Annotated[Risk, Field(strict=False)] = Risk.IRREVERSIBLE
    probe: str = ""
    timeout_s: SecondsOrZero = 5.0


class Axes(Table):
    """``[tasks.axes]``: how reports group the task."""

    reversible: bool = False
    effect_declared: bool = False


class TaskTable(Table):
    """``[[tasks]]``: what is asked, and when it is done."""

    id: Identifier
    title: Text
    goal: Template
    contract: Annotated[list[EffectTable], Field(min_length=1, max_length=64)]
    correct_action_available: bool
    category: Annotated[Category, Field(strict=False)] = Category.CONTROL
    substrate: Annotated[Substrate, Field(strict=False)] = Substrate.WEB
    split: Annotated[Split, Field(strict=False)] = Split.DEV
    settle_s: SecondsOrZero = 0.0
    axes: Axes = Axes()
    params: dict[Name, Param] = {}
    """What the agent is told, and what the contract may name."""
    wiring: dict[Name, Param] = {}
    """What only the reset and the tools get, such as a fault; no agent sees it."""
    action: Action | None = None
    """In place of ``[action]``."""


class Declaration(Table):
    """The whole file."""

    format: Literal[1] = 1
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    version: Text = "1"
    check: bool = False
    """Open one record when a run is planned, and look whether it has what the contracts speak of."""
    reset: Reset = Reset()
    tools: Tools = Tools()
    action: Action | None = None
    record: RecordTable
    params: dict[Name, Param] = {}
    """For every task; a task's own come first."""
    wiring: dict[Name, Param] = {}
    tasks: Annotated[list[TaskTable], Field(min_length=1, max_length=TASKS_MAX)]
