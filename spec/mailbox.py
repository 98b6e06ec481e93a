"""Messages that pile up until somebody takes them all: the coalescing end of every hop.

A hop carries batches. What is put while the last batch is on its way leaves with the next one, so a fast run sends few
large batches and a slow run sends each message at once.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import anyio

Message = TypeVar("Message")


class Mailbox(Generic[Message]):
    """A box with one reader; what comes out keeps its order.

    Its content is bounded by the senders: no trial has more than a few messages on their way at once.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._sleeper: anyio.Event | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether nothing more will come."""
        return self._closed

    def put(self, message: Message) -> None:
        """Add a message and wake the reader."""
        self._messages.append(message)
        if self._sleeper is not None:
            self._wake()

    def close(self) -> None:
        """Let the reader take what is left, then nothing more."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._sleeper is not None:
            self._sleeper.set()
            self._sleeper = None

    async def take_all(self, coalesce_s: float = 0.0) -> list[Message]:
        """Everything that has arrived, at least one message, or an empty list once closed.

        Args:
            coalesce_s: seconds to wait after the first message for more to join it.
        """
        while not self._messages and not self._closed:
            self._sleeper = anyio.Event()
            await self._sleeper.wait()
        if coalesce_s and not self._closed:
            await anyio.sleep(coalesce_s)
        taken, self._messages = self._messages, []
        return taken
