"""The verifier that MockMed offers to its own users: a read-back of the record against the contract.

It shares the pure judging with the oracle and nothing else: it reads by a connection of its own, and its answer is
never used for the score.
"""

from __future__ import annotations

from oracle.effect import EffectJudge
from providers.mockmed.store import SCHEMA, Store
from spec.canonical import JsonObject
from spec.environment import ToolError
from spec.reading import Record, Verdict


class RecordVerifier:
    """One trial's read-back.

    Args:
        store: the record.
        judge: the task's contract, made ready once for all trials.
        params: the trial's values.
    """

    __slots__ = ("_before", "_judge", "_params", "_store")

    def __init__(self, store: Store, judge: EffectJudge, params: JsonObject) -> None:
        self._store: Store | None = store
        self._judge = judge
        self._params = params
        self._before: tuple[Record, ...] | None = None

    async def snapshot(self) -> None:
        """Remember the record as it is now.

        Raises:
            ToolError: the environment is sealed.
        """
        self._before = self._rows()

    async def verify(self) -> Verdict:
        """Whether the effect is there; INDETERMINATE without an earlier ``snapshot``.

        Raises:
            ToolError: the environment is sealed.
        """
        after = self._rows()
        if self._before is None:
            return Verdict.INDETERMINATE
        before, now = {SCHEMA.main_table: self._before}, {SCHEMA.main_table: after}
        return self._judge.verify(self._params, before, now)

    def seal(self) -> None:
        """Refuse every later call and let go of the record."""
        self._store = None
        self._before = None

    def _rows(self) -> tuple[Record, ...]:
        if self._store is None:
            raise ToolError("this environment is sealed")
        return self._store.rows
