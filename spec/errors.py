"""The one tree of errors that this project raises on purpose.

::

    OrchestratorError            anything below; carries the exit code of the process
    ├── InputError               2   configuration, command line or a file that a user gave
    │   ├── ConfigError          2   the same, with file, line, key and a hint
    │   ├── ConfigErrors         2   all problems of one configuration at once
    │   └── JournalHeadless      2   a journal without its first line: nothing was started
    ├── JournalUnwritable        4   the run directory cannot be written, too little disk included
    ├── RunLocked                5   another process owns the run directory
    ├── JournalDamaged           6   a line in the middle of a journal is not what was written
    ├── RunIncomplete            3   the run ended early; `resume` goes on
    ├── PeerLost                 3   a worker or an oracle is gone; what it was doing is owed
    ├── ConservationBroken      70   planned is no longer the sum of its parts
    └── TrialError                   one trial's attempt could not be carried through; never ends a run
        ├── ProviderFault            the provider or its fixture failed (infrastructure)
        └── ArmFaultError            the arm broke a rule (the arm's own fault; the trial is scored)

Foreign errors are placed in this tree where they enter: Ray's in ``orchestrator.engine.ray_errors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from spec.report import ArmFault


class Interruption(BaseException):
    """Raised where somebody asks the process to end; no error, and nobody's fault."""


def let_interruptions_through(error: BaseException) -> None:
    """Raise ``error`` again where it asks the process to end; for handlers of whatever somebody else's code raises.

    Args:
        error: what was caught.
    """
    if isinstance(error, Interruption | KeyboardInterrupt):
        raise error


class OrchestratorError(Exception):
    """Base of every error raised on purpose; the command line prints it without a traceback."""

    exit_code: ClassVar[int] = 70


class InputError(OrchestratorError):
    """Raised when something that a user gave cannot be used."""

    exit_code = 2


class ConfigError(InputError):
    """Raised when a configuration cannot be used.

    Args:
        message: what is wrong, in one sentence.
        file: the file as the user named it, "" for the command line.
        line: line in the file from 1, or None where no line can be named.
        key: dotted key, as in ``engine.in_flight``.
        hint: what to do instead, such as the nearest valid name.
    """

    def __init__(self, message: str, *, file: str = "", line: int | None = None, key: str = "", hint: str = "") -> None:
        self.message, self.file, self.line, self.key, self.hint = message, file, line, key, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        """``file:line: key: message (hint)`` without the parts that are unknown."""
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        parts = [part for part in (where, self.key, self.message) if part]
        return ": ".join(parts) + (f" ({self.hint})" if self.hint else "")

    @property
    def errors(self) -> tuple[ConfigError, ...]:
        """This error alone, so that it reads like ``ConfigErrors``."""
        return (self,)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep all fields when the error crosses a process border."""
        return _config_error, (self.message, self.file, self.line, self.key, self.hint)


class ConfigErrors(InputError):
    """Raised when a configuration has problems; holds every one of them.

    Args:
        errors: at least one, in the order in which a reader would meet them.
    """

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the errors when they cross a process border."""
        return type(self), (self.errors,)


def _config_error(message: str, file: str, line: int | None, key: str, hint: str) -> ConfigError:
    return ConfigError(message, file=file, line=line, key=key, hint=hint)


class JournalHeadless(InputError):
    """Raised when a journal has no whole head: its run ended before anything was started, so nothing is lost.

    Args:
        path: the journal, which may be removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path}: the run ended before its first line was on the disk, so nothing was started; "
            "remove this file and start the run anew"
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the path when the error crosses a process border."""
        return type(self), (self.path,)


class JournalUnwritable(OrchestratorError):
    """Raised when the run directory cannot be written; nothing after it was acknowledged."""

    exit_code = 4


class RunLocked(OrchestratorError):
    """Raised when another live process holds the lock of a run directory."""

    exit_code = 5


class JournalDamaged(OrchestratorError):
    """Raised when a journal is damaged before its last commit.

    Args:
        path: the journal.
        offset_bytes: where the first line that is not right begins.
        why: what is wrong with that line.
    """

    exit_code = 6

    def __init__(self, path: str, offset_bytes: int, why: str) -> None:
        self.path, self.offset_bytes, self.why = path, offset_bytes, why
        super().__init__(
            f"{path}: damaged at byte {offset_bytes}: {why}. Later lines were committed, so nothing is cut; "
            "restore the file from a copy"
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the fields when the error crosses a process border."""
        return type(self), (self.path, self.offset_bytes, self.why)


class RunIncomplete(OrchestratorError):
    """Raised when a run has to end with trials still owed."""

    exit_code = 3


class PeerLost(OrchestratorError):
    """Raised when a worker or an oracle no longer answers; what it was doing is unknown.

    Args:
        name: which peer.
        why: what was seen.
        sick: given up because too much failed there, so that no arm that ran there is to blame for the end.
    """

    exit_code = 3

    def __init__(self, name: str, why: str, *, sick: bool = False) -> None:
        self.name, self.why, self.sick = name, why, sick
        super().__init__(f"{name} is {'given up' if sick else 'lost'}: {why}")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the fields when the error crosses a process border."""
        return partial(type(self), sick=self.sick), (self.name, self.why)


class ConservationBroken(OrchestratorError):
    """Raised when planned = scored + unreadable + infrastructure + cancelled + owed no longer holds."""

    exit_code = 70


class TrialError(OrchestratorError):
    """Base of what ends one attempt of one trial and never the run."""


class ProviderFault(TrialError):
    """Raised when a provider or a fixture fails: infrastructure, tried again with a fresh fixture."""


class ArmFaultError(TrialError):
    """Raised when an arm breaks a rule; the trial is scored with the fault.

    Args:
        kind: which rule.
        detail: what happened, for the report.
    """

    def __init__(self, kind: ArmFault, detail: str) -> None:
        self.kind, self.detail = kind, detail
        super().__init__(f"{kind.value}: {detail}")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the fields when the error crosses a process border."""
        return type(self), (self.kind, self.detail)
