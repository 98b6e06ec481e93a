"""The effective configuration as a file: complete, so that a run can be repeated from it alone.

It is TOML with every key of the version that wrote it, defaults included. A text with an environment variable keeps
``${NAME}``; the variable's value is in no file.
"""

from __future__ import annotations

from collections.abc import Mapping

import tomli_w

from orchestrator.config.model import RunConfig


def effective_toml(config: RunConfig) -> str:
    """The text of ``run.toml``; reading it gives an equal configuration."""
    body = {name: _tidy(value) for name, value in config.written().items()}
    return tomli_w.dumps(body)


def _tidy(value: object) -> object:
    """Whole seconds without a fraction, as people write them; an arm's or provider's own options stay untouched."""
    if isinstance(value, Mapping):
        return {name: item if name == "options" else _tidy(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
