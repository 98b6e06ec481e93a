"""The report as one HTML file that opens offline: no script, no request, everything foreign escaped by jinja2."""

from __future__ import annotations

from typing import Any

from orchestrator.report.model import (
    Report,
    about_line,
    conservation_sentence,
    figures_of,
    isolation_sentences,
    title_of,
    warnings_of,
)
from orchestrator.report.text import visible


def render_html(report: Report) -> str:
    """The whole page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("orchestrator.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    return environment.get_template("report.html").render(_context(report))


def _context(report: Report) -> dict[str, Any]:
    return {
        "title": title_of(report),
        "kind": report.summary["kind"],
        "about": about_line(report),
        "conservation": conservation_sentence(report),
        "isolation": isolation_sentences(report),
        "warnings": warnings_of(report),
        "arms": [(arm, figures_of(report, arm)) for arm in report.summary["arms"]],
        "sections": report.sections,
        "digest": report.summary["results_digest"],
    }
