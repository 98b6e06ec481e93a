"""The report on a terminal: the headline of each arm, and what has to be known beside it.

Goes to the stream that it is given, standard error in every command; colours and lines only where that is a terminal,
and no colours where NO_COLOR is set.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO, cast

from orchestrator.kinds.base import Section
from orchestrator.report.model import (
    Figure,
    Report,
    about_line,
    conservation_sentence,
    figures_of,
    promises_of,
    title_of,
    warnings_of,
)
from orchestrator.report.text import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDTH_OF_A_PIPE: Final = 240
_WIDTH_MAX: Final = 100_000


class Forgiving(io.TextIOBase):
    """A stream for people: a reader that has gone away, or a full disk behind it, ends nothing.

    Args:
        stream: where the text goes as long as it can.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        """That of the stream."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def write(self, text: str) -> int:
        """Write what can be written."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with contextlib.suppress(OSError):
            self._stream.flush()


def console_on(stream: TextIO, *, width: int | None = None) -> Console:
    """A console that prints text as it stands; rich itself leaves colours out where NO_COLOR is set."""
    from rich.console import Console

    return Console(file=cast("TextIO", Forgiving(stream)), width=width, highlight=False, markup=False, emoji=False)


def print_report(report: Report, stream: TextIO, *, full: bool = False) -> None:
    """Print a report's head and the headline of each arm.

    Args:
        report: what to print.
        stream: where to.
        full: print the kind's sections too; without it they stand in the report files only.
    """
    from rich.text import Text

    # A pipe has no width: rich would fold the lines at 80 columns and make them hard to search.
    console = console_on(stream, width=None if stream.isatty() else _WIDTH_OF_A_PIPE)
    console.print(Text(visible(title_of(report)), style="bold"))
    for line in (about_line(report), conservation_sentence(report), *promises_of(report)):
        console.print(Text(visible(line)))
    for warning in warnings_of(report):
        console.print(Text(visible(warning), style="yellow"))
    _print_figures(console, report)
    for section in report.sections if full else ():
        _print_section(console, section)


def _print_section(console: Console, section: Section) -> None:
    from rich.text import Text

    console.print(Text(visible(section.title), style="bold"))
    for paragraph in section.paragraphs:
        console.print(Text(visible(paragraph)))
    if section.columns and section.rows:
        console.print(_table(section.columns, section.rows))


def _print_figures(console: Console, report: Report) -> None:
    by_arm = {arm: {one.name: one for one in figures_of(report, arm)} for arm in report.summary["arms"]}
    columns = list(dict.fromkeys(name for figures in by_arm.values() for name in figures))
    rows = [[arm, *(_figure_text(figures.get(name)) for name in columns)] for arm, figures in by_arm.items()]
    if not columns:
        return
    wide = _table(["arm", *columns], rows)
    if console.measure(wide, options=console.options.update(width=_WIDTH_MAX)).maximum <= console.width:
        console.print(wide)
    else:  # one figure a line: a number that is folded is hard to read
        console.print(_table(["arm", "figure", "value"], _one_a_line(columns, rows)))


def _one_a_line(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The same cells from top to bottom, with each arm's name beside its first figure."""
    return [
        [arm if place == 0 else "", name, text]
        for arm, *texts in rows
        for place, (name, text) in enumerate(zip(columns, texts, strict=True))
    ]


def _figure_text(figure: Figure | None) -> str:
    if figure is None:
        return ""
    if figure.rate is None:
        return f"{figure.counts}, no rate"
    return f"{figure.counts} = {figure.value} ({figure.interval})"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for column in columns:
        table.add_column(Text(visible(column)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table
