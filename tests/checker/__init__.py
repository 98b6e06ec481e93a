"""Judges a run from its files alone.

It shares no code with what it judges: standard library and a JSON reader, nothing of the project. What it knows are the
published formats, read anew. So a mistake in the engine's own reading of a journal cannot hide itself here.

=====  ==========================================================================================================
I1     each planned key has exactly one final line, no other key has one, and as many are owed as the caller says
I2     the journal's chain is whole, its commits are right, and what was acknowledged before is still there
I3     seed, task, arm and trial of each row are the plan's; the attempts of a key rise by one
I4     a verdict stands on a reading; every other end says which and why; ``episodes.jsonl`` has every scored row
I5     the results are those of an undisturbed run, and their digest is that of the rows
I6     no process of the run is alive
I7     the exit code is the documented one
I8     the canary that was planted in the ground truth is in no file of the run
=====  ==========================================================================================================

``python -m tests.checker RUN_DIR`` prints what is violated.
"""

from __future__ import annotations

from tests.checker.judge import check
from tests.checker.violation import Violation

__all__ = ["Violation", "check"]
