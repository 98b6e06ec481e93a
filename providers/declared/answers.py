"""What a tool, a request or a program answers, in one form: a status and a body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from providers.declared.model import Banner
from spec.canonical import Json, JsonObject
from spec.environment import Screen
from spec.errors import ProviderFault

BANNER_CHARS_MAX = 2_000


class Answer(NamedTuple):
    """One answer.

    Attributes:
        status: HTTP's status, a program's exit code, 0 or 1 of MCP; 0 with ``ok`` false where none came in time.
        body: JSON, or text that is none.
        ok: it says of itself that it went well.
    """

    status: int
    body: Json
    ok: bool

    def as_json(self) -> JsonObject:
        """What an agent sees."""
        return {"status": self.status, "body": self.body}


def late(deadline_s: float) -> Answer:
    """The answer that stands for one that did not come."""
    return Answer(0, f"no answer within {deadline_s:g} s", ok=False)


def parse_body(data: bytes) -> Json:
    """Bytes as JSON where they are JSON, else as text."""
    try:
        found: Json = orjson.loads(data)
    except orjson.JSONDecodeError:
        return data.decode(errors="replace")
    return found


def at_pointer(document: Json, pointer: str) -> Json:
    """The value that a JSON pointer (RFC 6901) names.

    Raises:
        LookupError: there is none.
    """
    found = document
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and re.fullmatch(r"0|[1-9][0-9]{0,9}", name) and int(name) < len(found):
            found = found[int(name)]
        else:
            raise LookupError(f"there is nothing at {pointer!r}")
    return found


def kept(body: Json, pointers: Mapping[str, str], what: str) -> dict[str, Json]:
    """What a reset keeps of an answer, by name.

    Raises:
        ProviderFault: something is not there.
    """
    found: dict[str, Json] = {}
    for name, pointer in pointers.items():
        try:
            found[name] = at_pointer(body, pointer)
        except LookupError as error:
            raise ProviderFault(f"{what}: {{{name}}} cannot be kept: {error}") from None
    return found


def read_banner(answer: Answer, banner: Banner) -> Screen:
    """What a screen would say of an answer."""
    try:
        found = at_pointer(answer.body, banner.pointer)
    except LookupError:
        found = None
    text = "" if found is None else found if isinstance(found, str) else orjson.dumps(found).decode()
    saved = answer.ok if banner.status is None else answer.status in banner.status
    if banner.saved is not None:
        saved = saved and re.search(banner.saved, text) is not None
    return Screen(saved, text[:BANNER_CHARS_MAX])
