from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import pytest

import orchestrator
from orchestrator.config.schema import config_schema, config_schema_bytes

ROOT = Path(orchestrator.__file__).parent


def test_the_shipped_schema_is_the_models() -> None:
    """The file is what config_schema_bytes() gives; write that into it after a change."""
    assert (ROOT / "schemas" / "config.schema.json").read_bytes() == config_schema_bytes()


def test_the_schema_takes_what_ships_and_refuses_an_unknown_key() -> None:
    """Every shipped configuration is valid under it; a misspelt key is not."""
    validator = jsonschema.Draft202012Validator(config_schema())
    validator.check_schema(config_schema())
    files = sorted((ROOT.parent / "configs").glob("*.toml"))
    assert files
    for file in files:
        validator.validate(tomllib.loads(file.read_text(encoding="utf-8")))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"run": {"trails": 1}, "arms": [{"name": "a"}]})


def test_every_key_is_described() -> None:
    """An editor has a sentence for each key of each table."""
    for table in config_schema()["$defs"].values():
        assert all(key.get("description") for key in table["properties"].values()), table["title"]
