"""What has to be given back at the end, in the order in which it was taken, backwards; every part is tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from anyio import CancelScope, get_cancelled_exc_class

from spec.errors import ProviderFault
from spec.text import describe

Close = Callable[[], Awaitable[None]]


class Closing:
    """Closes of one trial or one process, told together."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, Close]] = []

    def add(self, what: str, close: Close) -> None:
        """Something was taken.

        Args:
            what: how it is called where it cannot be given back.
            close: gives it back.
        """
        self._parts.append((what, close))

    async def close(self) -> None:
        """Give everything back; a second call does nothing.

        Raises:
            ProviderFault: with every part that could not be given back; the others were.
        """
        problems: list[str] = []
        cancelled: BaseException | None = None
        while self._parts:
            what, close = self._parts.pop()
            try:
                await close()
            except get_cancelled_exc_class() as error:
                cancelled = error
            except Exception as error:  # noqa: BLE001 - the other parts have their turn, and then it is told
                problems.append(describe(error, what))
        if cancelled is not None:
            raise cancelled
        if problems:
            raise ProviderFault(f"not everything could be closed: {'; '.join(problems)}")

    async def undo(self) -> None:
        """Give everything back after a failure that is told already, also where the caller is being cancelled."""
        with CancelScope(shield=True):
            try:
                await self.close()
            except ProviderFault:
                return
