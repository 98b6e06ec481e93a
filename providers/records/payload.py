"""The values of a trial: a pure function of run seed, task and trial, the same for every arm."""

from __future__ import annotations

import hashlib
from typing import Final

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


def _digest(task_id: str, trial: int, run_seed: int) -> bytes:
    return hashlib.sha256(f"{run_seed}:{task_id}:{trial}".encode()).digest()


def _seed(digest: bytes) -> int:
    return int.from_bytes(digest[-4:], "big")
