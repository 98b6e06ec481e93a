"""What a provider is: it lists tasks, opens a fresh fixture for a trial, and says where the record can be read.

A provider never reads its record for the score: it hands out a ``ReadPath`` (data), and the oracle opens it.
A provider object is made anew in every process that needs one, from the same options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from spec.canonical import JsonObject
from spec.environment import EnvironmentBackend
from spec.reading import ReadPath, RecordSchema
from spec.task import Task
from spec.trial import Payload


class BackDoor(Protocol):
    """Writes to a fixture's record around its application, as an attacker with the record's own credentials could.

    Only an audit of the oracle uses it, never an arm and never a score. A fixture that has one offers it as
    ``back_door``; the attribute is optional, and without it no task of the provider can be audited. It works before
    and after the environment is sealed, until the fixture is closed.
    """

    async def tables(self) -> Sequence[str]:
        """Every table that it can write to, the provider's own bookkeeping included, whatever the oracle reads."""

    async def insert(self, table: str, record: JsonObject) -> None:
        """Add a record as it stands.

        An id that it does not have, and any field without which the record system would refuse it, is filled in with
        a value of its own; a field that the table does not have is left out.

        Raises:
            spec.errors.ProviderFault: the record system refuses it.
        """

    async def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Change fields in place in every record that has all of ``match``; answers how many there were."""

    async def delete(self, table: str, match: JsonObject) -> int:
        """Remove every record that has all of ``match``; answers how many there were."""

    async def reach(self) -> Sequence[str]:
        """Try, with nothing but what the environment gives an arm, to read by the oracle's path and to write its audit.

        Answers one sentence for each attempt that succeeded; empty where the path is out of the arm's reach.
        """


@runtime_checkable
class Fixture(Protocol):
    """One fresh system of record, seeded for one trial."""

    @property
    def environment(self) -> EnvironmentBackend:
        """The only part that an arm gets, through a proxy."""

    @property
    def read_path(self) -> ReadPath:
        """Where the record can be read; for channel ``snapshot`` the engine adds the place itself."""

    def snapshot(self) -> bytes:
        """The whole record as JSON (``spec.reading.Tables``); only for channel ``snapshot``.

        Called from another thread than the fixture's: it must not touch the event loop.
        """

    def seal(self) -> None:
        """Refuse every further request of the arm, at once."""

    async def close(self) -> None:
        """Give back everything that the fixture holds."""


@runtime_checkable
class Provider(Protocol):
    """A system of record with its tasks.

    Made by calling the configured factory as ``factory(pack=..., split=..., options=...)``; one that has a parameter
    ``folder`` besides gets the configuration's folder as a ``Path``, which is shipped to other machines with it.
    Optional besides: ``read_credentials``, a sequence of names of environment variables with which the oracle reads the
    record; ``check()``, which looks at what a run would meet, before it, and raises ``ConfigErrors``.
    """

    @property
    def name(self) -> str:
        """Short name, as in reports."""

    @property
    def version(self) -> str:
        """Changes whenever tasks or fixtures change their meaning."""

    @property
    def schema(self) -> RecordSchema:
        """How the judge tells rows apart."""

    def tasks(self) -> Sequence[Task]:
        """The tasks of the chosen pack and split, in the pack's order."""

    def payload(self, task: Task, trial: int, run_seed: int) -> Payload:
        """The trial's seed and parameters: a pure function, the same for every arm."""

    async def open(self, task: Task, payload: Payload) -> Fixture:
        """Open a fresh fixture.

        Raises:
            spec.errors.ProviderFault: it cannot be opened; any other exception counts the same.
        """

    def manifest(self) -> JsonObject:
        """The public manifest of the pack; withholds goal, wiring and payload of the test split."""

    async def close(self) -> None:
        """Give back what the provider holds across fixtures; called once in each worker, behind the last of them."""
