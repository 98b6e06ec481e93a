from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from orchestrator.report import render_markdown

if TYPE_CHECKING:
    from tests.orchestrator.report.conftest import MakeReport


def test_a_report_is_headed_tables(make_report: MakeReport) -> None:
    """Title, conservation line, isolation, warning, sections and digest stand in the text, in that order."""
    text = render_markdown(make_report())
    places = [
        text.index(part)
        for part in (
            "# Run plain",
            "90 planned = 90 scored",
            "Isolation in-process",
            "> **Note.** plain",
            "## Title plain",
            "| arm | plain |\n| --- | --- |\n| plain | plain |",
            "results_digest `sha256:",
        )
    ]
    assert places == sorted(places)
    assert text.endswith("\n")


def test_what_the_figures_are_about_stands_beside_every_table(make_report: MakeReport) -> None:
    """Each table is followed by pack and split."""
    text = render_markdown(make_report())
    assert text.count("<sub>pack plain, split dev</sub>") == text.count("| --- |") == 1


def test_foreign_text_stays_text(make_report: MakeReport, evil: str) -> None:
    """With hostile names and messages, the page has the same headings and cells, no link, no HTML but ours."""
    parser = MarkdownIt("gfm-like", {"linkify": False})

    def shape(text: str) -> list[str]:
        return [token.type for token in parser.parse(render_markdown(make_report(text)))]

    assert shape(evil) == shape("plain")
    page = render_markdown(make_report(evil))
    assert "\x1b" not in page
    assert "<script" not in page.replace("\\<script", "")
    inline = [child for token in parser.parse(page) for child in token.children or []]
    assert {child.content for child in inline if child.type == "html_inline"} == {"<sub>", "</sub>"}
    assert not [child for child in inline if child.type == "link_open"]
