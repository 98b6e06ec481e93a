"""Channel ``fhir`` against a real server: Bundles give the whole record, and half a search is no reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.fhir import FhirChannel, explain
from spec.canonical import Json, canonical_json
from spec.clock import SystemClock
from spec.reading import ReadPath, Tables
from tests.oracle.channels.http_server import App, Raw, RecordServer, running_server

Resource = dict[str, Any]
Entry = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Iterator[RecordServer]:
    with running_server() as running:
        yield running


async def no_fetch(worker: str, fixtures: Sequence[int]) -> bytes:
    raise AssertionError("no worker is asked")


def read(*wheres: dict[str, Any]) -> list[Tables | ReadFailed]:
    async def main() -> list[Tables | ReadFailed]:
        channel = FhirChannel(ChannelContext(no_fetch, SystemClock(), {"TOKEN": "s3cret"}))
        try:
            return list(await channel.read([ReadPath("fhir", False, where) for where in wheres]))
        finally:
            await channel.close()

    return anyio.run(main)


def read_search(server: RecordServer, search: str = "Encounter?patient=p1", **options: Any) -> Tables | ReadFailed:
    (answer,) = read({"url": f"{server.url}/r4", "searches": {"visits": search}, **options})
    return answer


def encounter(ident: int | str, **more: Json) -> Resource:
    return {"resourceType": "Encounter", "id": f"e{ident}", "status": "finished", "class": {"code": "AMB"}, **more}


def match(resource: Resource) -> Entry:
    return {"fullUrl": f"urn:{resource['id']}", "resource": resource, "search": {"mode": "match"}}


def include(resource: Resource) -> Entry:
    return {"resource": resource, "search": {"mode": "include"}}


def outcome(severity: str, diagnostics: str = "hm") -> Resource:
    issue = {"severity": severity, "code": "processing", "diagnostics": diagnostics}
    return {"resourceType": "OperationOutcome", "issue": [issue]}


def fhir(body: Json, status: int = 200) -> Response:
    return Response(canonical_json(body), status, media_type="application/fhir+json")


def bundle(*entries: Entry, total: Json = None, following: str | None = None, **more: Json) -> Response:
    body: dict[str, Json] = {"resourceType": "Bundle", "type": "searchset", **more}
    if entries:
        body["entry"] = list(entries)
    if total is not None:
        body["total"] = total
    links: list[Json] = [{"relation": "self", "url": "http://ignored.example/"}]
    body.setdefault("link", [*links, {"relation": "next", "url": following}] if following else links)
    return fhir(body)


class Pages:
    """A search in pages of a size, linked by ``next``.

    Args:
        entries: what is found.
        size: entries a page, where none is asked for.
        totals: the total that each page says; the last one stays.
    """

    def __init__(self, entries: Sequence[Entry], size: int, totals: Sequence[Json] = ()) -> None:
        self._entries, self._size, self._totals = list(entries), size, list(totals)

    def __call__(self, request: Request) -> App:
        start, size = int(request.query_params.get("at", 0)), int(request.query_params.get("_count", self._size))
        after = start + size
        more = after < len(self._entries)
        url = str(request.url.include_query_params(at=after)) if more else None
        total = self._totals[min(start // size, len(self._totals) - 1)] if self._totals else None
        return bundle(*self._entries[start:after], total=total, following=url)


def ids(answer: Tables | ReadFailed, table: str = "visits") -> list[Json]:
    assert not isinstance(answer, ReadFailed), answer
    return [row["id"] for row in answer[table]]


def test_a_search_asks_as_the_standard_says(server: RecordServer) -> None:
    """The media type, an accurate total, strict handling of parameters, the window and the size of pages."""
    server.serve({"/r4/Encounter": bundle(match(encounter(1)), total=1)})
    since = "2026-01-31T12:00:00+01:00"
    answer = read_search(server, since=since, count=50, token_env="TOKEN")
    assert ids(answer) == ["e1"]
    (asked,) = server.asked
    assert dict(asked.query_params) == {
        "patient": "p1",
        "_count": "50",
        "_total": "accurate",
        "_lastUpdated": f"ge{since}",
    }
    headers = {name: asked.headers.get(name) for name in ("accept", "prefer", "authorization", "cache-control")}
    assert headers == {
        "accept": "application/fhir+json",
        "prefer": "handling=strict",
        "authorization": "Bearer s3cret",
        "cache-control": "no-cache, no-store",
    }


def test_a_simple_server_is_asked_for_less(server: RecordServer) -> None:
    """Without a total and lenient, the search is sent as it stands, and a total that is said is not checked."""
    server.serve({"/r4/Encounter": bundle(match(encounter(1)), total=7)})
    assert ids(read_search(server, total=False, lenient=True)) == ["e1"]
    assert server.paths_asked() == ["/r4/Encounter?patient=p1"]
    assert "prefer" not in server.asked[0].headers


notes = st.text(st.characters(codec="utf-8"), max_size=8)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(notes, max_size=10), size=st.integers(1, 11), said=st.booleans())
def test_any_paging_gives_the_same_table(server: RecordServer, texts: list[str], size: int, said: bool) -> None:
    """However the Bundles are cut, every resource comes once and in order."""
    resources = [encounter(place, text={"div": text}) for place, text in enumerate(texts)]
    server.serve({"/r4/Encounter": Pages([match(each) for each in resources], size, [len(texts)] if said else [])})
    paged = read_search(server, fields={"visits": {"note": "text.div"}})
    server.serve({"/r4/Encounter": Pages([match(each) for each in resources], 1000)})
    assert paged == read_search(server, fields={"visits": {"note": "text.div"}})
    assert not isinstance(paged, ReadFailed)
    assert [row["note"] for row in paged["visits"]] == texts


def test_included_resources_have_tables_of_their_own(server: RecordServer) -> None:
    """By their type, each once, and not counted among the matches; a declared table is there when it is empty."""
    patient = {"resourceType": "Patient", "id": "p1", "gender": "female"}
    entries = [match(encounter(1)), include(patient), match(encounter(2)), include(patient)]
    server.serve({"/r4/Encounter": Pages(entries, 2, [2])})
    options = {"included": ["Patient", "Practitioner"], "fields": {"Patient": {"gender": "gender"}}}
    answer = read_search(server, "Encounter?_include=Encounter:subject", **options)
    assert ids(answer) == ["e1", "e2"]
    assert ids(answer, "Patient") == ["p1"]
    assert ids(answer, "Practitioner") == []
    assert not isinstance(answer, ReadFailed)
    assert answer["Patient"][0]["gender"] == "female"


def test_an_included_type_that_nobody_expected_is_seen(server: RecordServer) -> None:
    """Its table appears, so that what an arm added there is not overlooked."""
    group = {"resourceType": "Group", "id": "g1"}
    server.serve({"/r4/Encounter": bundle(match(encounter(1)), include(group))})
    assert ids(read_search(server), "Group") == ["g1"]


def test_a_resource_that_changes_between_two_searches_is_no_reading(server: RecordServer) -> None:
    """Two states of one resource are no record at one moment; a new version alone is one too."""
    for change in ({"gender": "male"}, {"meta": {"versionId": "2"}}):
        one = {"resourceType": "Patient", "id": "p1"}
        server.serve(
            {
                "/r4/Encounter": bundle(match(encounter(1)), include(one)),
                "/r4/Observation": bundle(include({**one, **change})),
            }
        )
        searches = {"visits": "Encounter", "values": "Observation"}
        (answer,) = read({"url": f"{server.url}/r4", "searches": searches})
        assert answer == ReadFailed("table 'values': Patient/p1 changed while it was read")


def test_a_read_is_a_table_of_one_row(server: RecordServer) -> None:
    """Type and id have to be those that were asked for."""
    server.serve({"/r4/Encounter/e1": fhir(encounter(1)), "/r4/Encounter/e2": fhir(encounter(1))})
    assert ids(read_search(server, "Encounter/e1")) == ["e1"]
    assert server.paths_asked() == ["/r4/Encounter/e1"]
    wrong = read_search(server, "Encounter/e2")
    assert wrong == ReadFailed("table 'visits': Encounter/e1 came in place of Encounter/e2")
    assert read_search(server, "Encounter/e3") == ReadFailed("table 'visits': status 404")


def test_a_compartment_is_searched(server: RecordServer) -> None:
    """``Patient/p1/Encounter`` is a search for encounters."""
    server.serve({"/r4/Patient/p1/Encounter": bundle(match(encounter(1)))})
    assert ids(read_search(server, "Patient/p1/Encounter?status=finished")) == ["e1"]


def test_warnings_are_no_part_of_the_record(server: RecordServer) -> None:
    """An outcome among the entries is no row, with its search mode or without one."""
    entries = [
        {"resource": outcome("warning"), "search": {"mode": "outcome"}},
        match(encounter(1)),
        {"resource": outcome("information")},
    ]
    server.serve({"/r4/Encounter": bundle(*entries, total=1)})
    assert ids(read_search(server)) == ["e1"]


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("responder", "reason"),
    [
        (fhir(outcome("error", "no such patient"), 404), "status 404: error processing: no such patient"),
        (fhir(outcome("fatal", LONG), 500), "status 500: fatal processing: xxx"),
        (fhir({"resourceType": "Patient"}, 400), "status 400"),
        (fhir(outcome("error", "down")), "the server answered with an OperationOutcome: error processing: down"),
        (fhir(outcome("information")), "the server answered with an OperationOutcome"),
        (bundle(match(encounter(1)), {"resource": outcome("error", "shard lost"), "search": {"mode": "outcome"}}),
         "the server reports of its search: error processing: shard lost"),
        (bundle({"resource": {"resourceType": "OperationOutcome"}}), "an outcome among the entries has no issues"),
        (bundle({"resource": outcome("fatal")}), "the server reports of its search: fatal"),
        (HTMLResponse("<form>"), "a page of HTML where JSON is due"),
        (fhir([]), "the answer is no Bundle of type searchset"),
        (fhir(encounter(1)), "the answer is no Bundle of type searchset"),
        (bundle(type="history"), "the answer is no Bundle of type searchset"),
        (fhir({"resourceType": "Bundle", "type": "searchset", "entry": {}}), "the Bundle's entry is no list"),
        (bundle(link={}), "the Bundle's link is no list"),
        (bundle(link=[{"relation": "next"}]), "the Bundle's link to the next page is not one URL"),
        (bundle(link=[{"relation": "next", "url": u} for u in "ab"]), "the Bundle's link to the next page is not one"),
        (bundle(following="http://elsewhere.example/r4?page=2"), "the next page is at another service"),
        (bundle(following="?patient=p1&_total=accurate"), "its next page is one that was read already"),
        (fhir({"resourceType": "Bundle", "type": "searchset", "entry": [1]}), "an entry of the Bundle is no object"),
        (bundle({"fullUrl": "urn:x"}), "an entry has no resource"),
        (bundle(match({"resourceType": "Encounter", "id": ""})), "a resource of type Encounter has no id"),
        (bundle(match({"resourceType": "Patient", "id": "p1"})), "Patient/p1 is among the matches of a search for E"),
        (bundle(match(encounter(1)), match(encounter(1))), "Encounter/e1 came twice"),
        (Pages([match(encounter(1)), match(encounter(2)), match(encounter(1))], 2), "Encounter/e1 came twice"),
        (bundle(match(encounter(1)), total=2), "1 resources came, but the server says 2"),
        (bundle(match(encounter(1)), total="1"), "the Bundle's total is no whole number"),
        (Pages([match(encounter(n)) for n in range(4)], 2, [4, 5]), "the total changed from 4 to 5 during the reading"),
        (bundle(match(encounter(1, meta={"tag": [{"code": "SUBSETTED"}]}))), "only a part of Encounter/e1 came"),
        (Raw(b'{"resourceType": "Bundle", "type"'), "the answer is no JSON"),
    ],
    ids=[
        "error", "long-error", "other-error", "outcome-instead", "information-instead", "error-among-entries",
        "outcome-without-issues", "fatal-without-mode", "html", "list", "resource", "history", "no-entries", "no-links",
        "next-without-url", "two-nexts", "next-elsewhere", "next-in-a-circle", "entry-no-object", "empty-entry",
        "no-id", "other-type", "twice-in-a-page", "twice-in-two-pages", "missing-matches", "total-no-number",
        "total-changed", "subsetted", "half-json",
    ],
)  # fmt: skip
def test_half_a_search_is_no_reading(server: RecordServer, responder: Any, reason: str) -> None:
    """Each sign that the answer is not the whole record has its short reason."""
    server.serve({"/r4/Encounter": responder})
    answer = read_search(server)
    assert isinstance(answer, ReadFailed)
    assert answer.reason.startswith(f"table 'visits': {reason}")
    assert len(answer.reason) <= 200


def test_models_are_checked_where_that_is_asked_for(server: RecordServer) -> None:
    """A resource that breaks the standard is a row by default, since it is an effect to be judged."""
    server.serve({"/r4/Encounter": bundle(match({"resourceType": "Encounter", "id": "e1"}))})
    assert ids(read_search(server)) == ["e1"]
    answer = read_search(server, check="model")
    assert isinstance(answer, ReadFailed)
    assert answer.reason.startswith("table 'visits': Encounter/e1 does not fit R4")


def test_what_the_server_writes_for_itself_can_be_excepted(server: RecordServer) -> None:
    """Two readings differ in a request's number only, and so not at all."""
    answers = []
    excepted: dict[str, Any] = {"except": ["meta.source"]}
    for number in "12":
        server.serve({"/r4/Encounter": bundle(match(encounter(1, meta={"source": number})))})
        answers.append((read_search(server), read_search(server, **excepted)))
    assert answers[0][0] != answers[1][0]
    assert answers[0][1] == answers[1][1]


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({"searches": {}}, "searches: Dictionary should have at least 1 item"),
        ({"searches": {"t": "encounter"}}, "neither Type?parameters nor Type/id"),
        ({"searches": {"t": "Patient/p1/$everything"}}, "neither Type?parameters nor Type/id"),
        ({"searches": {"t": "http://elsewhere.example/Patient"}}, "neither Type?parameters nor Type/id"),
        ({"searches": {"t": "Patient/p1/_history/1"}}, "neither Type?parameters nor Type/id"),
        ({"searches": {"t": "Patient"}, "fields": {"x": {"a": "b"}}}, "'x' is neither in searches nor in included"),
        ({"searches": {"t": "Patient"}, "fields": {"t": {"digest": "b"}}}, "column 'digest' of table 't' is there"),
        ({"searches": {"t": "Patient"}, "fields": {"t": {"a": "b..c"}}}, "fields.t.a: "),
        ({"searches": {"t": "Patient"}, "since": "yesterday"}, "since: String should match pattern"),
        ({"searches": {"t": "Patient"}, "included": ["patient"]}, "included.0: String should match pattern"),
        ({"searches": {"t": "Patient"}, "columns": {}}, "columns: Extra inputs are not permitted"),
        ({"searches": {"t": "Patient"}, "token_env": "NO"}, "the oracle has no credential 'NO'"),
    ],
)
def test_a_wrong_where_asks_nobody(where: dict[str, Json], reason: str) -> None:
    """The reason says what is wrong."""
    (answer,) = read({"url": "http://127.0.0.1:1", **where})
    assert isinstance(answer, ReadFailed)
    assert reason in answer.reason


