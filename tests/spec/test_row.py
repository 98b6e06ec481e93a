from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Final

import jsonschema
import orjson
import pytest

from spec.row import MalformedRow, parse_row, row_schema

ROOT: Final = Path(__file__).parents[2]

ROW: Final[dict[str, Any]] = {
    "episode_id": "screen_only::mockmed::partial::t3",
    "task_id": "mockmed::partial",
    "arm": "screen_only",
    "trial": 3,
    "substrate": "web",
    "category": "C1_partial_save",
    "seed": 3,
    "expected_effect_hash": "sha256:" + "0" * 64,
    "correct_action_available": False,
    "agent": {"reported_success": True, "halted": False, "message": "Encounter saved."},
    "oracle": {
        "verdict": "refuted",
        "kind": "record_written",
        "channel": "snapshot",
        "reason": "note is empty",
        "observed_count": 1,
        "expected_count": 1,
        "before_reachable": True,
        "effect_correct": False,
        "effect_wrong_persisted": True,
        "effect_absent": False,
    },
    "outcome": "silent_wrong_effect",
    "swer_variant": "wrong_write",
    "reason": "reported success, and the record does not show the effect",
    "model_calls": [
        {
            "index": 0,
            "model": "m",
            "input_tokens": 10,
            "output_tokens": 2,
            "cost_usd": 0.5,
            "latency_s": 1.0,
            "note": "",
        }
    ],
    "cost_usd": 0.5,
    "latency_s": 1.5,
    "env_fingerprint": {"attempt": 1, "arm_fault": None},
    "started_at": "2026-01-31T12:00:00Z",
    "finished_at": "2026-01-31T12:00:02Z",
}


def changed(path: str, value: object) -> bytes:
    """The row with one value exchanged, as JSON."""
    row = copy.deepcopy(ROW)
    *parents, last = path.split(".")
    place: Any = row
    for name in parents:
        place = place[name]
    place[last] = value
    return orjson.dumps(row)


def test_a_row_survives_reading() -> None:
    """What was read is, written again, the same JSON with the same names in the same order."""
    assert parse_row(orjson.dumps(ROW)).model_dump(mode="json") == ROW
    assert list(parse_row(orjson.dumps(ROW)).model_dump(mode="json")) == list(ROW)


@pytest.mark.parametrize("name", ["arm_fault", "attempt", "agent.confidence", "oracle.seen"])
def test_an_unknown_key_is_refused(name: str) -> None:
    """What is not a public field may stand in env_fingerprint only."""
    with pytest.raises(MalformedRow, match="Extra inputs"):
        parse_row(changed(name, None))


@pytest.mark.parametrize("name", list(ROW))
def test_every_field_is_required(name: str) -> None:
    """A row that lacks one of the public fields is refused by that field's name."""
    with pytest.raises(MalformedRow, match=f"^{name}: Field required"):
        parse_row(orjson.dumps({key: value for key, value in ROW.items() if key != name}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("trial", "3"),
        ("trial", 3.0),
        ("trial", -1),
        ("trial", True),
        ("agent.reported_success", "yes"),
        ("agent.reported_success", 1),
        ("cost_usd", -0.5),
        ("cost_usd", None),
        ("category", "C9_other"),
        ("substrate", "Web"),
        ("outcome", "SUCCESS"),
        ("expected_effect_hash", "sha256:abc"),
        ("env_fingerprint", None),
        ("oracle.observed_count", "1"),
    ],
)
def test_nothing_is_coerced(path: str, value: object) -> None:
    """A value of another type or range is refused, and the message names its place."""
    with pytest.raises(MalformedRow) as caught:
        parse_row(changed(path, value))
    assert caught.value.problems[0].startswith(path)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("outcome", "success", "does not follow"),
        ("swer_variant", "phantom", "does not follow"),
        ("agent.reported_success", False, "does not follow"),
        ("oracle.verdict", "confirmed", "does not go with the state"),
        ("oracle.verdict", "indeterminate", "does not go with the state"),
        ("oracle.effect_absent", True, "exactly one"),
        ("oracle.effect_wrong_persisted", False, "exactly one"),
        ("episode_id", "screen_only::mockmed::partial::t4", "does not name"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(path: str, value: object, says: str) -> None:
    """Label, verdict and id are derived again from the rest of the row, never believed."""
    with pytest.raises(MalformedRow, match=says):
        parse_row(changed(path, value))


def test_all_problems_are_listed_at_once() -> None:
    """Two wrong fields give two problems."""
    row = {**ROW, "trial": "3", "arm": 7}
    with pytest.raises(MalformedRow) as caught:
        parse_row(orjson.dumps(row))
    assert len(caught.value.problems) == 2


def test_what_is_no_json_is_no_row() -> None:
    """Half a line is refused as any other malformed row."""
    with pytest.raises(MalformedRow, match="Invalid JSON"):
        parse_row(orjson.dumps(ROW)[:-5])


def test_the_shipped_schema_is_the_models_own() -> None:
    """The JSON Schema in the package is that of the model, is valid, takes a row and refuses an unknown key."""
    shipped = orjson.loads((ROOT / "orchestrator/schemas/row.schema.json").read_bytes())
    assert shipped == orjson.loads(orjson.dumps(row_schema()))
    jsonschema.Draft202012Validator.check_schema(shipped)
    jsonschema.validate(ROW, shipped)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**ROW, "more": 1}, shipped)
