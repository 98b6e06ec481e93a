from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from orchestrator.report import render_html
from orchestrator.report.html import figures_apart

if TYPE_CHECKING:
    from tests.orchestrator.report.conftest import MakeReport

VOID = {"meta", "rect"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that tags are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags = Counter[str]()
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def having(self, tag: str, name: str) -> list[Any]:
        return [values[name] for found, values in self.attributes if found == tag and name in values]


def test_the_page_opens_offline(make_report: MakeReport) -> None:
    """Nothing in the page asks for anything: no script, no address, and a policy that forbids both."""
    page = render_html(make_report())
    found = Page(page)
    assert "default-src 'none'" in page
    assert not found.tags.keys() & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"https?://|url\(|@import|\bon\w+=", page)
    assert all(target.startswith("#") for target in found.having("a", "href"))


def test_the_page_can_be_used_without_seeing_it(make_report: MakeReport) -> None:
    """Language, landmarks, a skip link, headed tables with captions, and no target that is missing."""
    found = Page(render_html(make_report()))
    assert found.having("html", "lang") == ["en"]
    assert found.tags["h1"] == found.tags["main"] == found.tags["header"] == 1
    assert set(found.having("th", "scope")) == {"col", "row"}
    assert found.tags["caption"] == found.tags["table"]
    identifiers = {values["id"] for _, values in found.attributes if "id" in values}
    assert {target.removeprefix("#") for target in found.having("a", "href")} <= identifiers
    assert {name for _, values in found.attributes if (name := values.get("aria-labelledby"))} <= identifiers
    assert len(found.having("div", "tabindex")) == found.tags["table"]


def test_light_and_dark_are_both_there(make_report: MakeReport) -> None:
    """The page follows the reader's colour scheme."""
    page = render_html(make_report())
    assert 'content="light dark"' in page
    assert "prefers-color-scheme: dark" in page


def test_foreign_text_stays_text(make_report: MakeReport, evil: str) -> None:
    """With hostile names and messages the page has the same tags, and shows the text as it was written."""
    plain, hostile = Page(render_html(make_report())), Page(render_html(make_report(evil)))
    assert hostile.tags == plain.tags
    assert "<script>alert(1)</script>|**bold**" in hostile.text
    assert "\\x1b[31mred" in hostile.text
    assert "\\u202e" in hostile.text


def test_a_figure_shows_rate_counts_and_interval(make_report: MakeReport) -> None:
    """A headline figure has its raw counts and a band; one without a denominator has no band."""
    found = Page(render_html(make_report()))
    assert found.tags["svg"] == 1
    for part in ("SWER", "0.5556", "50/90, 0.4500 to 0.6500", "over-halt", "none", "0/0"):
        assert part in found.text


def test_head_and_tables_say_what_the_figures_are_about(make_report: MakeReport) -> None:
    """Pack and split stand in the head, beside the arms, and under every table."""
    found = Page(render_html(make_report()))
    assert found.text.count("pack plain, split dev") == 2 + found.tags["table"]


def test_a_figure_is_never_broken() -> None:
    """A rate and an interval are parts of their own, and nothing of a text is lost or taken for one."""
    parts = figures_apart("50/90 = 0.5556 (0.4527 to 0.6538)")
    assert parts == ["", "50/90 = 0.5556", " ", "(0.4527 to 0.6538)", ""]
    assert figures_apart("0/0, no rate; 3 to 4") == ["0/0, no rate; 3 to 4"]
