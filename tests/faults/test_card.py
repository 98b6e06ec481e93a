"""The card keeps what it is told, merges by row, and says what no violation allows to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.faults.card import Card, bound, machine, markdown, read_card, write_card

FACTS: Final[dict[str, Any]] = {
    "mode": "full",
    "seed": 7,
    "date": "2026-01-31",
    "command": "make faults",
    "machine": {"cpu": "a CPU", "cores": "2", "python": "3.11.7", "ray": "2.60.0", "system": "Linux 6.1"},
}


def data_of(number: int, **facts: Any) -> dict[str, Any]:
    card = Card()
    row = card.row(number, f"fault {number}")
    row.trial(2)
    row.inject(30)
    return card.merged({}, {**FACTS, **facts})


def test_a_row_of_another_session_stays() -> None:
    """A session that ran row 2 leaves row 1 as it was, with the seed and the mode that it had."""
    card = Card()
    card.row(2, "another").inject(5)
    data = card.merged(data_of(1, seed=1), FACTS)
    assert {number: (row["injected"], row["seed"]) for number, row in data["rows"].items()} == {
        "1": (30, 1),
        "2": (5, 7),
    }


def test_a_row_that_is_run_again_is_replaced() -> None:
    """The second run of a row counts alone, its violations too."""
    card = Card()
    card.row(1, "again").violations(["I1: two ends"])
    row = card.merged(data_of(1), FACTS)["rows"]["1"]
    assert (row["injected"], row["violations"]) == (0, ["I1: two ends"])


def test_tests_of_one_row_add_up() -> None:
    """Two tests that ask for the same row count into one."""
    card = Card()
    card.row(1, "a").inject(2)
    card.row(1, "a").inject(3)
    assert card.rows[1].injected == 5


def test_the_bound_is_the_rule_of_three() -> None:
    """No violation in 300 faults: at most 1 %; with a violation or without faults nothing is said."""
    assert (bound(300, 0), bound(2, 0), bound(300, 1), bound(0, 0)) == ("≤ 1.0%", "≤ 100.0%", "", "")


def test_the_page_shows_rows_in_order_and_violations_in_full() -> None:
    """Rows stand by number, 10 behind 9, and each violation is spelled out below."""
    card = Card()
    card.row(10, "ten").violations(["I2: gone"])
    page = markdown(card.merged(data_of(9), FACTS))
    assert page.index("| 9 | fault 9 | 2 | 30 | 0 | ≤ 10.0% |") < page.index("| 10 | ten | 0 | 0 | **1** |  |")
    assert "* 10: I2: gone" in page
    assert "seed 7, 2026-01-31: a CPU, 2 cores" in page


def test_a_row_that_cannot_be_complete_says_so() -> None:
    """Rows that need an isolation level of a later version carry that note."""
    assert "isolation level `process`" in data_of(18)["rows"]["18"]["note"]
    assert data_of(1)["rows"]["1"]["note"] == ""


def test_the_card_is_read_back_as_written(tmp_path: Path) -> None:
    """What is written is what the next session merges into."""
    assert read_card(tmp_path / "fault-card.json") == {}
    write_card(tmp_path, data_of(3))
    assert read_card(tmp_path / "fault-card.json") == data_of(3)
    assert "| 3 | fault 3 |" in (tmp_path / "fault-card.md").read_text()


def test_the_machine_is_named_without_places() -> None:
    """The header has CPU, cores and versions, and nothing that leads to one computer."""
    assert set(machine()) == {"cpu", "cores", "python", "ray", "system"}
    assert not any("/" in value for name, value in machine().items() if name != "cpu")
