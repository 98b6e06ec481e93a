"""The verifiers that the product offers to its own users: read-backs of the record against the contract.

They share the pure judging with the oracle and nothing else: each reads by a connection of its own, and no answer is
ever used for the score. ``rest`` sees the encounters that the API tells; ``sql`` reads encounters and bills from the
database; the default one reads every table of the record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from oracle.effect import EffectJudge
from spec.canonical import JsonObject
from spec.environment import ToolError
from spec.reading import Tables, Verdict

Read = Callable[[], Awaitable[Tables]]


class ReadBack:
    """One trial's read-back.

    Args:
        read: reads what this verifier sees of the record.
        judge: the part of the contract that speaks of it.
        params: the trial's values.
    """

    __slots__ = ("_before", "_judge", "_params", "_read")

    def __init__(self, read: Read, judge: EffectJudge, params: JsonObject) -> None:
        self._read: Read | None = read
        self._judge, self._params = judge, params
        self._before: Tables | None = None

    async def snapshot(self) -> None:
        """Remember the record as it is now.

        Raises:
            ToolError: the environment is sealed.
        """
        self._before = await self._open_read()()

    async def verify(self) -> Verdict:
        """Whether the effect is there; INDETERMINATE without an earlier ``snapshot``.

        Raises:
            ToolError: the environment is sealed.
        """
        after = await self._open_read()()
        return self._judge.verify(self._params, self._before, after)

    def seal(self) -> None:
        """Refuse every later call and let go of the record."""
        self._read = None
        self._before = None

    def _open_read(self) -> Read:
        if self._read is None:
            raise ToolError("this environment is sealed")
        return self._read
