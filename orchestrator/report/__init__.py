"""From numbers to pages: the same report for a terminal, as Markdown, and as one self-contained HTML file.

Renders what a summary and a kind's sections say; knows no kind. Every name and text comes from outside (an arm's
message is what an agent wrote) and is escaped for where it goes: HTML, Markdown, or a terminal's control characters.
"""

from __future__ import annotations

from orchestrator.report.html import render_html
from orchestrator.report.markdown import render_markdown
from orchestrator.report.model import Report
from orchestrator.report.terminal import print_report

__all__ = ["Report", "print_report", "render_html", "render_markdown"]
