"""The JSON Schema of the configuration, for editors and other tools.

``orchestrator/schemas/config.schema.json`` is ``config_schema_bytes()``, written down. It says what JSON Schema can
say; rules such as the form of an address are checked only on loading.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchestrator.config.model import RunConfig

SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def config_schema() -> dict[str, Any]:
    """The schema of the TOML file's values."""
    body = RunConfig.model_json_schema(mode="validation")
    return {"$schema": SCHEMA_DIALECT, **body, "title": "Configuration of a run"}


def config_schema_bytes() -> bytes:
    """The schema as the shipped file has it."""
    return orjson.dumps(config_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"
