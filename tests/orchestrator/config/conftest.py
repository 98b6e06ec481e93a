"""What the tests of the configuration share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config import LoadedConfig, load_config
from spec.errors import ConfigError, ConfigErrors


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., LoadedConfig]:
    """Load a TOML text, written to ``run.toml`` in a folder of its own."""

    def loader(text: str, **arguments: Any) -> LoadedConfig:
        path = tmp_path / "run.toml"
        path.write_text(text, encoding="utf-8")
        return load_config(path, **{"environ": {}, **arguments})

    return loader


@pytest.fixture
def refused(load: Callable[..., LoadedConfig]) -> Callable[..., tuple[ConfigError, ...]]:
    """The errors with which a TOML text is refused."""

    def refuse(text: str, **arguments: Any) -> tuple[ConfigError, ...]:
        with pytest.raises(ConfigErrors) as caught:
            load(text, **arguments)
        return caught.value.errors

    return refuse
