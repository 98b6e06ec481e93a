"""The values of a trial: a pure function of run seed, task and trial, the same for every arm."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from providers.records.draws import Draws
from providers.records.scripts import NAME_SCRIPTS, Script, person, prose
from spec.trial import Payload

TAG_CHARS: Final = 12
_CLINICIANS: Final = ("Dr. Zoë Żak", "Dr. Amélie Nuñez", "Dr. Øyvind Håkonsen", "Dr. Ines Okoro")
_FINDINGS: Final = (
    "alert and oriented",
    "pain four of ten",
    "no known allergies",
    "blood pressure taken twice",
    "walks without help",
    "appetite unchanged",
    "sleeps through the night",
    "asked to come back in ten days",
)

_ZONES: Final = ("Z", "+00:00", "+01:00", "+05:30", "+05:45", "+09:00", "+12:45", "-03:30", "-08:00")
_EPOCH: Final = datetime(2024, 1, 1)
_SECONDS: Final = 3 * 365 * 86_400
_NOTE_CHARS: Final = (260, 520)
"""How long a generated note is, about: longer than what is kept of a cut one, whatever its fault."""
_GENERATED_TAG_CHARS: Final = 16


class Contents(NamedTuple):
    """What a generated task asks an encounter to hold.

    Attributes:
        notes: the script of its notes.
        timed: it has a time.
        weighed: it has a body weight.
    """

    notes: Script
    timed: bool
    weighed: bool


def ladder_payload(task_id: str, trial: int, run_seed: int) -> Payload:
    """A note and a key."""
    digest = _digest(task_id, trial, run_seed)
    tag = digest.hex()[:TAG_CHARS]
    return Payload(_seed(digest), {"note": f"triage note {tag}", "record_key": f"key-{tag}"})


def variants_payload(task_id: str, trial: int, run_seed: int) -> Payload:
    """A long note, a clinician, a time with its zone and a weight with two decimals."""
    digest = _digest(task_id, trial, run_seed)
    tag = digest.hex()[:TAG_CHARS]
    order = sorted(_FINDINGS * 2, key=lambda finding: hashlib.sha256(digest + finding.encode()).digest())
    day, hour, minute = 1 + digest[12] % 28, digest[13] % 24, digest[14] % 60
    return Payload(
        _seed(digest),
        {
            "note": f"triage note {tag}: {'; '.join(order)}; end {tag}",
            "record_key": f"key-{tag}",
            "clinician": _CLINICIANS[digest[15] % len(_CLINICIANS)],
            "seen_at": f"2026-01-{day:02}T{hour:02}:{minute:02}:00+05:30",
            "weight_kg": f"{45 + digest[16] % 60}.{digest[17] % 10}{1 + digest[18] % 9}",
        },
    )


def generated_payload(contents: Contents, task_id: str, trial: int, run_seed: int) -> Payload:
    """A note in the task's script, a clinician, and what else the task asks for.

    The note has a tag at both ends, and in it letters that a trigger can turn into capitals, whatever the script.
    """
    digest = _digest(task_id, trial, run_seed)
    draws, tag = Draws(digest.hex()), f"ref-{digest.hex()[:_GENERATED_TAG_CHARS]}"
    params = {
        "note": f"{tag} {prose(draws, contents.notes, draws.between(*_NOTE_CHARS))} {tag}",
        "record_key": f"key-{tag}",
        "clinician": f"Dr. {person(draws, draws.pick(NAME_SCRIPTS))}",
    }
    if contents.timed:
        params["seen_at"] = moment(draws)
    if contents.weighed:
        # The last digit is never 0, so that rounding changes the number.
        params["weight_kg"] = f"{draws.between(2, 180)}.{draws.below(10)}{draws.between(1, 9)}"
    return Payload(_seed(digest), params)


def moment(draws: Draws) -> str:
    """A time with its zone, ISO 8601 to the second."""
    return (_EPOCH + timedelta(seconds=draws.below(_SECONDS))).isoformat() + draws.pick(_ZONES)


def _digest(task_id: str, trial: int, run_seed: int) -> bytes:
    return hashlib.sha256(f"{run_seed}:{task_id}:{trial}".encode()).digest()


def _seed(digest: bytes) -> int:
    return int.from_bytes(digest[-4:], "big")
