"""The pages: a session by cookie, escaped texts, forms that save, and refusals that are told."""

from __future__ import annotations

import html
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import httpx
import pytest

from providers.records.access import Accesses
from providers.records.app import make_app
from providers.records.entry import Pack
from providers.records.ladder import ladder
from providers.records.leases import Base
from providers.records.variants import variants
from spec.clock import Clock
from spec.reading import TrueState

if TYPE_CHECKING:
    from tests.providers.records.conftest import House, Played


@pytest.fixture
async def browser(base: Base, clock: Clock) -> AsyncIterator[httpx.AsyncClient]:
    """A client that keeps cookies and follows redirects, as a browser does."""
    access = Accesses()
    transport = httpx.ASGITransport(make_app(base, access, clock))
    async with httpx.AsyncClient(base_url="http://records", transport=transport, follow_redirects=True) as client:
        yield client
    access.close()


async def entered(house: House, browser: httpx.AsyncClient, pack: Pack, name: str) -> Played:
    played = await house.open(pack, name)
    address = str(await played.fixture.environment.call("page_address", {}))
    answer = await browser.get(address)
    assert (answer.status_code, answer.url.path) == (200, "/")
    return played


@pytest.mark.anyio
async def test_a_person_can_carry_the_task_out(house: House, browser: httpx.AsyncClient) -> None:
    """Search, chart, form and save leave the contracted record, and the chart shows it with the banner."""
    played = await entered(house, browser, variants("sql"), "clean_save")
    found = (await browser.get("/", params={"name": "tälvik", "birth_date": "1984-03-12"})).text
    assert 'href="/patients/p1"' in found
    assert 'href="/patients/p2"' not in found
    assert "<option selected>Triage</option>" in (await browser.get("/patients/p1/encounters/new")).text
    fields = {name: str(played.params[name]) for name in ("note", "clinician", "seen_at", "weight_kg")}
    answer = await browser.post("/patients/p1/encounters", data={"type": "Triage", **fields})
    assert (answer.status_code, answer.url.path) == (200, "/patients/p1")
    assert 'id="banner">Encounter saved' in answer.text
    assert html.escape(fields["note"]) in answer.text
    assert await played.state() is TrueState.CORRECT


@pytest.mark.anyio
async def test_what_comes_out_of_the_record_is_escaped(house: House, browser: httpx.AsyncClient) -> None:
    """A script in a note, a name or a search is shown as text, and no page lets any script run."""
    await entered(house, browser, ladder("sql"), "ok")
    script = '<script>alert("x")</script>'
    await browser.post("/patients/p1/encounters", data={"type": "Triage", "note": script})
    for answer in (await browser.get("/patients/p1"), await browser.get("/", params={"name": script})):
        assert script not in answer.text
        assert html.escape(script, quote=False).replace('"', "&#34;") in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("scenario", "status", "banner", "told"),
    [("optimistic", 409, True, "refused the encounter"), ("session", 401, False, "signed out")],
)
async def test_a_refused_save_shows_the_form_again(
    house: House, browser: httpx.AsyncClient, scenario: str, status: int, banner: bool, told: str
) -> None:
    """With its status, what was typed, why it was refused, and the banner that the application painted."""
    await entered(house, browser, ladder("sql"), scenario)
    answer = await browser.post("/patients/p1/encounters", data={"type": "Consult", "note": "as typed"})
    assert answer.status_code == status
    assert told in answer.text
    assert ("Encounter saved" in answer.text) is banner
    assert "<option selected>Consult</option>" in answer.text
    assert ">as typed</textarea>" in answer.text


@pytest.mark.anyio
async def test_wrong_requests_are_told_on_a_page(house: House, browser: httpx.AsyncClient) -> None:
    """No session, a patient that is not there, and a type that the form does not have."""
    assert (await browser.get("/enter", params={"token": "x" * 43})).status_code == 401
    assert (await browser.get("/")).status_code == 401
    played = await entered(house, browser, ladder("sql"), "ok")
    assert (await browser.get("/patients/p9")).status_code == 404
    assert (await browser.post("/patients/p9/encounters", data={"type": "Triage"})).status_code == 404
    answer = await browser.post("/patients/p1/encounters", data={"type": "Surgery"})
    assert (answer.status_code, "type must be one of" in answer.text) == (422, True)
    assert (await played.rows())["encounters"] == []
    played.fixture.seal()
    assert (await browser.get("/patients/p1")).status_code == 401


@pytest.mark.anyio
async def test_a_note_of_several_lines_is_kept(house: House, browser: httpx.AsyncClient) -> None:
    """Line breaks of a browser's form come out as they were typed."""
    played = await entered(house, browser, ladder("sql"), "ok")
    await browser.post("/patients/p1/encounters", data={"type": "Triage", "note": "one\r\ntwo"})
    assert (await played.rows())["encounters"][0]["note"] == "one\ntwo"
