"""What a worker needs for its fixtures, started when the first of them is opened: service, storage, connection."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

import anyio

from providers.records.connection import Connection
from providers.records.fixture import Desk
from providers.records.leases import Base
from providers.records.process import ServiceProcess, start_service
from providers.records.storage import Storage
from spec.errors import ProviderFault


class WorkerDesk:
    """Starts the service once, and starts it anew where it has died.

    Args:
        make_storage: makes the storage for the directory that is shared with the service.
    """

    def __init__(self, make_storage: Callable[[Base], Storage]) -> None:
        self._make_storage = make_storage
        self._starting = anyio.Lock()
        self._service: ServiceProcess | None = None
        self._desk: Desk | None = None

    @property
    def service(self) -> ServiceProcess | None:
        """The running service, or None where none was needed yet."""
        return self._service

    async def open(self) -> tuple[Desk, ServiceProcess]:
        """The desk, with a service that runs.

        Raises:
            ProviderFault: the service does not come up, or has ended.
        """
        async with self._starting:
            if self._service is not None and self._service.ended:
                await self.close()
                raise ProviderFault("the record service has ended; the next trial starts another one")
            if self._service is None or self._desk is None:
                self._service = service = await start_service()
                try:
                    self._desk = Desk(service.base, self._make_storage(service.base), Connection(service.url))
                except BaseException:
                    await self.close()
                    raise
            return self._desk, self._service

    async def close(self) -> None:
        """Give everything back; a second time does nothing."""
        desk, self._desk = self._desk, None
        service, self._service = self._service, None
        async with AsyncExitStack() as closing:  # each has its turn, whatever the others raise
            if service is not None:
                closing.push_async_callback(service.close)
            if desk is not None:
                closing.push_async_callback(desk.storage.close)
                closing.push_async_callback(desk.connection.close)
