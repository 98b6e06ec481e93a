"""The journal's shipped JSON Schema; those of the row and the summary are tested beside what writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import jsonschema
import orjson
import pytest

from orchestrator.journal import LineType
from orchestrator.journal.lines import FIRST_PREV, frame

ROOT: Final = Path(__file__).parents[2]
AT: Final = "2026-01-31T12:00:00.000000Z"
KEY: Final = "screen_only::mockmed::ok::t0"
DIGEST: Final = "sha256:" + "0" * 64
ENDED: Final[dict[str, Any]] = {"attempt": 3, "cause": "provider", "trial_digest": DIGEST}
BODIES: Final[dict[LineType, dict[str, Any]]] = {
    LineType.HEAD: {
        "run_id": "r",
        "format": 1,
        "plan_digest": DIGEST,
        "parts": {},
        "versions": {},
        "isolation": {},
    },
    LineType.RESUME: {
        "plan_digest": DIGEST,
        "parts": {},
        "trials": 3,
        "versions": {},
        "isolation": {},
        "changes": [],
    },
    LineType.REOPENED: {"attempt": 1, "why": "retry"},
    LineType.LEASE: {"lease": 0, "worker": "w0", "keys": [KEY], "attempt": 1},
    LineType.RESERVE: {"attempt": 1, "usd": 0.5, "tokens": 100},
    LineType.SPENT: {"attempt": 1, "usage": {}},
    LineType.REPORT: {"attempt": 1, "digest": DIGEST},
    LineType.SCORED: {"attempt": 1, "row": {}, "trial_digest": DIGEST},
    LineType.UNREADABLE: ENDED,
    LineType.INFRASTRUCTURE: ENDED,
    LineType.CANCELLED: ENDED,
    LineType.FAILED: {"attempt": 1, "cause": "unreadable"},
    LineType.REFUSED: {"attempt": 1, "why": "late"},
    LineType.NOTE: {"text": "hello"},
    LineType.COMMIT: {"offset": 100},
    LineType.END: {"exit": 0, "conservation": {}},
}
KEYLESS: Final = {
    LineType.HEAD,
    LineType.RESUME,
    LineType.LEASE,
    LineType.NOTE,
    LineType.COMMIT,
    LineType.END,
}


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    """The shipped schema, found valid."""
    schema = orjson.loads((ROOT / "orchestrator/schemas/journal_line.schema.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def line(line_type: LineType) -> Any:
    key = None if line_type in KEYLESS else KEY
    return orjson.loads(frame(0, FIRST_PREV, line_type, AT, key, BODIES[line_type]).data)


@pytest.mark.parametrize("line_type", list(LineType))
def test_every_type_of_line_fits(validator: jsonschema.Draft202012Validator, line_type: LineType) -> None:
    """A framed line of each type, with the fields that the type asks for, is valid."""
    assert [error.message for error in validator.iter_errors(line(line_type))] == []


@pytest.mark.parametrize("line_type", [one for one in LineType if one not in KEYLESS])
def test_a_line_about_a_trial_names_it(validator: jsonschema.Draft202012Validator, line_type: LineType) -> None:
    """Lines that speak of one trial are refused without its key."""
    keyless = {name: value for name, value in line(line_type).items() if name != "key"}
    assert not validator.is_valid(keyless)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "other"},
        {"prev": "0"},
        {"crc": "ABCDEF01"},
        {"at": "2026-01-31 12:00:00"},
        {"seq": -1},
        {"key": "screen_only::mockmed::ok::t01"},
        {"attempt": 0},
        {"trial_digest": None},
    ],
)
def test_a_false_line_is_refused(validator: jsonschema.Draft202012Validator, change: dict[str, Any]) -> None:
    """A frame or a field that is not as agreed is refused."""
    assert not validator.is_valid(line(LineType.SCORED) | change)
