"""A run's configuration: the one TOML file, checked, as frozen values."""

from orchestrator.config.changes import Change, Changes, classify_changes, plan_config_part
from orchestrator.config.load import FILE_BYTES_MAX, LoadedConfig, Narrowing, config_from_mapping, load_config
from orchestrator.config.model import (
    FORMAT,
    TRIALS_MAX,
    ArmTable,
    EngineTable,
    LimitsTable,
    OracleTable,
    ProviderTable,
    RunConfig,
    RunTable,
)
from orchestrator.config.schema import config_schema
from orchestrator.config.selection import Chosen, choose_tasks

__all__ = [
    "FILE_BYTES_MAX",
    "FORMAT",
    "TRIALS_MAX",
    "ArmTable",
    "Change",
    "Changes",
    "Chosen",
    "EngineTable",
    "LimitsTable",
    "LoadedConfig",
    "Narrowing",
    "OracleTable",
    "ProviderTable",
    "RunConfig",
    "RunTable",
    "choose_tasks",
    "classify_changes",
    "config_from_mapping",
    "config_schema",
    "load_config",
    "plan_config_part",
]
