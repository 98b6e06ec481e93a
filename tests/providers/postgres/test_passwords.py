from __future__ import annotations

import os
from pathlib import Path

import pytest

from providers.postgres.passwords import draw_password, scram_verifier, write_secret


def test_a_password_comes_from_the_given_randomness() -> None:
    """A password is 256 bits of the randomness that is given, in letters that need no escape."""
    assert draw_password(bytes) == "A" * 43
    assert draw_password() != draw_password()


def test_a_verifier_is_the_one_of_the_standard() -> None:
    """The verifier has PostgreSQL's form and does not contain the password."""
    kind, rounds, keys = scram_verifier("pencil", bytes).split("$")
    assert (kind, rounds) == ("SCRAM-SHA-256", "1:AAAAAAAAAAAAAAAAAAAAAA==")
    assert [len(key) for key in keys.split(":")] == [44, 44]
    assert "pencil" not in scram_verifier("pencil")


def test_a_secret_is_readable_by_us_alone(tmp_path: Path) -> None:
    """A secret's file has mode 0600 under any umask, and a file that is there already is not taken over."""
    before = os.umask(0)
    try:
        write_secret(tmp_path / "word", "secret")
    finally:
        os.umask(before)
    assert (tmp_path / "word").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "word").read_text() == "secret"
    with pytest.raises(FileExistsError):
        write_secret(tmp_path / "word", "other")
