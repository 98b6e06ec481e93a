"""``audit`` says what got through, keeps what it found, and ends as other commands do."""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson
import pytest

from orchestrator.__main__ import main
from orchestrator.audit import read_document

HERE = Path(__file__).parent
LEAKY = HERE.parent / "audit"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A copy of the reference configuration, so that its audit may lie beside it."""
    return Path(shutil.copy(HERE.parents[2] / "configs" / "reference.toml", tmp_path / "mine.toml"))


def test_a_sound_provider_passes(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """All tasks pass: exit 0, a line for each, every attack in the legend, and the file beside the configuration."""
    assert main(["audit", "--config", str(config)]) == 0
    told = capfd.readouterr()
    assert "9 of 9 tasks have passed" in told.out
    assert told.out.count("  passed") == 9
    assert told.err.startswith("attacking the oracles of 9 tasks")
    legend = [line for line in told.out.splitlines() if "as it should be" in line or "could not be tried" in line]
    assert all(len(line) <= 100 for line in legend)
    assert "h prior_trial" in told.out
    assert "not applicable: late_duplicate (9 of 9 tasks): the read path is final" in told.out
    document = read_document(config.with_name("mine.audit.json"))
    assert str(config.with_name("mine.audit.json")) in told.err
    assert all(entry.passed for entry in document.tasks)


def test_json_has_every_attack(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With --json one object holds exit, error and each attack with its result and reason."""
    assert main(["audit", "--config", str(config), "--json", "--task", "*stale"]) == 0
    told = orjson.loads(capfd.readouterr().out)
    assert (told["exit"], told["error"], told["passed"], told["file"]) == (0, None, 1, None)
    attacks = told["tasks"]["mockmed::stale"]["attacks"]
    assert {"attack": "phantom", "target": "", "result": "caught"}.items() <= attacks[1].items()
    assert not config.with_name("mine.audit.json").exists()


def test_a_part_is_kept_where_it_is_asked_for(config: Path, tmp_path: Path) -> None:
    """With --limit only -o FILE is written, so that no whole audit is replaced by a part."""
    assert main(["audit", "--config", str(config), "--limit", "2", "-o", str(tmp_path / "part.json")]) == 0
    assert len(read_document(tmp_path / "part.json").tasks) == 2
    assert not config.with_name("mine.audit.json").exists()


def test_what_gets_through_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An attack that gets through ends with 1, is named with its task, and its file says that it has not passed."""
    leak = "provider.options.leak='ignores other tables'"
    file = tmp_path / "leaky.json"
    assert main(["audit", "--config", str(LEAKY / "leaky.toml"), "--set", leak, "-o", str(file)]) == 1
    told = capfd.readouterr().out
    assert "clinic::save: collateral_write:billing: got through:" in told
    assert "NOT PASSED" in told
    assert "0 of 1 tasks have passed" in told
    assert not read_document(file).tasks[0].passed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--set", "provider.options.leak='has no back door'"], "has no back_door"),
        (["--set", "run.trial=1"], "trial"),
        (["--task", "nothing*"], "nothing*"),
        (["-o", "no/such/folder/file.json"], "no such folder"),
    ],
)
def test_bad_input_ends_with_2(capfd: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """A configuration that cannot be audited is one sentence and exit 2, never a traceback."""
    given = arguments if "--config" in arguments else ["--config", str(LEAKY / "leaky.toml"), *arguments]
    assert main(["audit", *given]) == 2
    told = capfd.readouterr()
    assert message in told.err
    assert "Traceback" not in told.err
    assert not (LEAKY / "leaky.audit.json").exists()
