"""The first files: complete, checked, and never in the way of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.config import load_config
from orchestrator.starter import AGENT, CONFIG, write_starter
from spec.errors import InputError, JournalUnwritable


def test_the_configuration_is_one(tmp_path: Path) -> None:
    """What is written is read back as a configuration with a comparison and the agent."""
    assert write_starter(tmp_path / "deep" / "new") == [tmp_path / "deep" / "new" / name for name in (CONFIG, AGENT)]
    config = load_config(tmp_path / "deep" / "new" / CONFIG, environ={}).config
    assert [arm.name for arm in config.arms] == ["screen_only", "my_agent"]
    assert config.engine.kind == "inline"
    compile((tmp_path / "deep" / "new" / AGENT).read_text(), AGENT, "exec")


@pytest.mark.parametrize("name", [CONFIG, AGENT])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    """One file of the name, even a link to nowhere, and neither is written."""
    (tmp_path / name).symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="nothing is overwritten"):
        write_starter(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """A file where a directory should be is told as such."""
    (tmp_path / "file").touch()
    with pytest.raises(JournalUnwritable, match="cannot be written"):
        write_starter(tmp_path / "file" / "new")
