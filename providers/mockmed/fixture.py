"""One trial's fresh record with the client in front of it."""

from __future__ import annotations

from oracle.effect import EffectJudge
from providers.mockmed.back_door import StoreBackDoor
from providers.mockmed.client import Client
from providers.mockmed.environment import MockMedEnvironment
from providers.mockmed.pack import Wiring
from providers.mockmed.store import Store
from providers.mockmed.verifier import RecordVerifier
from spec.reading import ReadPath
from spec.trial import Payload


class MockMedFixture:
    """A record in memory, seeded for one trial; opening and closing one costs microseconds and never waits.

    Args:
        wiring: the surroundings of the save and what happens to it.
        judge: what the product's verifier judges by, or None where the task's effect is undeclared.
        payload: the trial's values.
    """

    __slots__ = ("_environment", "_store")

    def __init__(self, wiring: Wiring, judge: EffectJudge | None, payload: Payload) -> None:
        desk, boundary = wiring
        params = payload.params
        store = Store(desk.seeded)
        verifier = None if judge is None else RecordVerifier(store, judge, params)
        client = Client(desk, boundary, store, str(params["note"]), str(params["record_key"]))
        self._store = store
        self._environment = MockMedEnvironment(client, verifier)

    @property
    def environment(self) -> MockMedEnvironment:
        """The only part that an arm gets, through a proxy."""
        return self._environment

    @property
    def back_door(self) -> StoreBackDoor:
        """For an audit of the oracle."""
        return StoreBackDoor(self._store, self._environment)

    @property
    def read_path(self) -> ReadPath:
        """A snapshot of this worker's memory: one reading is the truth."""
        return ReadPath("snapshot", final=True, where={})

    def snapshot(self) -> bytes:
        """The whole record as JSON, from frozen rows: safe from any thread."""
        return self._store.snapshot()

    def seal(self) -> None:
        """Refuse every further request of the arm, at once."""
        self._environment.seal()

    async def close(self) -> None:
        """Seal; the memory goes with the object."""
        self._environment.seal()
