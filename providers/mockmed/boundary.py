"""What happens between the client's save and the record: the faults.

A fault is data of the fixture, not of the arm: every delivery of a trial meets the same one, so an arm that repeats a
save repeats the fault. The client paints its banner without asking the record, which is how a green screen comes to
stand over a wrong record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from providers.mockmed.store import Encounter, Store
from spec.environment import Screen

_SAVED: Final = Screen(saved=True, banner="Encounter saved")
_NOT_SAVED: Final = Screen(saved=False, banner="Could not save the encounter: the server did not answer")
_SIGNED_OUT: Final = Screen(saved=False, banner="Could not save the encounter: you have been signed out")

_CONFUSED_PATIENT: Final = "p2"


class Boundary(NamedTuple):
    """The way of a save.

    Attributes:
        name: of the fault, for manifests and messages; "none" where there is none.
        receive: what the record makes of one delivery.
        deliveries: how often one save is delivered.
        screen: what the client paints afterwards.
        sends_key: whether the client sends the trial's idempotency key.
    """

    name: str
    receive: Callable[[Store, Encounter], None]
    deliveries: int = 1
    screen: Screen = _SAVED
    sends_key: bool = False

    def deliver(self, store: Store, encounter: Encounter) -> None:
        """Carry one save to the record."""
        for _ in range(self.deliveries):
            self.receive(store, encounter)


def _accept(store: Store, encounter: Encounter) -> None:
    store.add(encounter)


def _drop_note(store: Store, encounter: Encounter) -> None:
    store.add(encounter._replace(note=""))


def _reject(store: Store, encounter: Encounter) -> None:
    """Write nothing."""


def _overwrite(store: Store, encounter: Encounter) -> None:
    store.clear()
    store.add(encounter)


def _accept_once(store: Store, encounter: Encounter) -> None:
    if not store.has_key(encounter.key):
        store.add(encounter)


def _confuse_charts(store: Store, encounter: Encounter) -> None:
    store.add(encounter._replace(patient_id=_CONFUSED_PATIENT))


NONE: Final = Boundary("none", _accept)
NOTE_DROPPED: Final = Boundary("note_dropped", _drop_note)
DUPLICATE: Final = Boundary("duplicate_accepted", _accept, deliveries=2)
TIMEOUT: Final = Boundary("committed_then_timed_out", _accept, screen=_NOT_SAVED)
OPTIMISTIC: Final = Boundary("rejected_after_the_paint", _reject)
SESSION: Final = Boundary("session_expired", _reject, screen=_SIGNED_OUT)
STALE: Final = Boundary("last_write_wins", _overwrite)
DOUBLE: Final = Boundary("click_delivered_twice", _accept, deliveries=2)
IDEMPOTENT: Final = Boundary("duplicate_dropped_on_key", _accept_once, deliveries=2, sends_key=True)
CONFUSED: Final = Boundary("charts_confused", _confuse_charts)
