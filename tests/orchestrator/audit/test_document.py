"""An audit's file is a pure function of what was found, and only the file that was written is read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchestrator.audit import AuditDocument, TaskAudit, document_for, read_document, to_bytes, write_document
from orchestrator.audit.scene import AttackName
from orchestrator.audit.verdicts import Result, has_passed
from orchestrator.preparation import Prepared
from spec.canonical import content_digest
from spec.errors import InputError


@pytest.fixture(scope="session")
def document(clinic: Callable[..., Prepared], attack_clinic: Callable[[str], TaskAudit]) -> AuditDocument:
    """The file of the sound clinic's audit."""
    return document_for(clinic(), [attack_clinic("")])


def test_it_is_read_as_it_was_written(document: AuditDocument, tmp_path: Path) -> None:
    """A file that was written is read back whole, and written again it has the same bytes."""
    path = tmp_path / "clinic.audit.json"
    write_document(path, document)
    assert read_document(path) == document
    assert to_bytes(read_document(path)) == path.read_bytes() == to_bytes(document)


def test_it_holds_no_value_of_a_trial(
    clinic: Callable[..., Prepared], attack_clinic: Callable[[str], TaskAudit]
) -> None:
    """Payloads of a test split stay withheld: no reason of a judged attack stands in the file."""
    for leak in ("", "compares only counts", "refuses every write"):
        text = to_bytes(document_for(clinic(leak), [attack_clinic(leak)])).decode()
        assert "note 0000" not in text
        assert "clinic::save" in text


def edited(document: AuditDocument, path: Path, edit: Callable[[Any], None], *, sealed: bool) -> Path:
    body = orjson.loads(to_bytes(document))
    edit(body)
    if sealed:
        body["digest"] = content_digest({name: value for name, value in body.items() if name != "digest"})
    path.write_bytes(orjson.dumps(body))
    return path


def set_passed(body: Any) -> None:
    body["tasks"][0]["attacks"][0]["result"] = "not_confirmed"


EDITS: dict[str, tuple[Callable[[Any], None], bool, str]] = {
    "edited": (lambda body: body.update(pack="other"), False, "edited"),
    "passed": (set_passed, True, "does not follow"),
    "twice": (lambda body: body["tasks"].append(body["tasks"][0]), True, "twice"),
    "key": (lambda body: body.update(more=1), True, "more"),
    "type": (lambda body: body["tasks"][0].update(passed="yes indeed"), True, "passed"),
    "attack": (lambda body: body["tasks"][0]["attacks"][0].update(attack="kindness"), True, "attack"),
    "format": (lambda body: body.update(format=2), True, "format"),
}


@pytest.mark.parametrize("name", EDITS)
def test_no_other_file_is_an_audit(document: AuditDocument, tmp_path: Path, name: str) -> None:
    """A file that was edited, has another shape or contradicts itself is none, and it is said why."""
    edit, sealed, why = EDITS[name]
    with pytest.raises(InputError, match=why):
        read_document(edited(document, tmp_path / "edited.audit.json", edit, sealed=sealed))


def test_what_is_no_file_is_none(document: AuditDocument, tmp_path: Path) -> None:
    """A file that is not there, is no JSON, or is JSON of something else; and a folder that is not there."""
    for content in (b"", b"[1]", b"{}", b'"text"'):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(InputError):
            read_document(tmp_path / "other")
    with pytest.raises(InputError):
        read_document(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no such folder"):
        write_document(tmp_path / "nowhere" / "file", document)


def test_passing_takes_all_of_it() -> None:
    """The control has to be confirmed, each strategy looked at, one that writes caught, and none lost."""
    everything = [(name, Result.CAUGHT) for name in AttackName if name is not AttackName.POSITIVE_CONTROL]
    control = (AttackName.POSITIVE_CONTROL, Result.CONFIRMED)
    assert has_passed([control, *everything])
    assert not has_passed(everything)
    assert not has_passed([control, *everything[:-1]])
    assert not has_passed([control, *everything, (AttackName.DECOY, Result.GOT_THROUGH)])
    refused = [(name, Result.REFUSED) for name, _ in everything]
    assert not has_passed([control, *refused, (AttackName.PHANTOM, Result.CAUGHT)])
