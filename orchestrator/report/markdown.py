"""The report as Markdown (tables as GitHub reads them)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.kinds.base import Section
from orchestrator.report.model import (
    Report,
    about_line,
    conservation_sentence,
    promises_of,
    title_of,
    warnings_of,
)
from orchestrator.report.text import markdown


def render_markdown(report: Report) -> str:
    """The whole report as Markdown text, ended by a line break."""
    about = markdown(about_line(report))
    lines = [f"# {markdown(title_of(report))}", "", f"Kind {markdown(report.summary['kind'])}; {about}.", ""]
    lines += [markdown(conservation_sentence(report)) + ".", ""]
    for sentence in promises_of(report):
        lines += [markdown(sentence), ""]
    for warning in warnings_of(report):
        lines += [f"> **Note.** {markdown(warning)}", ""]
    for section in report.sections:
        lines += _section(section, about)
    lines += [f"results_digest `{report.summary['results_digest']}`", ""]
    return "\n".join(lines)


def _section(section: Section, about: str) -> Iterator[str]:
    yield from (f"## {markdown(section.title)}", "")
    for paragraph in section.paragraphs:
        yield from (markdown(paragraph), "")
    if section.columns and section.rows:
        yield _row(section.columns)
        yield "|" + " --- |" * len(section.columns)
        yield from map(_row, section.rows)
        yield from ("", f"<sub>{about}</sub>", "")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown(cell) for cell in cells) + " |"
