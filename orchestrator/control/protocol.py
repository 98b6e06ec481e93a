"""What a terminal and a run say to each other: one request, one answer, each a line of JSON, over one connection.

Both ends check what they hear, strictly: whoever can write to the socket's directory is nobody's friend for that alone.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orchestrator.engine.view import RunView, TrialView

PROTOCOL_FORMAT: Final = 1
REQUEST_BYTES_MAX: Final = 16 * 1024
ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
TRIALS_BYTES_MAX: Final = 6 * 1024 * 1024
"""How much of an answer trials may take; the rest is counted and left off."""

TEXT_CHARS_MAX: Final = 2000

Text = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]
Seconds = Annotated[float, Field(allow_inf_nan=False)]


class Message(BaseModel):
    """Common to everything that is said: nothing unknown, nothing converted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Asked(Message):
    """Common to every request.

    Attributes:
        run: which directory is meant, see ``identity``; a copied directory has the link of the other one.
    """

    format: Literal[1] = 1
    run: Annotated[str, Field(max_length=64)]


class Command(Asked):
    """Something that needs no more words."""

    do: Literal["pause", "unpause", "drain", "cancel"]


class Set(Asked):
    """A new value of a live key.

    Attributes:
        text: ``key=value``, as for ``--set``.
    """

    do: Literal["set"] = "set"
    text: Annotated[str, Field(max_length=4096)]


class Look(Asked):
    """What is on its way.

    Attributes:
        key: only this trial; None: all.
    """

    do: Literal["look"] = "look"
    key: Text | None = None


Request = Command | Set | Look
_REQUESTS: Final[TypeAdapter[Request]] = TypeAdapter(Annotated[Request, Field(discriminator="do")])


class TrialTold(Message):
    """A ``TrialView`` on the wire."""

    key: Text
    attempt: int
    phase: Text
    worker: Text
    oracle: Text
    age_s: Seconds
    phase_age_s: Seconds
    last_event: Text
    waits_for: Text


class ViewTold(Message):
    """A ``RunView`` on the wire.

    Attributes:
        left_off: how many trials more there are.
    """

    paused: bool
    draining: bool
    silent_s: Seconds
    in_flight_max: int
    trials: tuple[TrialTold, ...]
    left_off: int = 0

    @classmethod
    def of(cls, view: RunView, *, key: str | None = None, trials_bytes_max: int = TRIALS_BYTES_MAX) -> Self:
        """What is told of a run.

        Args:
            view: the run.
            key: only this trial; None: all.
            trials_bytes_max: how much the trials may take, in bytes.
        """
        wanted = [trial for trial in view.trials if key is None or trial.key == key]
        told: list[bytes] = []
        for trial in wanted:
            line = _trial_json(trial)
            trials_bytes_max -= len(line) + 1
            if trials_bytes_max < 0:
                break
            told.append(line)
        body = view._asdict() | {"trials": [], "left_off": len(wanted) - len(told)}
        empty = orjson.dumps(body)
        return cls.model_validate_json(empty.replace(b"[]", b"[%b]" % b",".join(told)), strict=True)


def _trial_json(trial: TrialView) -> bytes:
    """A trial as it is told, long texts cut. Written and read by compiled code, it costs little."""
    return orjson.dumps(
        {name: value[:TEXT_CHARS_MAX] if isinstance(value, str) else value for name, value in trial._asdict().items()}
    )


class Answer(Message):
    """What came of a request.

    Attributes:
        done: whether it was accepted.
        text: what happened, or why not.
        hint, key: where it was refused: what to do instead, and the dotted key; "" where there is none.
        view: the answer to ``Look``.
    """

    format: Literal[1] = 1
    done: bool
    text: Text = ""
    hint: Text = ""
    key: Text = ""
    view: ViewTold | None = None


def refusal(text: str, *, hint: str = "", key: str = "") -> Answer:
    """An answer that says no."""
    return Answer(done=False, text=text[:TEXT_CHARS_MAX], hint=hint[:TEXT_CHARS_MAX], key=key[:TEXT_CHARS_MAX])


def read_request(line: bytes) -> Request | None:
    """A request, or None where it is none that this version understands."""
    try:
        return _REQUESTS.validate_json(line, strict=True)
    except ValidationError:
        return None


def read_answer(line: bytes) -> Answer | None:
    """An answer, or None where it is none that this version understands."""
    try:
        return Answer.model_validate_json(line, strict=True)
    except ValidationError:
        return None


def to_line(message: Message) -> bytes:
    """A message with its line break."""
    return message.model_dump_json().encode() + b"\n"
