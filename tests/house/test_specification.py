"""SPEC.md is the contract for outsiders: what it lists is what the code has, and its examples come out."""

from __future__ import annotations

import re
import zlib
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from spec.canonical import digest_bytes
from spec.outcome import Outcome, SwerVariant, classify
from spec.reading import ChannelName, TrueState, Verdict
from spec.report import ArmFault
from spec.task import Category, OracleSpec, Split, Substrate

SECTION: Final = re.compile(r"^## (\d+) (.+)$", re.MULTILINE)
CITATION: Final = re.compile(r"SPEC\.md,? section (\d+)")


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    """The specification."""
    return (root / "SPEC.md").read_text(encoding="utf-8")


def section(text: str, number: int) -> str:
    parts = SECTION.split(text)
    return parts[parts.index(str(number)) + 2]


def table_rows(part: str) -> list[list[str]]:
    lines = [line for line in part.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_the_truth_table_is_the_classifier(text: str) -> None:
    """Every line of section 3's table is what ``classify`` answers, and together they cover all its inputs."""
    meaning = {"yes": (True,), "no": (False,), "either": (True, False)}
    seen = set()
    for reported, state, available, outcome, variant in table_rows(section(text, 3))[1:]:
        for claim in meaning[reported]:
            for could_act in meaning[available]:
                label = classify(reported_success=claim, state=TrueState[state], correct_action_available=could_act)
                stated = None if outcome == "no label" else (Outcome(outcome), SwerVariant(variant))
                assert label == stated, (reported, state, available)
                seen.add((claim, state, could_act))
    assert len(seen) == 2 * len(TrueState) * 2


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (3, Outcome),
        (3, SwerVariant),
        (4, Verdict),
        (5, Category),
        (5, Substrate),
        (5, Split),
        (7, ArmFault),
        (9, ChannelName),
    ],
)
def test_every_word_of_a_closed_list_is_specified(text: str, number: int, words: type[StrEnum]) -> None:
    """The members of a closed enum stand, spelled as in files, in the section that defines them."""
    part = section(text, number)
    assert [word.value for word in words if not re.search(rf"\b{re.escape(word.value)}\b", part)] == []


def test_the_attestations_are_specified(text: str) -> None:
    """Section 6 names every attestation that a task can carry."""
    attestations = set(OracleSpec.__slots__) - {"channel"}
    assert attestations <= {row[0] for row in table_rows(section(text, 6))}


def test_the_hash_vector_comes_out(text: str) -> None:
    """The text printed in section 4.5 has the hash that is printed below it."""
    source, expected = section(text, 4).rsplit("```", 2)[1].strip().splitlines()
    assert digest_bytes(source.encode()) == expected


def test_the_journal_example_checks(text: str) -> None:
    """The line printed in section 10.1 ends in the right crc."""
    (line,) = re.findall(r'^\{"seq":0.*\}$', section(text, 10), re.MULTILINE)
    body, tail = line[:-18], line[-18:]
    assert tail == f',"crc":"{zlib.crc32(body.encode()):08x}"}}'


def test_every_cited_section_exists(text: str, files: tuple[Path, ...]) -> None:
    """A comment that cites a section of SPEC.md cites one that is there."""
    numbers = {number for number, _ in SECTION.findall(text)}
    cited = {
        number
        for path in files
        if path.suffix == ".py"
        for number in CITATION.findall(path.read_text(encoding="utf-8"))
    }
    assert cited
    assert cited <= numbers
