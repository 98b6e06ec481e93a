"""What stands beside a contract's records, and what a new one beside them may be called."""

from __future__ import annotations

from orchestrator.audit.effects import bystander, decoy_fields, new_record
from orchestrator.audit.scene import Scene
from spec.canonical import JsonObject
from spec.contract import Effect, EffectKind
from spec.reading import RecordSchema

FILE: JsonObject = {"path": "2025/a.txt", "type": "file", "text": "old", "mode": "0600"}
FOLDER: JsonObject = {"path": "2025", "type": "directory", "text": None, "mode": "0700"}


def scene(key: str) -> Scene:
    contract = (Effect(EffectKind.RECORD_WRITTEN, {"path": "2026/b.txt"}, also={"text": "new"}),)
    schema = RecordSchema("files", keys={"files": (key,)})
    standing = {"files": [FOLDER, FILE]}
    return Scene(contract, contract, schema, standing, {"files": FILE}, ("files",), final=True, settle_s=0.0)


def test_the_bystander_is_the_record_that_says_most() -> None:
    """Of the records that stand there a file is taken, which has content to lose, and not the directory before it."""
    assert bystander("files", scene("path")) == ([], FILE)


def test_a_new_record_takes_no_name_that_another_has() -> None:
    """Where a selecting field alone names a row, a decoy gets a new name; elsewhere it takes a value that stands."""
    assert decoy_fields("files", scene("path"))["path"] not in {"2025", "2025/a.txt", "2026/b.txt"}
    assert decoy_fields("files", scene("id"))["path"] == "2025"


def test_a_new_record_takes_no_idempotency_key_that_another_has() -> None:
    """Whatever else is as in the record that says most, its key is not: the record system may refuse it."""
    keyed: JsonObject = {"id": 1, "note": "old", "ward": "3", "key": "form-7"}
    contract = (Effect(EffectKind.RECORD_WRITTEN, {"note": "new"}),)
    schema = RecordSchema("notes", id_field="id")
    seen = Scene(contract, contract, schema, {"notes": [keyed]}, {"notes": keyed}, ("notes",), final=True, settle_s=0.0)
    assert new_record("notes", {"note": "new"}, seen) == {"note": "new", "ward": "3"}
    assert new_record("notes", {"note": "new", "key": "mine"}, seen)["key"] == "mine"
