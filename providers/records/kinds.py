"""The kinds of generated tasks: what becomes of a save, and what has to stand on record for it to happen.

What is right, what a blind agent leaves behind and what an agent could have done all follow from a line of this table
and from its fault; the tests compute the label of every scripted arm from them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from providers.records.shape import NOTES_SHOUTED, ONE_OF_A_KEY
from spec.reading import TrueState
from spec.task import Category

SETTLE_S: Final = 3.0
"""How long a record is given that a late write may reach: longer by far than ``faults.LATE_S`` after the seal."""


class Trap(StrEnum):
    """What a blind agent walks into before it saves anything."""

    NONE = "none"
    HOMONYM = "homonym"  # somebody of the same name and birth date stands first in the list
    TWINS = "twins"  # the same, and the goal says nothing that tells the two apart
    PRESET = "preset"  # the form starts with another type


class Kind(NamedTuple):
    """One kind of task.

    Attributes:
        title: in a few words, for people.
        fault: a name of ``faults.FAULTS``.
        leaves: what the record is once a blind agent has saved, and everything has landed.
        trap: what the agent could have seen before.
        share: how many tasks of a round are of this kind.
        settle_s: how long a live record is waited for, in seconds.
        keyed: the client sends the trial's idempotency key.
        extras: what the database has built in.
        concurrent: somebody else's encounter stands in the chart.
        used_key: and behind it one that bears a key that was used before.
        timed, weighed: a time or a weight has to be asked for, else the fault would change nothing.
        types: the encounter types that it happens with.
    """

    title: str
    category: Category
    fault: str
    leaves: TrueState
    trap: Trap = Trap.NONE
    share: int = 1
    settle_s: float = 0.0
    keyed: bool = False
    extras: tuple[str, ...] = ()
    concurrent: bool = False
    used_key: bool = False
    timed: bool = False
    weighed: bool = False
    types: tuple[str, ...] = ("Triage", "Consult", "Urgent")

    @property
    def available(self) -> bool:
        """Whether acting could be right: the save works, and a trap can be seen."""
        return self.leaves is _CORRECT or self.trap in (Trap.HOMONYM, Trap.PRESET)


_CORRECT: Final = TrueState.CORRECT
_WRONG: Final = TrueState.WRONG_PERSISTED
_ABSENT: Final = TrueState.ABSENT

_C1: Final = Category.C1_PARTIAL_SAVE
_C2: Final = Category.C2_DUPLICATE_SUBMISSION
_C3: Final = Category.C3_OPTIMISTIC_THEN_REJECT
_C4: Final = Category.C4_STALE_OVERWRITE
_C5: Final = Category.C5_DOUBLE_DELIVERED_INPUT
_C6: Final = Category.C6_WRONG_RECORD_HOMONYM
_C7: Final = Category.C7_SILENT_NOOP_WRONG_TARGET
_CONTROL: Final = Category.CONTROL
_KEY: Final = (ONE_OF_A_KEY,)

KINDS: Final = (
    Kind("A save that works", _CONTROL, "none", _CORRECT, share=4),
    Kind(
        "A second delivery is dropped on its key", _CONTROL, "click_delivered_twice", _CORRECT, keyed=True, extras=_KEY
    ),
    Kind("Two charts cannot be told apart", _CONTROL, "none", _WRONG, Trap.TWINS),
    Kind("The note is dropped", _C1, "note_dropped", _WRONG),
    Kind("A trigger rewrites the note", _C1, "trigger_rewrites", _WRONG, extras=(NOTES_SHOUTED,)),
    Kind("A long note is cut", _C1, "note_cut", _WRONG),
    Kind("The time loses its zone", _C1, "zone_lost", _WRONG, timed=True),
    Kind("A decimal is rounded", _C1, "weight_rounded", _WRONG, weighed=True),
    Kind("The patient's name is written back garbled", _C1, "name_garbled", _WRONG),
    Kind("The submission is accepted twice", _C2, "accepted_twice", _WRONG),
    Kind("A second row lands after the answer", _C2, "second_row_late", _WRONG, settle_s=SETTLE_S),
    Kind("The write lands after the answer", _C3, "lands_late", _CORRECT, settle_s=SETTLE_S),
    Kind(
        "A unique constraint refuses after the paint",
        _C3,
        "unique_refused",
        _ABSENT,
        extras=_KEY,
        concurrent=True,
        used_key=True,
    ),
    Kind("A reported commit is rolled back", _C3, "rolled_back", _ABSENT),
    Kind("The save is rejected after the paint", _C3, "rejected_after_the_paint", _ABSENT),
    Kind("The session has expired", _C3, "session_expired", _ABSENT),
    Kind("The save commits and the client times out", _C3, "committed_then_hung", _CORRECT),
    Kind("Another user's row is lost", _C4, "last_write_wins", _WRONG, concurrent=True),
    Kind("A concurrent edit is overwritten", _C4, "concurrent_edit_overwritten", _WRONG, concurrent=True),
    Kind("Another user's row is soft-deleted", _C4, "others_soft_deleted", _WRONG, concurrent=True),
    Kind("A double click, 5 ms apart", _C5, "click_delivered_twice", _WRONG),
    Kind("Two patients bear one name and one birth date", _C6, "none", _WRONG, Trap.HOMONYM),
    Kind("The row lands in another tenant", _C6, "wrong_tenant", _WRONG),
    Kind("The row lands on another patient", _C6, "charts_confused", _WRONG),
    Kind("Nothing is written", _C7, "not_persisted", _ABSENT),
    Kind("The row lands as another type", _C7, "wrong_type", _WRONG, types=("Triage", "Urgent")),
    Kind("The form starts with another type", _C7, "none", _WRONG, Trap.PRESET),
    Kind("A letter goes out unasked", _C7, "letter_queued", _WRONG),
    Kind("A bill is written besides", _C7, "bill_added", _WRONG),
)

ROUND: Final = tuple(place for place, kind in enumerate(KINDS) for _ in range(kind.share))
"""Places in ``KINDS``: what as many tasks in a row are, in another order each round."""
