"""An address is built from a strict ``where``, and its credentials show nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle.channels.failing import NoReading
from oracle.channels.http_address import Address, HttpWhere, address_of, parse_where
from spec.canonical import Json

URL = "http://record.example:8080/api/"
CREDENTIALS = {"TOKEN": "t0p-secret", "PASSWORD": "pass:word", "LINES": "a\nb"}


def build(**where: Json) -> Address:
    return address_of(parse_where(HttpWhere, {"url": URL, **where}), CREDENTIALS)


def test_a_token_is_a_bearer_by_default() -> None:
    """Without more, a token is sent as the standard says, and is among the secrets."""
    address = build(token_env="TOKEN")
    assert address.headers == {"Authorization": "Bearer t0p-secret"}
    assert address.secrets == ("t0p-secret",)
    assert address.base == "http://record.example:8080/api"


def test_a_token_goes_into_the_header_that_is_named() -> None:
    """Another header carries the token alone, unless a scheme is named."""
    assert build(token_env="TOKEN", token_header="X-Api-Key").headers == {"X-Api-Key": "t0p-secret"}
    named = build(token_env="TOKEN", token_header="X-Api-Key", token_scheme="Token")
    assert named.headers == {"X-Api-Key": "Token t0p-secret"}
    assert build(token_env="TOKEN", token_scheme="token").headers == {"Authorization": "token t0p-secret"}


def test_a_token_can_stand_in_a_private_file(tmp_path: Path) -> None:
    """The file's last line end is not part of it, and a file that others can read is refused."""
    file = tmp_path / "token"
    file.write_text("from-file\n")
    file.chmod(0o600)
    assert build(token_file=str(file)).headers == {"Authorization": "Bearer from-file"}
    file.chmod(0o644)
    with pytest.raises(NoReading, match="0600"):
        build(token_file=str(file))


def test_a_user_has_a_password() -> None:
    """Basic authentication; the password and its encoded form are both secrets."""
    address = build(user="reader", password_env="PASSWORD")
    assert address.headers == {"Authorization": "Basic cmVhZGVyOnBhc3M6d29yZA=="}
    assert address.secrets == ("pass:word", "cmVhZGVyOnBhc3M6d29yZA==")


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({"url": "record.example"}, "does not begin with http"),
        ({"url": "ftp://record.example"}, "does not begin with http"),
        ({"url": "http://"}, "does not begin with http"),
        ({"url": "http://[::1"}, "url is none"),
        ({"url": "http://user:t0p-secret@record.example"}, "has a user"),
        ({"url": "http://record.example?key=t0p-secret"}, "has a user, a query"),
        ({"url": "http://record.example/#x"}, "a fragment"),
        ({"url": 5}, "url: Input should be a valid string"),
        ({"tokenenv": "TOKEN"}, "tokenenv: Extra inputs are not permitted"),
        ({"timeout_s": 0}, "timeout_s: Input should be greater than 0"),
        ({"timeout_s": 601}, "timeout_s: Input should be less than"),
        ({"headers": {"Authorization": "x"}}, "cannot be set"),
        ({"headers": {"if-none-match": "x"}}, "cannot be set"),
        ({"headers": {"Cookie": "x"}}, "cannot be set"),
        ({"headers": {"X-A": "x\r\nCookie: y"}}, "no line of ASCII text"),
        ({"headers": {"X A": "x"}}, "cannot be set"),
        ({"token_env": "TOKEN", "token_header": "Host"}, "cannot carry a token"),
        ({"token_env": "TOKEN", "token_scheme": "x\n"}, "token_scheme is no line"),
        ({"token_env": "LINES"}, "the token is no line of ASCII text"),
        ({"token_env": "ABSENT"}, "no credential 'ABSENT'"),
        ({"token_env": "TOKEN", "token_file": "x"}, "both token_env and token_file"),
        ({"token_env": "TOKEN", "user": "reader", "password_env": "PASSWORD"}, "both a token and a user"),
        ({"user": "reader"}, "neither password_env nor password_file"),
        ({"user": "a:b", "password_env": "PASSWORD"}, "no colon"),
        ({"password_env": "PASSWORD"}, "a password and no user"),
    ],
)
def test_a_wrong_where_is_no_reading(where: dict[str, Json], reason: str) -> None:
    """Each mistake has its reason, and none of them shows a credential."""
    with pytest.raises(NoReading) as raised:
        build(**where)
    assert reason in str(raised.value)
    assert not any(secret in str(raised.value) for secret in CREDENTIALS.values())
