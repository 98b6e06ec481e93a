"""Where a record is served and how the oracle makes itself known there: what ``rest`` and ``fhir`` have in common.

Their ``where`` has, besides what is said in each::

    url           "https://record.example/api": the service, without a user, a query or a fragment
    token_env     or token_file: a token (``oracle.channels.credentials``)
    token_header  "Authorization": the header that carries the token
    token_scheme  what stands before the token; default "Bearer" in Authorization, nothing in another header
    user          for basic authentication, with password_env or password_file
    headers       further headers, name -> text; none that speak of credentials, caches or the connection
    timeout_s     30: seconds for one whole reading
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oracle.channels.credentials import credential
from oracle.channels.failing import NoReading
from spec.canonical import JsonObject

TIMEOUT_S: Final = 30.0
TIMEOUT_S_MAX: Final = 600.0

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_TEXT: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_RESERVED: Final = frozenset(
    {
        "accept", "accept-encoding", "authorization", "cache-control", "connection", "content-length", "cookie", "host",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "pragma",
        "proxy-authorization", "range", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=8000)]


class HttpWhere(BaseModel):
    """The common part of a ``where``; strict, so that a misspelt key is no reading of something else."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    url: Text
    token_env: Name | None = None
    token_file: Text | None = None
    token_header: Name = "Authorization"  # noqa: S105 - the name of a header
    token_scheme: Annotated[str, Field(max_length=100)] | None = None
    user: Name | None = None
    password_env: Name | None = None
    password_file: Text | None = None
    headers: Annotated[dict[str, Text], Field(max_length=50)] = {}
    timeout_s: Annotated[float, Field(gt=0, le=TIMEOUT_S_MAX)] = TIMEOUT_S


class Address(NamedTuple):
    """A service, ready to be asked.

    Attributes:
        base: its URL, without a slash at the end.
        headers: what every request carries besides what the client sends of itself.
        secrets: values that no reason may show.
        timeout_s: seconds for one whole reading.
    """

    base: str
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    timeout_s: float


W = TypeVar("W", bound=BaseModel)


def parse_where(model: type[W], where: JsonObject) -> W:
    """A read path's ``where`` as its channel understands it.

    Raises:
        NoReading: a key is unknown, missing or of another type.
    """
    try:
        return model.model_validate(dict(where))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise NoReading(f"the read path: {place or 'where'}: {first['msg']}") from None


def address_of(where: HttpWhere, credentials: Mapping[str, str]) -> Address:
    """Build the address of a service, with its credentials.

    Raises:
        NoReading: the URL is none, a header is not allowed, or a credential is missing or cannot be sent.
    """
    headers = {}
    for name, text in where.headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _RESERVED:
            raise NoReading(f"the header {name[:80]!r} cannot be set by a read path")
        if not _TEXT.fullmatch(text):
            raise NoReading(f"the value of the header {name!r} is no line of ASCII text")
        headers[name] = text
    names = where.model_dump(include={"token_env", "token_file", "password_env", "password_file"})
    token = credential(names, "token", credentials)
    password = credential(names, "password", credentials)
    if token is not None and where.user is not None:
        raise NoReading("the read path names both a token and a user")
    secrets: tuple[str, ...] = ()
    if token is not None:
        headers[_token_header(where)] = _with_scheme(where, token)
        secrets = (token,)
    elif where.user is not None:
        encoded = _basic(where.user, password)
        headers["Authorization"] = f"Basic {encoded}"
        secrets = (password or "", encoded)
    elif password is not None:
        raise NoReading("the read path names a password and no user")
    return Address(_base(where.url), headers, secrets, where.timeout_s)


def _token_header(where: HttpWhere) -> str:
    name = where.token_header
    if not _NAME.fullmatch(name) or name.lower() in _RESERVED - {"authorization", "proxy-authorization"}:
        raise NoReading(f"the header {name[:80]!r} cannot carry a token")
    return name


def _with_scheme(where: HttpWhere, token: str) -> str:
    if not _TEXT.fullmatch(token):
        raise NoReading("the token is no line of ASCII text")
    scheme = where.token_scheme
    if scheme is None:
        scheme = "Bearer" if where.token_header.lower() == "authorization" else ""
    if scheme and not _TEXT.fullmatch(scheme):
        raise NoReading("token_scheme is no line of ASCII text")
    return f"{scheme} {token}" if scheme else token


def _basic(user: str, password: str | None) -> str:
    if password is None:
        raise NoReading("the read path names a user, but neither password_env nor password_file")
    if ":" in user:
        raise NoReading("a user of basic authentication has no colon")
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def _base(text: str) -> str:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        raise NoReading("the read path's url is none") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise NoReading("the read path's url does not begin with http:// or https:// and a host")
    if url.userinfo or url.query or url.fragment or "?" in text or "#" in text:
        raise NoReading("the read path's url has a user, a query or a fragment; credentials go into token_env or user")
    return text.rstrip("/")