@pytest.mark.parametrize(
    ("body", "clause"),
    [
        ({"resourceType": "OperationOutcome", "issue": "x"}, ""),
        ({"resourceType": "OperationOutcome"}, ""),
        ({"resourceType": "OperationOutcome", "issue": [1, {"severity": "warning"}]}, "warning"),
        ({"resourceType": "OperationOutcome", "issue": [{"code": "x", "details": {"text": "why"}}]}, "x: why"),
        ({"resourceType": "OperationOutcome", "issue": [{"severity": "warning"}, {"severity": "fatal"}]}, "fatal"),
        ("OperationOutcome", ""),
    ],
)
def test_an_outcome_is_told_in_a_clause(body: Json, clause: str) -> None:
    """Its worst issue, by whichever text it has; a malformed one says nothing."""
    assert explain(body) == clause


def test_a_thousand_resources_are_read(server: RecordServer) -> None:
    """In ten Bundles."""
    entries = [match(encounter(number)) for number in range(1000)]
    server.serve({"/r4/Encounter": Pages(entries, 10, [1000])})
    assert ids(read_search(server, count=100)) == [f"e{number}" for number in range(1000)]
    assert len(server.asked) == 10


def test_the_channel_says_how_it_works() -> None:
    """Records are read one by one, so that a slow server holds up no other record."""
    channel = FhirChannel(ChannelContext(no_fetch, SystemClock(), {}))
    assert (channel.name, channel.batches) == ("fhir", False)
    anyio.run(channel.close)
