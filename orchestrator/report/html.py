"""The report as one HTML file that opens offline: no script, no request, everything foreign escaped by jinja2."""

from __future__ import annotations

import re
from typing import Any, Final

from orchestrator.report.model import (
    Report,
    about_line,
    conservation_sentence,
    figures_of,
    promises_of,
    title_of,
    warnings_of,
)
from orchestrator.report.text import visible

_FIGURE: Final = re.compile(r"(\d+/\d+ = \d\.\d+|\(-?\d\.\d+ to -?\d\.\d+\))")


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
    environment.filters["figures_apart"] = figures_apart
    return environment.get_template("report.html").render(_context(report))


def figures_apart(text: str) -> list[str]:
    """The text in parts: every second one is a rate or an interval, which a narrow column must not break."""
    return _FIGURE.split(text)


def _context(report: Report) -> dict[str, Any]:
    return {
        "title": title_of(report),
        "kind": report.summary["kind"],
        "about": about_line(report),
        "conservation": conservation_sentence(report),
        "isolation": promises_of(report),
        "warnings": warnings_of(report),
        "arms": [(arm, figures_of(report, arm)) for arm in report.summary["arms"]],
        "sections": report.sections,
        "digest": report.summary["results_digest"],
    }
