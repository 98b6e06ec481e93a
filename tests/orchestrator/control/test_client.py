"""The terminal's end, against a run that behaves and against whoever sits behind a link."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from orchestrator.control.client import Client
from orchestrator.control.protocol import ANSWER_BYTES_MAX
from orchestrator.runlock import RunLock
from spec.errors import ConfigError, InputError


def test_orders_settings_and_looks_reach_the_run(hosted: Any, run_dir: Path) -> None:
    """Each does what it says, and the answer says what it did."""
    client = Client(run_dir)
    assert "paused" in client.command("pause")
    assert client.look().paused
    assert client.set("engine.in_flight=4") == "engine.in_flight is 4, was 256"
    (trial,) = client.look().trials
    assert (trial.phase, trial.last_event) == ("running", "Ready")
    assert client.look("no such trial").trials == ()
    client.command("unpause")
    client.command("cancel")
    assert hosted.run.calls == ["pause", ("engine.in_flight", 4), "unpause", "cancel"]
    assert len(hosted.notes) == len(hosted.notices) == 4


def test_many_terminals_are_served_one_after_the_other(hosted: Any, run_dir: Path) -> None:
    """Eight at once set, look and pause: every accepted setting is done, noted and stored, none is lost or torn."""

    def work(number: int) -> str:
        client = Client(run_dir)
        client.look()
        return client.set(f"engine.in_flight={number}")

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(work, range(1, 25)))
    assert len(texts) == len(hosted.notes) == 24
    in_order = [value for _, value in hosted.run.calls]
    assert sorted(in_order) == list(range(1, 25))
    assert f"in_flight = {in_order[-1]}\n" in (run_dir / "run.toml").read_text()
    was = [int(note.rpartition(" ")[2]) for note in hosted.notes]
    assert was == [256, *in_order[:-1]]


def test_a_refusal_is_an_error_with_key_and_hint(hosted: Any, run_dir: Path) -> None:
    """The command line shows it like any other error of a configuration."""
    with pytest.raises(ConfigError) as caught:
        Client(run_dir).set("run.trials=9")
    assert caught.value.key == "run.trials"
    assert "resume" in caught.value.hint
    with pytest.raises(ConfigError, match=r"in_flight"):
        Client(run_dir).set("engine.in_flight=0")
    with pytest.raises(InputError, match="at most 4096"):
        Client(run_dir).set("x" * 5000)


def test_a_run_that_nobody_works_on(run_dir: Path, tmp_path: Path) -> None:
    """The message says so and names what goes on with it; what is no run is told apart."""
    with pytest.raises(InputError, match=r"nobody works on .*; `resume .*` goes on"):
        Client(run_dir).command("pause")
    with pytest.raises(InputError, match="no run here"):
        Client(tmp_path).command("pause")
    with pytest.raises(InputError, match="no run here"):
        Client(tmp_path / "none").look()


def test_a_run_that_starts_is_waited_for(run_dir: Path) -> None:
    """A command waits for a run that does not listen yet, up to its bound, and then says what is the matter."""
    waits: list[float] = []

    class Ticking:
        def monotonic(self) -> float:
            return sum(waits)

        def utc_now(self) -> str:
            raise AssertionError("nobody asks")

        async def sleep(self, seconds: float) -> None:
            raise AssertionError("nobody sleeps")

    with RunLock.acquire(run_dir), pytest.raises(InputError, match="starting or ending"):
        Client(run_dir, start_wait_s=1.0, clock=Ticking(), pause=waits.append).command("pause")
    assert 1.0 <= sum(waits) <= 1.5


def test_a_copied_directory_does_not_reach_the_original(hosted: Any, run_dir: Path) -> None:
    """The copy has the original's link; neither its free nor its held lock lets a command through."""
    copy = run_dir.parent / "copy"
    shutil.copytree(run_dir, copy, symlinks=True)
    with pytest.raises(InputError, match="nobody works"):
        Client(copy).command("cancel")
    with RunLock.acquire(copy), pytest.raises(InputError, match="another run directory"):
        Client(copy).command("cancel")
    assert hosted.run.calls == []


@contextmanager
def answering(run_dir: Path, serve: Callable[[socket.socket], None]) -> Iterator[None]:
    """Somebody behind the run's link who does as he likes."""
    place = run_dir.parent / "s"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(place))
    listener.listen(1)
    listener.settimeout(10)

    def work() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(10)
            serve(connection)

    thread = threading.Thread(target=work)
    thread.start()
    (run_dir / "control").symlink_to(place)
    try:
        with RunLock.acquire(run_dir):
            yield
    finally:
        thread.join()
        listener.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b'{"format":1,"done":true}\n',
        b'{"format":2,"done":true,"text":""}\n',
        b'{"format":1,"done":true,"view":{"paused":false}}\n',
        b'{"format":1,"done":true,"text":"' + b"x" * 3000 + b'"}\n',
        b"[" * 100_000 + b"\n",
        b'{"format":1,"done":true,"view":{"paused":false,"draining":false,"silent_s":NaN,"in_flight_max":1,"trials":[]}}\n',
    ],
    ids=["nothing", "empty", "http", "no-view", "format", "half", "long", "deep", "nan"],
)
def test_a_strange_answer_is_refused(run_dir: Path, answer: bytes) -> None:
    """Whatever stands behind the link says, the client ends with one plain error."""

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    with answering(run_dir, serve), pytest.raises(InputError, match="no run of this version"):
        Client(run_dir).look()


def test_an_endless_answer_is_cut(run_dir: Path) -> None:
    """The client reads no more than the bound, and says so."""
    sent = 0

    def serve(connection: socket.socket) -> None:
        nonlocal sent
        connection.recv(65536)
        with suppress(OSError):
            while sent < 10 * ANSWER_BYTES_MAX:
                sent += connection.send(b"x" * 65536)

    with answering(run_dir, serve), pytest.raises(InputError, match="no run of this version"):
        Client(run_dir).look()
    assert sent < 2 * ANSWER_BYTES_MAX


def test_who_says_nothing_is_given_up(run_dir: Path) -> None:
    """A run that hangs, or a drop a second, costs the client its deadline and no more."""

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        stop = threading.Event()
        with suppress(OSError):
            for _ in range(1000):
                connection.sendall(b" ")
                stop.wait(0.02)

    with answering(run_dir, serve), pytest.raises(InputError, match="gave no answer"):
        Client(run_dir, answer_wait_s=0.3).look()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_link_to_somebody_elses_socket_is_not_followed(hosted: Any, run_dir: Path) -> None:
    """Another user's run directory that leads to a socket of ours, or of root, is sent nothing."""
    theirs = run_dir.parent / "theirs"
    shutil.copytree(run_dir, theirs, symlinks=True)
    os.chown(theirs, 65534, 65534)
    with RunLock.acquire(theirs), pytest.raises(InputError, match="starting or ending"):
        Client(theirs).command("cancel")
    assert hosted.run.calls == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_run_of_another_user_is_told(run_dir: Path) -> None:
    """A directory that cannot be read ends with a plain error."""
    run_dir.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        Client(run_dir).look()
    run_dir.chmod(0o700)
