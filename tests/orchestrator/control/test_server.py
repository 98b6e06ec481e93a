"""The run's end of its control."""

from __future__ import annotations

import errno
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from orchestrator.control.place import linked_socket
from orchestrator.control.protocol import REQUEST_BYTES_MAX, Answer, Command, Request, read_answer, to_line
from orchestrator.control.server import CONNECTIONS_MAX, serve_control
from spec.clock import Clock

REQUEST = to_line(Command(run="1:2", do="pause"))


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def agree(request: Request) -> Answer:
    return Answer(done=True, text=request.do)


def not_told(text: str) -> None:
    raise AssertionError(text)


async def served(
    clock: Clock,
    run_dir: Path,
    work: Callable[[Path], Awaitable[None]],
    answer: Callable[[Request], Awaitable[Answer]] = agree,
) -> None:
    """Work with a server, by the path of its socket."""
    places: list[Path] = []
    async with anyio.create_task_group() as tasks:

        async def serve() -> None:
            await serve_control(run_dir, answer, clock=clock, notice=not_told)

        tasks.start_soon(serve)
        await anyio.wait_all_tasks_blocked()
        path = linked_socket(run_dir)
        assert path is not None
        places.append(path)
        await work(path)
        tasks.cancel_scope.cancel()
    assert linked_socket(run_dir) is None
    assert not places[0].parent.exists()


async def all_of(connection: SocketStream) -> bytes:
    """What comes until the other end closes."""
    found = b""
    try:
        while True:
            found += await connection.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return found


async def ask(path: Path, data: bytes) -> Answer | None:
    async with await anyio.connect_unix(path) as connection:
        await connection.send(data)
        return read_answer(await all_of(connection))


@pytest.mark.anyio
async def test_one_request_one_answer_and_a_private_socket(clock: Clock, tmp_path: Path) -> None:
    """The socket is 0600 in a directory of 0700, a request in pieces is one request, and what follows is not read."""

    async def work(path: Path) -> None:
        assert (mode_of(path), mode_of(path.parent)) == (0o600, 0o700)
        async with await anyio.connect_unix(path) as connection:
            for place in range(len(REQUEST)):
                await connection.send(REQUEST[place : place + 1])
            assert read_answer(await all_of(connection)) == Answer(done=True, text="pause")
        assert await ask(path, REQUEST * 3) == Answer(done=True, text="pause")

    await served(clock, tmp_path, work)


@pytest.mark.anyio
async def test_what_is_no_request_is_answered_or_dropped(clock: Clock, tmp_path: Path) -> None:
    """A wrong line is refused; one that is too long, breaks off or never comes is dropped; the server goes on."""

    async def work(path: Path) -> None:
        refused = await ask(path, b"GET / HTTP/1.1\n")
        assert refused is not None
        assert not refused.done
        assert await ask(path, b"x" * (REQUEST_BYTES_MAX + 1)) is None
        async with await anyio.connect_unix(path) as connection:
            await connection.send(b'{"half":')
            await connection.send_eof()
            assert await all_of(connection) == b""
        async with await anyio.connect_unix(path) as connection:  # says nothing; the clock jumps over the bound
            assert await all_of(connection) == b""
        await (await anyio.connect_unix(path)).aclose()
        assert await ask(path, REQUEST) == Answer(done=True, text="pause")

    await served(clock, tmp_path, work)


@pytest.mark.anyio
async def test_surplus_terminals_are_told_so(clock: Clock, tmp_path: Path) -> None:
    """Beyond the bound a connection is refused at once, and there is room again when others have gone."""

    async def work(path: Path) -> None:
        idle = [await anyio.connect_unix(path) for _ in range(CONNECTIONS_MAX)]
        await anyio.wait_all_tasks_blocked()
        async with await anyio.connect_unix(path) as connection:
            told = read_answer(await all_of(connection))
        assert told is not None
        assert (told.done, told.hint) == (False, "try again")
        for connection in idle:
            await connection.aclose()
        await anyio.wait_all_tasks_blocked()
        assert await ask(path, REQUEST) == Answer(done=True, text="pause")

    await served(clock, tmp_path, work)


@pytest.mark.anyio
async def test_an_order_that_ends_the_run_is_answered(clock: Clock, tmp_path: Path) -> None:
    """The server's end waits for the answer to what it has begun to carry out."""
    ending = anyio.Event()

    async def end(request: Request) -> Answer:
        ending.set()
        await anyio.sleep(1)
        return await agree(request)

    answers: list[Answer | None] = []
    async with anyio.create_task_group() as asking:

        async def work(path: Path) -> None:
            async def one() -> None:
                answers.append(await ask(path, REQUEST))

            asking.start_soon(one)
            await ending.wait()

        await served(clock, tmp_path, work, end)
    assert answers == [Answer(done=True, text="pause")]


@pytest.mark.anyio
async def test_a_run_without_room_for_a_socket_goes_on(clock: Clock, tmp_path: Path) -> None:
    """Where there can be no socket, a person is told once and the server returns."""
    notices: list[str] = []
    (tmp_path / "control").mkdir()
    await serve_control(tmp_path, agree, clock=clock, notice=notices.append)
    await serve_control(tmp_path, agree, clock=clock, notice=notices.append, temp_dir=tmp_path / "none")
    assert len(notices) == 2
    assert all("cannot be controlled" in notice for notice in notices)


@pytest.mark.anyio
async def test_a_process_without_descriptors_waits_for_one(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that cannot be accepted for want of a descriptor is taken a moment later."""
    import anyio._backends._asyncio as backend

    real, refusals = backend.UNIXSocketListener.accept, [OSError(errno.EMFILE, "too many open files")]

    async def accept(listener: backend.UNIXSocketListener) -> SocketStream:
        if refusals:
            raise anyio.BrokenResourceError from refusals.pop()
        return await real(listener)

    monkeypatch.setattr(backend.UNIXSocketListener, "accept", accept)

    async def work(path: Path) -> None:
        assert await ask(path, REQUEST) == Answer(done=True, text="pause")

    await served(clock, tmp_path, work)
    assert refusals == []
