"""One list that comes in pages: how the next page is found, and when the list is known to be whole.

A page that is short proves nothing, since a service may cap the size that was asked for: pages that are counted end
with the declared total or, where none is declared, with an empty page. No page is read twice, and none may bring the
rows of another one again (a service that does not know the parameter sends its first page for ever).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Protocol

import httpx
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from oracle.channels.failing import NoReading
from oracle.channels.gathering import GatheredRows
from oracle.channels.http import Answer, HttpReading
from oracle.channels.json_paths import Path, WrongPath, find, parse_path
from spec.canonical import Json, content_digest
from spec.reading import Record

_INT_DIGITS_MAX: Final = 18


def _path(text: object) -> object:
    return parse_path(text) if isinstance(text, str) else text


JsonPath = Annotated[Path, BeforeValidator(_path)]
Parameter = Annotated[str, Field(min_length=1, max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Progress:
    """What was read of a list so far.

    Attributes:
        rows: the rows, in the order of the pages.
        pages: how many pages there were.
        last_rows: the rows of the newest page.
        total: how many rows the service says there are; None where it does not.
    """

    def __init__(self) -> None:
        self.rows = GatheredRows()
        self.pages = self.last_rows = 0
        self.total: int | None = None


class Paging(Protocol):
    """How the pages of a list are found."""

    def first(self, url: httpx.URL) -> httpx.URL:
        """The first page of the list at a URL."""

    def following(self, first: httpx.URL, answer: Answer, reading: HttpReading, seen: Progress) -> httpx.URL | None:
        """The page after an answer; None where that was the last one.

        Raises:
            NoReading: the answer does not say it as declared.
        """


class OnePage(_Strict):
    """The list has one page; an answer that names a next one is not whole."""

    style: Literal["none"] = "none"

    def first(self, url: httpx.URL) -> httpx.URL:
        """The list itself."""
        return url

    def following(self, first: httpx.URL, answer: Answer, reading: HttpReading, seen: Progress) -> httpx.URL | None:
        """Never another one."""
        if answer.next_link is not None:
            raise NoReading('the answer names a next page, but the read path has no "next"')
        return None


class LinkPaging(_Strict):
    """A ``Link`` header with ``rel="next"``."""

    style: Literal["link"]

    def first(self, url: httpx.URL) -> httpx.URL:
        """The list itself."""
        return url

    def following(self, first: httpx.URL, answer: Answer, reading: HttpReading, seen: Progress) -> httpx.URL | None:
        """Where the header leads."""
        return None if answer.next_link is None else reading.follow(answer, answer.next_link)


class UrlPaging(_Strict):
    """A URL in the answer, at ``path``; absent, null or empty on the last page."""

    style: Literal["url"]
    path: JsonPath

    def first(self, url: httpx.URL) -> httpx.URL:
        """The list itself."""
        return url

    def following(self, first: httpx.URL, answer: Answer, reading: HttpReading, seen: Progress) -> httpx.URL | None:
        """Where the URL leads."""
        link = at(answer.body, self.path)
        if link is None or link == "":
            return None
        if type(link) is not str:
            raise NoReading(f"the next page is a {type(link).__name__}, not a URL")
        return reading.follow(answer, link)


class CursorPaging(_Strict):
    """A cursor in the answer, at ``path``, that is sent back as ``param``; absent, null or empty on the last page."""

    style: Literal["cursor"]
    path: JsonPath
    param: Parameter

    def first(self, url: httpx.URL) -> httpx.URL:
        """The list itself."""
        return url

    def following(self, first: httpx.URL, answer: Answer, reading: HttpReading, seen: Progress) -> httpx.URL | None:
        """The list from the cursor on."""
        cursor = at(answer.body, self.path)
        if cursor is None or cursor == "":
            return None
        if type(cursor) is not str and type(cursor) is not int:
            raise NoReading(f"the cursor is a {type(cursor).__name__}, neither a text nor a whole number")
        return first.copy_set_param(self.param, str(cursor))


class _Counted(_Strict):
    """Pages that are asked for by a number."""

    param: Parameter
    size_param: Parameter | None = None
    size: Annotated[int, Field(ge=1, le=100_000)] | None = None

    @model_validator(mode="after")
    def _size_has_both(self) -> _Counted:
        if (self.size is None) is not (self.size_param is None):
            raise ValueError("size and size_param go together")
        return self

    def _sized(self, url: httpx.URL, number: int) -> httpx.URL:
        if self.size_param is not None:
            url = url.copy_set_param(self.size_param, str(self.size))
        return url.copy_set_param(self.param, str(number))

    @staticmethod
    def _is_last(seen: Progress) -> bool:
        return seen.last_rows == 0 or (seen.total is not None and len(seen.rows) >= seen.total)


class NumberPaging(_Counted):
    """Pages by number: ``param`` counts them from ``start`` on; ``size_param`` and ``size`` say how large they are."""

    style: Literal["page"]
    start: Annotated[int, Field(ge=0, le=1)] = 1

    def first(self, url: httpx.URL) -> httpx.URL:
        """Page ``start``."""
        return self._sized(url, self.start)

    def following(self, first: httpx.URL, answer: Answer, reading: HttpReading, seen: Progress) -> httpx.URL | None:
        """The page with the next number."""
        return None if self._is_last(seen) else self._sized(first, self.start + seen.pages)


class OffsetPaging(_Counted):
    """Pages by offset: ``param`` says how many rows are left out; ``size_param`` and ``size`` how many follow."""

    style: Literal["offset"]

    def first(self, url: httpx.URL) -> httpx.URL:
        """From the first row on."""
        return self._sized(url, 0)

    def following(self, first: httpx.URL, answer: Answer, reading: HttpReading, seen: Progress) -> httpx.URL | None:
        """From the first row on that was not read yet, whatever the size of the pages."""
        return None if self._is_last(seen) else self._sized(first, len(seen.rows))


AnyPaging = Annotated[
    OnePage | LinkPaging | UrlPaging | CursorPaging | NumberPaging | OffsetPaging, Field(discriminator="style")
]


class ListPlan(_Strict):
    """Where a list stands in its answers, and what proves that it is whole.

    Attributes:
        rows: where the list is in an answer.
        next: how the next page is found.
        total: where an answer says how many rows the whole list has.
        total_header: the header that says it.
        etag: every page has an ETag, which stands for the whole list.
    """

    rows: JsonPath = ()
    next: AnyPaging = OnePage()
    total: JsonPath | None = None
    total_header: Parameter | None = None
    etag: bool = False


async def read_list(reading: HttpReading, url: httpx.URL, plan: ListPlan) -> Sequence[Record]:
    """Read a list, all pages of it.

    Raises:
        NoReading: it cannot be known to be whole.
    """
    paging: Paging = plan.next
    seen = Progress()
    asked: set[httpx.URL] = set()
    digests: set[str] = set()
    etag: str | None = None
    first = paging.first(url)
    page: httpx.URL | None = first
    try:
        while page is not None:
            if page in asked:
                raise NoReading("its next page is one that was read already")
            asked.add(page)
            answer = await reading.get(page)
            etag = _same_etag(etag, answer, plan)
            _take_rows(_rows(answer, plan), seen, digests)
            _take_total(answer, plan, seen)
            page = paging.following(first, answer, reading, seen)
    except NoReading as error:
        raise NoReading(f"page {max(1, len(asked))}: {error}") from None
    if seen.total is not None and len(seen.rows) != seen.total:
        raise NoReading(f"{len(seen.rows)} rows came, but the service says {seen.total}")
    return seen.rows.finish()


def at(body: Json, path: Path) -> Json:
    """What stands at a path of an answer.

    Raises:
        NoReading: the path does not fit the answer.
    """
    try:
        return find(body, path)
    except WrongPath as error:
        raise NoReading(str(error)) from None


def _rows(answer: Answer, plan: ListPlan) -> list[Record]:
    rows = at(answer.body, plan.rows)
    where = "/".join(("", *plan.rows)) if plan.rows else "the answer"
    if type(rows) is not list:
        raise NoReading(f"no list of rows at {where}, but {'nothing' if rows is None else f'a {type(rows).__name__}'}")
    for row in rows:
        if type(row) is not dict:
            raise NoReading(f"a row is a {type(row).__name__}, not an object")
    return rows


def _take_rows(rows: list[Record], seen: Progress, digests: set[str]) -> None:
    if rows:
        digest = content_digest(rows)
        if digest in digests:
            raise NoReading("the same rows as on an earlier page")
        digests.add(digest)
    seen.pages += 1
    seen.last_rows = len(rows)
    seen.rows.add(rows)


def _take_total(answer: Answer, plan: ListPlan, seen: Progress) -> None:
    """Every page has to say the same total."""
    if plan.total is None and plan.total_header is None:
        return
    said = answer.headers.get(plan.total_header) if plan.total_header else at(answer.body, plan.total or ())
    if isinstance(said, str) and said.isascii() and said.isdecimal() and len(said) <= _INT_DIGITS_MAX:
        said = int(said)
    if type(said) is not int:
        raise NoReading("the answer does not say how many rows there are")
    if seen.total is not None and said != seen.total:
        raise NoReading(f"the total changed from {seen.total} to {said} during the reading")
    seen.total = said


def _same_etag(etag: str | None, answer: Answer, plan: ListPlan) -> str | None:
    if not plan.etag:
        return None
    now: str | None = answer.headers.get("ETag")
    if now is None:
        raise NoReading("the page has no ETag")
    if etag is not None and now != etag:
        raise NoReading("the list's ETag changed during the reading")
    return now
