"""The text of the repository: nothing unfinished, no suppression without its reason, nothing of one machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

UNFINISHED: Final = re.compile(rf"\b({'TO'}DO|{'FIX'}ME|{'XX'}X|NotImplemented{'Error'})\b")
"""Marks of unfinished work, written so that this line is none."""
SUPPRESSION: Final = re.compile(r"#\s*(noqa|type:\s*ignore)\b(.*)")
EXPLAINED: Final = re.compile(r"^(:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*|\[[a-z0-9-]+(,\s*[a-z0-9-]+)*\])\s+[^\w]*\w.*")
MACHINE: Final = re.compile(
    rf"/{'work'}/|/home/\w|/Users/\w|C:\\Users|python{'hosted'}|py{'pi'}\.(org|python)|/opt/py{'pi'}"
)
"""Folders of one machine and hosts of registries, written so that this line has none."""

Lines = Mapping[Path, list[str]]


@pytest.fixture(scope="module")
def lines(files: tuple[Path, ...], root: Path) -> Lines:
    """Every file's lines, but not those of this file, which has to spell what it looks for."""
    return {
        path.relative_to(root): path.read_text(encoding="utf-8", errors="replace").splitlines()
        for path in files
        if path != Path(__file__)
    }


def hits(lines: Lines, pattern: re.Pattern[str], suffixes: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for path, content in lines.items():
        if not suffixes or path.suffix in suffixes:
            for number, line in enumerate(content, 1):
                if pattern.search(line):
                    yield f"{path}:{number}", line.strip()


def unexplained(line: str) -> bool:
    found = SUPPRESSION.search(line)
    return found is not None and not EXPLAINED.match(found.group(2))


@pytest.mark.parametrize(
    ("comment", "refused"),
    [
        ("# noqa", True),
        ("# noqa: S608", True),
        ("# noqa: S608 - the table's name comes from the catalogue", False),
        ("# type: ignore", True),
        ("# type: ignore[arg-type]", True),
        ("# type: ignore[arg-type]  # the stub lacks None", False),
    ],
)
def test_a_suppression_needs_code_and_reason(comment: str, refused: bool) -> None:
    """A bare suppression and one without a reason are told from an explained one."""
    assert unexplained(f"x = 1  {comment}") is refused


def test_the_patterns_see_what_they_forbid() -> None:
    """A mark of unfinished work and a folder of one machine are recognised inside a line."""
    assert UNFINISHED.search(f"# {'TO'}DO: later")
    assert not UNFINISHED.search("the Todoist connector")
    assert MACHINE.search("cd /home/me/project")
    assert not MACHINE.search("the framework/runs folder of a home")


def test_nothing_is_unfinished(lines: Lines) -> None:
    """No code, configuration or page carries a mark of work to be done."""
    assert dict(hits(lines, UNFINISHED, (".py", ".toml", ".md"))) == {}


def test_every_suppression_is_explained(lines: Lines) -> None:
    """Where a check is switched off, the line names the check and says why."""
    found = {where: line for where, line in hits(lines, SUPPRESSION, (".py",)) if unexplained(line)}
    assert found == {}


def test_nothing_belongs_to_one_machine(lines: Lines) -> None:
    """No file names a folder of somebody's machine or the host of a package registry."""
    assert dict(hits(lines, MACHINE)) == {}
