"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Every command's context settings."""

INLINE: Final = "engine.kind=inline"
"""What ``--inline`` stands for."""

VERBOSE_FLAGS: Final = ("-v", "--verbose")

_VERBOSE_KEY: Final = "orchestrator.verbose"


def _note_verbose(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[_VERBOSE_KEY] = True


def is_verbose() -> bool:
    """Whether the running command was given ``-v``."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_VERBOSE_KEY))


as_json: Final = click.option("--json", "as_json", is_flag=True, help="Answer with one line of JSON.")
quiet: Final = click.option("--quiet", is_flag=True, help="Say nothing but errors.")
inline: Final = click.option("--inline", is_flag=True, help="Run in this process, without Ray.")
sets: Final = click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set a key, as in run.trials=3; repeatable."
)
verbose: Final = click.option(
    *VERBOSE_FLAGS,
    is_flag=True,
    expose_value=False,
    callback=_note_verbose,
    help="Show the traceback of an internal error.",
)
retry: Final = click.option(
    "--retry", default="", metavar="unreadable,infrastructure", help="Owe trials that ended so again."
)
run_dir: Final = click.argument("run_dir", type=click.Path(path_type=Path))
key: Final = click.argument("key")


def config_options(command: Command, *, required: bool = True) -> Command:
    """The options that choose a configuration and narrow it."""
    options: list[Decorator[Command]] = [
        click.option("--config", required=required, type=click.Path(path_type=Path), help="The TOML file."),
        inline,
        sets,
        click.option("--limit", type=int, help="Only the first N tasks."),
        click.option("--task", "tasks", multiple=True, metavar="GLOB", help="Only tasks that match; repeatable."),
        click.option("--arm", "arms", multiple=True, metavar="NAME", help="Only this arm; repeatable."),
        click.option("--split", metavar="dev|test|all", help="This part of the pack."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def words(text: str) -> list[str]:
    """The words of a list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def all_sets(sets: tuple[str, ...], inline: bool) -> tuple[str, ...]:
    """What ``--set`` and ``--inline`` set, the latter last."""
    return (*sets, INLINE) if inline else sets
