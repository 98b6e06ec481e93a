from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import psycopg
import pytest
from psycopg import errors

from providers.postgres import EmbeddedServer, ServerSettings, leftovers, places, server, start_server
from providers.postgres.binaries import copy_programs, find_programs
from providers.postgres.leftovers import PREFIX
from spec.clock import SystemClock
from spec.errors import ProviderFault

PARENT = """
import anyio
from providers.postgres import ServerSettings, start_server
from spec.clock import SystemClock

async def main():
    server = await start_server(ServerSettings(), SystemClock())
    print(server.pid, server.directory, flush=True)
    await anyio.sleep(600)

anyio.run(main)
"""


def private_directories() -> set[Path]:
    """Those of this process: others on this machine may start and end servers meanwhile."""
    found = [directory for root in places.roots() for directory in root.glob(f"{PREFIX}*")]
    owners = {directory: leftovers._owner_of(directory) for directory in found}
    return {directory for directory, owner in owners.items() if owner is not None and owner.pid == os.getpid()}


def orphaned_memory() -> set[str]:
    """Shared memory of both kinds that is in nobody's use and whose maker has ended."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    segments = {row[1] for row in rows if row[6] == "0" and not (Path("/proc") / row[4]).exists()}
    return segments | {file.name for file in places.MEMORY.glob("PostgreSQL.*")}


def eventually(holds: Callable[[], bool], deadline_s: float = 10.0) -> bool:
    end_s = time.monotonic() + deadline_s
    while not holds() and time.monotonic() < end_s:
        time.sleep(0.02)
    return holds()


def processes_in(directory: Path) -> list[int]:
    return leftovers._at_work_in(directory)


def program_of(pid: int) -> Path:
    return (Path("/proc") / str(pid) / "exe").readlink()


def connect(postgres_server: EmbeddedServer, role: str, database: str) -> psycopg.Connection:
    return psycopg.connect(**getattr(postgres_server.logins, role).arguments(database), autocommit=True)


def test_each_role_may_do_its_part(postgres_server: EmbeddedServer, postgres_database: str) -> None:
    """The owner makes tables, the app cannot; the oracle reads every row and can write none, even if it asks to."""
    with connect(postgres_server, "owner", postgres_database) as owner:
        owner.execute("CREATE TABLE visit (id int); INSERT INTO visit VALUES (7)")
    with connect(postgres_server, "app", postgres_database) as app, pytest.raises(errors.InsufficientPrivilege):
        app.execute("CREATE TABLE other (id int)")
    with connect(postgres_server, "oracle", postgres_database) as oracle:
        assert oracle.execute("SELECT id FROM visit").fetchall() == [(7,)]
        with pytest.raises(errors.ReadOnlySqlTransaction):
            oracle.execute("INSERT INTO visit VALUES (8)")
        oracle.execute("SET default_transaction_read_only = off")
        with pytest.raises(errors.InsufficientPrivilege):
            oracle.execute("INSERT INTO visit VALUES (8)")


@pytest.mark.parametrize("role", ["provider", "app", "oracle", "postgres"])
def test_nobody_comes_in_with_a_wrong_password(postgres_server: EmbeddedServer, role: str) -> None:
    """A wrong password is refused for every role, on the socket and on the loopback; the superuser has no way in."""
    for host in (postgres_server.logins.owner.host, "127.0.0.1"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(host=host, port=postgres_server.port, user=role, password="x", dbname="postgres")


def test_a_password_stands_in_its_file_alone(postgres_server: EmbeddedServer) -> None:
    """No password is in an argument, an environment, a configuration or the log; its file has mode 0600."""
    logins = postgres_server.logins
    process = Path("/proc") / str(postgres_server.pid)
    home = postgres_server.directory
    texts = [process / "cmdline", process / "environ", home / "postgresql.conf", home / "pg_hba.conf"]
    seen = b"".join(file.read_bytes() for file in (*texts, home / "keys" / "log"))
    for login in (logins.owner, logins.app, logins.oracle):
        assert login.password is not None
        assert login.password_file is not None
        assert login.password.encode() not in seen
        assert login.password not in repr(postgres_server)
        assert login.password_file.stat().st_mode & 0o777 == 0o600
        assert login.password_file.read_text() == login.password


def test_the_server_is_not_root_and_its_socket_is_private(postgres_server: EmbeddedServer) -> None:
    """The server's processes belong to an unprivileged user, and nobody else reaches its socket or its data."""
    status = (Path("/proc") / str(postgres_server.pid) / "status").read_text()
    uid = int(next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1])
    assert uid != 0
    for part in ("socket", "data"):
        found = (postgres_server.directory / part).stat()
        assert (found.st_mode & 0o777, found.st_uid) == (0o700, uid)


