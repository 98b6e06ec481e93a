"""Passwords of a server's roles: drawn for it, kept in files of mode 0600, told to the server only as verifiers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

RANDOM_BYTES: Final = 32
_SALT_BYTES: Final = 16
_ROUNDS: Final = 1
"""Rounds make guessing slow. 256 random bits cannot be guessed, and every connection would pay for the rounds."""


def draw_password(random_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """A password of 256 random bits, in letters that need no escape in a URL."""
    return base64.urlsafe_b64encode(random_bytes(RANDOM_BYTES)).decode().rstrip("=")


def scram_verifier(password: str, random_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """What PostgreSQL stores in place of a password (RFC 5803): nobody can log in with it.

    Args:
        password: ASCII, so that SASLprep leaves it as it is.
        random_bytes: where the salt comes from.
    """
    salt = random_bytes(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, _ROUNDS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${_ROUNDS}:{_text(salt)}${_text(stored)}:{_text(server)}"


def write_secret(file: Path, secret: str) -> None:
    """Write a new file that only this user can read, whatever the umask is."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(secret)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
