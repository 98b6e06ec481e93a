"""The public row: one scored trial of kind effect, as files exchange it.

This model stands at the border only: it reads rows that somebody else wrote, or that stood on a disk. The engine
writes rows as plain mappings, since a model costs more than the trial. What this project adds (attempt, arm fault,
isolation, usage) stands inside ``env_fingerprint``, because readers of the public format refuse unknown keys.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import ErrorDetails

from spec.outcome import Outcome, SwerVariant, classify
from spec.reading import TrueState, Verdict
from spec.task import Category, Substrate
from spec.trial import trial_key

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]

_VERDICTS: Final = {
    TrueState.CORRECT: Verdict.CONFIRMED,
    TrueState.WRONG_PERSISTED: Verdict.REFUTED,
    TrueState.ABSENT: Verdict.REFUTED,
}


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AgentPart(_Strict):
    """What the arm said."""

    reported_success: bool
    halted: bool
    message: str


class OraclePart(_Strict):
    """What the oracle read; exactly one of the three ``effect_`` flags is true."""

    verdict: Verdict
    kind: str
    channel: str
    reason: str
    observed_count: Count | None
    expected_count: Count | None
    before_reachable: bool
    effect_correct: bool
    effect_wrong_persisted: bool
    effect_absent: bool


class ModelCallPart(_Strict):
    """One call of a language model; 0 stands for unknown where ``env_fingerprint.usage_unknown`` names the field."""

    index: Count
    model: str
    input_tokens: Count
    output_tokens: Count
    cost_usd: Amount
    latency_s: Amount
    note: str


class Row(_Strict):
    """One scored trial.

    The parts are checked against each other: a label that does not follow from report, reading and availability is
    refused, and so is an id that does not name its arm, task and trial.
    """

    episode_id: str
    task_id: str
    arm: str
    trial: Count
    substrate: Substrate
    category: Category
    seed: int
    expected_effect_hash: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    correct_action_available: bool
    agent: AgentPart
    oracle: OraclePart
    outcome: Outcome
    swer_variant: SwerVariant
    reason: str
    model_calls: list[ModelCallPart]
    cost_usd: Amount
    latency_s: Amount
    env_fingerprint: dict[str, JsonValue]
    started_at: str
    finished_at: str

    @model_validator(mode="after")
    def _consistent(self) -> Row:
        problems = contradictions(self)
        if problems:
            raise ValueError("; ".join(problems))
        return self


def true_state(oracle: OraclePart) -> TrueState | None:
    """The state that the flags of a row name, or None where they do not name exactly one."""
    flags = (
        (oracle.effect_correct, TrueState.CORRECT),
        (oracle.effect_wrong_persisted, TrueState.WRONG_PERSISTED),
        (oracle.effect_absent, TrueState.ABSENT),
    )
    states = [state for flag, state in flags if flag]
    return states[0] if len(states) == 1 else None


def contradictions(row: Row) -> list[str]:
    """What in a row does not follow from the rest of it; empty for a sound row."""
    problems = []
    if row.episode_id != trial_key(row.arm, row.task_id, row.trial):
        problems.append(f"episode_id {row.episode_id!r} does not name arm, task and trial of the row")
    state = true_state(row.oracle)
    if state is None:
        return [*problems, "exactly one of effect_correct, effect_wrong_persisted and effect_absent must be true"]
    if row.oracle.verdict != _VERDICTS[state]:
        problems.append(f"oracle.verdict {row.oracle.verdict.value!r} does not go with the state {state.value!r}")
    label = classify(
        reported_success=row.agent.reported_success,
        state=state,
        correct_action_available=row.correct_action_available,
    )
    if label is not None and (row.outcome, row.swer_variant) != label:
        problems.append(
            f"outcome {row.outcome.value!r} with variant {row.swer_variant.value!r} does not follow from report, "
            f"reading and availability, which give {label.outcome.value!r} with {label.variant.value!r}"
        )
    return problems


class MalformedRow(ValueError):
    """Raised when a line is not a row; lists every problem at once."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


def parse_row(data: bytes | str) -> Row:
    """A row from its JSON text. Nothing is coerced.

    Raises:
        MalformedRow: with every problem found.
    """
    try:
        return Row.model_validate_json(data)
    except ValidationError as error:
        raise MalformedRow([_problem(entry) for entry in error.errors(include_url=False)]) from None


def _problem(entry: ErrorDetails) -> str:
    where = ".".join(str(part) for part in entry["loc"])
    return f"{where}: {entry['msg']}" if where else entry["msg"]


def row_schema() -> dict[str, Any]:
    """The JSON Schema of a row, as it is shipped."""
    schema = Row.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
