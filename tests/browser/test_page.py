"""A browser saves an encounter through the real page, and the oracle's own connection sees it in the database."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import anyio
import pytest

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.sql import SqlChannel
from oracle.effect import judge
from providers.records import Records
from spec.clock import SystemClock
from spec.contract import resolve
from spec.reading import Tables, TrueState

playwright = pytest.importorskip(
    "playwright.async_api", reason="playwright is not installed; `make browser-test` installs it"
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAGE_WAIT_MS = 30_000


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no chromium on the PATH; on Debian: apt-get install chromium")
    return found


async def fetch(worker: str, fixtures: object) -> bytes:
    raise AssertionError("the record is in no worker's memory")


async def save_by_hand(address: str, params: dict[str, str], home: Path) -> str:
    """What a person does; answers the banner's text."""
    async with playwright.async_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = await driver.chromium.launch(
            executable_path=browser(), args=arguments, env={**os.environ, "HOME": str(home)}
        )
        page = await chromium.new_page()
        page.set_default_timeout(PAGE_WAIT_MS)
        await page.goto(address)
        await page.get_by_label("Name").fill("Tälvik")
        await page.get_by_role("button", name="Search").click()
        await page.get_by_role("link", name="Zoë Tälvik").click()
        await page.get_by_role("link", name="New encounter").click()
        await page.get_by_label("Type").select_option("Triage")
        for label, name in (
            ("Note", "note"),
            ("Clinician", "clinician"),
            ("Seen at", "seen_at"),
            ("Weight in kg", "weight_kg"),
        ):
            await page.get_by_label(label).fill(params[name])
        await page.get_by_role("button", name="Save").click()
        banner: str = await page.get_by_role("status").inner_text()
        await chromium.close()
        return banner


@pytest.mark.timeout(180)
def test_an_encounter_saved_on_the_page_is_in_the_record(tmp_path: Path) -> None:
    """Looking the patient up, filling the form in and saving it is the contracted effect, by the oracle's reading."""

    async def main() -> tuple[str, TrueState]:
        provider = Records(pack="variants")
        task = next(one for one in provider.tasks() if one.task_id == "variants::clean_save")
        payload = provider.payload(task, 0, 0)
        channel = SqlChannel(ChannelContext(fetch, SystemClock(), {}))
        try:
            fixture = await provider.open(task, payload)

            async def read() -> Tables:
                (found,) = await channel.read([fixture.read_path])
                assert not isinstance(found, ReadFailed), found
                return found

            before = await read()
            params = {name: str(value) for name, value in payload.params.items()}
            address = str(await fixture.environment.call("page_address", {}))
            banner = await save_by_hand(address, params, tmp_path)
            fixture.seal()
            found = judge(resolve(task.contract, payload.params), provider.schema, before, await read())
            return banner, found.state
        finally:
            await channel.close()
            await provider.close()

    assert anyio.run(main) == ("Encounter saved", TrueState.CORRECT)
