"""Read credentials: found by name, never taken from a file that others can read, never shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oracle.channels.credentials import FILE_BYTES_MAX, credential
from oracle.channels.failing import NoReading
from spec.canonical import JsonObject

SECRET = "s3cr3t-value"


def private(path: Path, text: str = SECRET, mode: int = 0o600) -> JsonObject:
    """A file with the credential, as a read path names it."""
    path.write_text(text)
    path.chmod(mode)
    return {"password_file": str(path)}


def test_a_credential_is_found_by_its_name() -> None:
    """The name in the read path leads to the value that the oracle was given."""
    assert credential({"password_env": "DESK_PW"}, "password", {"DESK_PW": SECRET}) == SECRET


def test_what_is_not_named_is_none() -> None:
    """A read path without credentials, such as that of a file, asks for none."""
    assert credential({"url": "x"}, "password", {"DESK_PW": SECRET}) is None


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_private_file_holds_a_credential(tmp_path: Path, end: str) -> None:
    """The file's text counts without the end of its line."""
    assert credential(private(tmp_path / "pw", SECRET + end), "password", {}) == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """Its mode is named, its text is not."""
    with pytest.raises(NoReading, match=f"has mode {mode:04o}, but must have 0600") as caught:
        credential(private(tmp_path / "pw", mode=mode), "password", {})
    assert SECRET not in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    """Whoever owns the file can change what the oracle logs in with."""
    where = private(tmp_path / "pw")
    os.chown(tmp_path / "pw", 12345, 12345)
    with pytest.raises(NoReading, match="belongs to another user"):
        credential(where, "password", {})


def test_a_pipe_does_not_hold_up_the_oracle(tmp_path: Path) -> None:
    """What is no file is refused at once, instead of being waited for."""
    os.mkfifo(tmp_path / "pw", 0o600)
    with pytest.raises(NoReading, match="is no file"):
        credential({"password_file": str(tmp_path / "pw")}, "password", {})


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({"password_env": "OTHER"}, "has no credential 'OTHER'"),
        ({"password_env": 5}, "is no name"),
        ({"password_file": ""}, "is no path"),
        ({"password_env": "A", "password_file": "b"}, "names both"),
        ({"password_file": "/nowhere/pw"}, "No such file"),
    ],
)
def test_a_wrong_name_is_a_reason(where: JsonObject, reason: str) -> None:
    """Every way of naming a credential that is not there is told as what it is."""
    with pytest.raises(NoReading, match=reason):
        credential(where, "password", {"A": SECRET})


@pytest.mark.parametrize(
    ("data", "reason"), [(b"\xff\xfe", "is no text in UTF-8"), (b"x" * (FILE_BYTES_MAX + 1), "is larger than")]
)
def test_a_file_that_is_no_credential_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    """Bytes that are no text and files without end are no password."""
    where = private(tmp_path / "pw")
    (tmp_path / "pw").write_bytes(data)
    with pytest.raises(NoReading, match=reason):
        credential(where, "password", {})