@pytest.mark.anyio
async def test_a_server_comes_and_goes() -> None:
    """A server opens no TCP port unless asked to, and leaves no process and no file; a second stop does nothing."""
    before = private_directories()
    started = await start_server(ServerSettings(), SystemClock())
    assert private_directories() == before | {started.directory}
    assert started.port is None
    pids = processes_in(started.directory)
    assert started.pid in pids
    await started.stop()
    await started.stop()
    assert private_directories() == before
    assert not processes_in(started.directory)


@pytest.mark.anyio
async def test_a_start_that_takes_too_long_leaves_nothing() -> None:
    """A start that passes its deadline is a provider fault with the deadline in it, and everything is cleared."""
    before = private_directories()
    with pytest.raises(ProviderFault, match=r"not ready within 0\.2 s"):
        await start_server(ServerSettings(start_deadline_s=0.2), SystemClock())
    assert private_directories() == before


@pytest.mark.anyio
async def test_a_server_that_ends_at_its_start_says_why() -> None:
    """A server that refuses its settings is a provider fault with the server's own reason, and all is cleared."""
    before = private_directories()
    with pytest.raises(ProviderFault, match=r"ended with 1 while it started.*max_connections"):
        await start_server(ServerSettings(connections_max=-1), SystemClock())
    assert private_directories() == before


@pytest.mark.anyio
@pytest.mark.parametrize("after_s", [0.05, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4])
async def test_a_start_that_is_given_up_leaves_nothing(after_s: float) -> None:
    """A start that is cancelled on its way, wherever that is, clears up before the cancellation goes on."""
    before, memory = private_directories(), orphaned_memory()
    with anyio.move_on_after(after_s):
        await (await start_server(ServerSettings(), SystemClock())).stop()
    assert private_directories() == before
    assert orphaned_memory() <= memory


@pytest.mark.anyio
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as somebody else")
async def test_programs_out_of_reach_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs below a directory that is closed to the server's user are copied, and gone behind the server."""
    closed = tmp_path / "home"
    there = copy_programs(find_programs(), closed)
    closed.chmod(0o700)
    monkeypatch.setattr(server, "find_programs", lambda: there)
    before = private_directories()
    started = await start_server(ServerSettings(), SystemClock())
    assert program_of(started.pid).is_relative_to(started.directory / "programs")
    await started.stop()
    assert private_directories() == before


def test_a_killed_owner_leaves_no_process_and_the_next_start_no_file() -> None:
    """When the process that has a server is killed, the kernel ends the server; the next start removes the files."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, name = parent.stdout.readline().split()
        home = Path(name)
        assert int(pid) in processes_in(home)
        parent.send_signal(signal.SIGKILL)
    assert eventually(lambda: processes_in(home) == [])
    assert home.exists()

    async def next_one() -> None:
        await (await start_server(ServerSettings(), SystemClock())).stop()

    anyio.run(next_one)
    assert not home.exists()


def test_a_server_that_was_killed_itself_leaves_no_shared_memory() -> None:
    """Where server and owner are both killed, the sweep also frees the segment of memory that no end has freed."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, name = parent.stdout.readline().split()
        os.kill(int(pid), signal.SIGKILL)
        parent.send_signal(signal.SIGKILL)
    home = Path(name)
    assert eventually(lambda: processes_in(home) == [])
    memory = leftovers._shared_memory_of(home)
    assert memory is not None
    leftovers.sweep(places.roots())
    assert not home.exists()
    assert memory not in orphaned_memory()
