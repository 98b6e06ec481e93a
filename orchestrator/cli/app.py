"""Puts the commands together and gives every one of them the same ends."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any, Final

import click

from orchestrator.cli.audit import audit_command
from orchestrator.cli.doctor import doctor_command
from orchestrator.cli.failures import told
from orchestrator.cli.init import init_command
from orchestrator.cli.interrupts import signals_caught
from orchestrator.cli.list import list_command
from orchestrator.cli.options import SETTINGS, VERBOSE_FLAGS, verbose
from orchestrator.cli.output import answer, failure_answer
from orchestrator.cli.pause import pause_command
from orchestrator.cli.plan import plan_command
from orchestrator.cli.replay import replay_command
from orchestrator.cli.report import report_command
from orchestrator.cli.resume import resume_command
from orchestrator.cli.run import run_command
from orchestrator.cli.set import set_command
from orchestrator.cli.status import status_command
from orchestrator.cli.stop import stop_command
from orchestrator.cli.trial import trial_command
from orchestrator.cli.unpause import unpause_command
from orchestrator.cli.verify import verify_command
from orchestrator.cli.why import why_command
from orchestrator.distribution import DISTRIBUTION, version_of
from orchestrator.loopback import spare_loopback

PROGRAM: Final = "python -m orchestrator"
DEFAULT: Final = "run"
_OWN_OPTIONS: Final = ("-h", "--help", "--version")


class Commands(click.Group):
    """A group whose options, given without a command, are those of ``run``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put ``run`` in front where no command is named."""
        return super().parse_args(ctx, with_default(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is answered with the nearest name."""
        name = args[0]
        if self.get_command(ctx, name) is None:
            near = difflib.get_close_matches(name, list(self.commands), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(self.commands)}"
            raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


def with_default(args: Sequence[str]) -> list[str]:
    """The arguments with ``run`` in front, where they begin with an option that is not the program's own."""
    place = next((place for place, word in enumerate(args) if word not in VERBOSE_FLAGS), len(args))
    rest = list(args[place:])
    if rest and rest[0].startswith("-") and rest[0] not in _OWN_OPTIONS:
        return [DEFAULT, *args]
    return list(args)


def command_of(args: Sequence[str]) -> str:
    """The command that the arguments name."""
    return next((word for word in with_default(args) if word not in VERBOSE_FLAGS), "")


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        answer(f"{DISTRIBUTION} {version_of(DISTRIBUTION) or '(not installed)'}")
        ctx.exit()


@click.group(
    cls=Commands, context_settings=SETTINGS, subcommand_metavar="[COMMAND] [ARGS]...", invoke_without_command=True
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Say which this is."
)
@verbose
@click.pass_context
def program(ctx: click.Context) -> None:
    """Measure how often an agent's "done" is not true. Without a command: run."""
    if ctx.invoked_subcommand is None:
        raise click.UsageError("neither a command nor --config FILE is given", ctx)


for _command in (
    run_command,
    plan_command,
    audit_command,
    resume_command,
    status_command,
    why_command,
    pause_command,
    unpause_command,
    stop_command,
    set_command,
    report_command,
    verify_command,
    replay_command,
    trial_command,
    list_command,
    init_command,
    doctor_command,
):
    program.add_command(_command)


def run_program(args: Sequence[str]) -> int:
    """Carry a command line out.

    Args:
        args: the words behind the program's name.

    Returns:
        The exit code.
    """
    spare_loopback(os.environ)
    try:
        with signals_caught():
            done: Any = program.main(list(args), prog_name=PROGRAM, standalone_mode=False)
    except BaseException as error:  # noqa: BLE001 - every end of a command has its line and its exit code
        failure = told(error, verbose=not set(VERBOSE_FLAGS).isdisjoint(args))
        if "--json" in args:
            answer(failure_answer(command_of(args), failure.exit_code, failure.error).decode())
        return failure.exit_code
    return done if isinstance(done, int) else 0
