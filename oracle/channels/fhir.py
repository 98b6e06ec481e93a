"""Channel ``fhir``: a record on a FHIR R4 server, read by search and by read.

``where``, besides what ``oracle.channels.http_address`` says of the server and of credentials::

    searches  table -> "Encounter?patient=p1", "Patient/p1/Encounter" or "Patient/p1" (a read)
    fields    table -> column -> path into the resource, such as "note[0].text"; see oracle.channels.fhir_rows
    included  resource types that searches may include; each has its table, empty where nothing came
    except    paths that are bookkeeping of the server besides meta.versionId and meta.lastUpdated: ["meta.source"]
    since     "2026-01-31T12:00:00Z": only what was changed from then on, by _lastUpdated; reads are not narrowed
    count     resources a page, by _count
    total     false: do not ask for _total=accurate, for a server that does not know it
    lenient   true: let the server ignore parameters that it does not know; else it is asked to refuse them
    check     "structure" (default): every resource has a type, an id and all its parts; "model": it fits FHIR R4 too

A search is whole when its Bundles, linked by ``next``, bring no resource twice and as many matches as the server says
there are. Included resources go to the table named as their type; one that comes from several searches has to be the
same in all of them. Warnings of the server among the entries are not part of the record; an error is no reading.
The default ``check`` does not refuse a resource that breaks the standard: what an application stored wrongly is an
effect to be judged, not a record that is unknown. A resource that may be gone belongs into a search
(``Patient?_id=p1``): a read of one that is not there is no reading, since a wrong address looks the same. With
``since``, records that vanish are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated, Final, Literal

import httpx
from anyio.lowlevel import checkpoint
from pydantic import Field, model_validator

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.failing import NoReading, failed
from oracle.channels.fhir_rows import COLUMNS, ModelCheck, RowMaker, name_of, resource_of
from oracle.channels.gathering import GatheredRows
from oracle.channels.http import BOUNDS, Answer, Bounds, HttpClient, HttpReading, read_in_time
from oracle.channels.http_address import HttpWhere, address_of, parse_where
from oracle.channels.paging import JsonPath
from oracle.rows import DIGEST_BYTES
from spec.canonical import Json, JsonObject, canonical_json
from spec.reading import ChannelName, ReadPath, Record, Tables

_ACCEPT: Final = "application/fhir+json"
_TYPE: Final = r"[A-Z][A-Za-z]{1,63}"
_ID: Final = r"[A-Za-z0-9\-.]{1,64}"
_SEARCH: Final = re.compile(rf"(?:{_TYPE}/{_ID}/)?(?P<type>{_TYPE})(?:\?(?P<query>[^#]*))?")
_READ: Final = re.compile(rf"(?P<type>{_TYPE})/(?P<id>{_ID})")
_INSTANT: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
_ERRORS: Final = ("fatal", "error")

Table = Annotated[str, Field(min_length=1, max_length=200)]


class FhirWhere(HttpWhere):
    """The whole ``where``."""

    searches: Annotated[dict[Table, Annotated[str, Field(max_length=8000)]], Field(min_length=1, max_length=1000)]
    columns: Annotated[dict[Table, dict[Table, JsonPath]], Field(alias="fields", default_factory=dict)]
    included: Annotated[list[Annotated[str, Field(pattern=rf"^{_TYPE}$")]], Field(max_length=200, default_factory=list)]
    ignored: Annotated[list[JsonPath], Field(alias="except", max_length=200, default_factory=list)]
    since: Annotated[str, Field(pattern=rf"^{_INSTANT}$")] | None = None
    count: Annotated[int, Field(ge=1, le=10_000)] | None = None
    total: bool = True
    lenient: bool = False
    check: Literal["structure", "model"] = "structure"

    @model_validator(mode="after")
    def _fits_together(self) -> FhirWhere:
        for table, search in self.searches.items():
            if not _READ.fullmatch(search) and not _SEARCH.fullmatch(search):
                raise ValueError(f"the search of table {table!r} is neither Type?parameters nor Type/id")
        for table, fields in self.columns.items():
            if table not in self.searches and table not in self.included:
                raise ValueError(f"fields: table {table!r} is neither in searches nor in included")
            if taken := sorted(set(fields) & set(COLUMNS)):
                raise ValueError(f"fields: the column {taken[0]!r} of table {table!r} is there in any case")
        return self


class FhirChannel:
    """Reads records on FHIR servers (``oracle.base.Channel``).

    Args:
        context: has the credentials; names the client.
        bounds: how much one reading may take.
    """

    name: str = ChannelName.FHIR.value
    batches: bool = False

    def __init__(self, context: ChannelContext, bounds: Bounds = BOUNDS) -> None:
        self._credentials, self._bounds = context.credentials, bounds
        self._client = HttpClient.shared(context)
        self._check = ModelCheck()

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        """Read several records once each, one after the other; answers in order."""
        return [await self._read(path) for path in paths]

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.close()

    async def _read(self, path: ReadPath) -> Tables | ReadFailed:
        try:
            where = parse_where(FhirWhere, path.where)
            address = address_of(where, self._credentials)
        except NoReading as error:
            return failed(error)
        if not where.lenient:
            address = address._replace(headers={"Prefer": "handling=strict", **address.headers})
        reading = HttpReading(self._client, address, accept=_ACCEPT, explain=explain, bounds=self._bounds)
        record = _Record(reading, where, self._check if where.check == "model" else None)
        return await read_in_time(record.read, address)


class _Table:
    """The rows of one table, each resource once.

    Attributes:
        rows: the rows.
    """

    def __init__(self) -> None:
        self.rows = GatheredRows()
        self._digests: dict[str, bytes] = {}

    def keep(self, name: str, row: Record) -> None:
        """Add the row of a resource, or see that it is the one that is there.

        Raises:
            NoReading: another state of the resource is there.
        """
        digest = blake2b(canonical_json(row), digest_size=DIGEST_BYTES).digest()
        known = self._digests.setdefault(name, digest)
        if known is digest:
            self.rows.add([row])
        elif known != digest:
            raise NoReading(f"{name} changed while it was read")


class _Record:
    """One reading of one record: its tables as they fill."""

    def __init__(self, reading: HttpReading, where: FhirWhere, check: ModelCheck | None) -> None:
        self._reading, self._where, self._check = reading, where, check
        self._makers: dict[str, RowMaker] = {}
        self._tables: dict[str, _Table] = {}

    async def read(self) -> Tables:
        """Every table.

        Raises:
            NoReading: one of them is not whole.
        """
        for table in (*self._where.searches, *self._where.included):
            self._tables[table] = _Table()
        for table, search in self._where.searches.items():
            try:
                if found := _READ.fullmatch(search):
                    await self._get(table, search, found["type"], found["id"])
                else:
                    await self._search(table, search)
            except NoReading as error:
                raise NoReading(f"table {table!r}: {error}") from None
        return {name: table.rows.finish() for name, table in self._tables.items()}

    async def _get(self, table: str, path: str, kind: str, ident: str) -> None:
        answer = await self._reading.get(self._reading.url(path))
        _refuse_outcome(answer.body)
        resource = resource_of(answer.body)
        if (resource["resourceType"], resource["id"]) != (kind, ident):
            raise NoReading(f"{name_of(resource)} came in place of {path}")
        self._keep(table, resource)

    async def _search(self, table: str, search: str) -> None:
        found = _SEARCH.fullmatch(search)
        assert found is not None, "checked with the where"
        matched: set[str] = set()
        total: int | None = None
        page: httpx.URL | None = self._first(search)
        asked: set[httpx.URL] = set()
        while page is not None:
            if page in asked:
                raise NoReading("its next page is one that was read already")
            asked.add(page)
            answer = await self._reading.get(page)
            bundle = _bundle(answer)
            for entry in _list(bundle, "entry"):
                self._take(table, found["type"], entry, matched)
            total = self._total(bundle, total)
            page = _next(self._reading, answer, bundle)
            await checkpoint()
        if total is not None and total != len(matched):
            raise NoReading(f"{len(matched)} resources came, but the server says {total}")

    def _first(self, search: str) -> httpx.URL:
        url = self._reading.url(search)
        if self._where.count is not None:
            url = url.copy_set_param("_count", str(self._where.count))
        if self._where.total:
            url = url.copy_set_param("_total", "accurate")
        if self._where.since is not None:
            url = url.copy_add_param("_lastUpdated", f"ge{self._where.since}")
        return url

    def _take(self, table: str, kind: str, entry: Json, matched: set[str]) -> None:
        """Put an entry of a Bundle where it belongs."""
        if not isinstance(entry, dict):
            raise NoReading("an entry of the Bundle is no object")
        search, body = entry.get("search"), entry.get("resource")
        mode = search.get("mode") if isinstance(search, dict) else None
        if mode == "outcome" or _type(body) == "OperationOutcome":
            _refuse_errors(body)
            return
        resource = resource_of(body)
        if mode == "include":
            self._keep(str(resource["resourceType"]), resource)
            return
        if resource["resourceType"] != kind:
            raise NoReading(f"{name_of(resource)} is among the matches of a search for {kind}")
        if resource["id"] in matched:
            raise NoReading(f"{name_of(resource)} came twice")
        matched.add(str(resource["id"]))
        self._keep(table, resource)

    def _keep(self, table: str, resource: JsonObject) -> None:
        if self._check is not None:
            self._check.check(resource)
        maker = self._makers.get(table)
        if maker is None:
            fields = self._where.columns.get(table, {})
            maker = self._makers[table] = RowMaker(fields, self._where.ignored)
        if table not in self._tables:
            self._tables[table] = _Table()
        self._tables[table].keep(name_of(resource), maker.row(resource))

    def _total(self, bundle: JsonObject, before: int | None) -> int | None:
        """How many matches the server says there are; no page may say another number."""
        said = bundle.get("total")
        if said is None or not self._where.total:
            return before
        if type(said) is not int:
            raise NoReading("the Bundle's total is no whole number")
        if before is not None and said != before:
            raise NoReading(f"the total changed from {before} to {said} during the reading")
        return said


def explain(body: Json) -> str:
    """What an OperationOutcome says, in a clause: its first error, else its first issue; "" for anything else."""
    if _type(body) != "OperationOutcome":
        return ""
    assert isinstance(body, dict)
    issues = body.get("issue")
    listed = [issue for issue in issues if isinstance(issue, dict)] if isinstance(issues, list) else []
    listed.sort(key=lambda issue: issue.get("severity") not in _ERRORS)
    return _clause(listed[0]) if listed else ""


def _clause(issue: JsonObject) -> str:
    details = issue.get("details")
    text = issue.get("diagnostics") or (details.get("text") if isinstance(details, dict) else None)
    words = (issue.get("severity"), issue.get("code"))
    head = " ".join(word for word in words if isinstance(word, str))
    return f"{head}: {text}" if isinstance(text, str) else head


def _refuse_outcome(body: Json) -> None:
    """An OperationOutcome in the place of what was asked for is never an answer, whatever its severity."""
    if _type(body) == "OperationOutcome":
        raise NoReading(f"the server answered with an OperationOutcome: {explain(body)}")


def _refuse_errors(outcome: Json) -> None:
    issues = outcome.get("issue") if isinstance(outcome, dict) else None
    if not isinstance(issues, list):
        raise NoReading("an outcome among the entries has no issues")
    for issue in issues:
        if not isinstance(issue, dict) or issue.get("severity") in _ERRORS:
            raise NoReading(f"the server reports of its search: {explain(outcome)}")


def _bundle(answer: Answer) -> JsonObject:
    body = answer.body
    _refuse_outcome(body)
    if not isinstance(body, dict) or body.get("resourceType") != "Bundle" or body.get("type") != "searchset":
        raise NoReading("the answer is no Bundle of type searchset")
    return body


def _next(reading: HttpReading, answer: Answer, bundle: JsonObject) -> httpx.URL | None:
    links = [link for link in _list(bundle, "link") if isinstance(link, dict) and link.get("relation") == "next"]
    if not links:
        return None
    url = links[0].get("url")
    if len(links) > 1 or type(url) is not str or not url:
        raise NoReading("the Bundle's link to the next page is not one URL")
    return reading.follow(answer, url)


def _list(bundle: JsonObject, name: str) -> Sequence[Json]:
    value = bundle.get(name, [])
    if not isinstance(value, list):
        raise NoReading(f"the Bundle's {name} is no list")
    return value


def _type(body: Json) -> Json:
    return body.get("resourceType") if isinstance(body, dict) else None
