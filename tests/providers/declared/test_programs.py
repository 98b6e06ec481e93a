"""A program is bounded in time and output, sees only its own environment, and leaves nothing behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest

from providers.declared.programs import Ended, Programs, prepare_program
from spec.errors import ProviderFault

WAIT_S = 20.0
LOOK_S = 0.01


def run(code: str, folder: Path, *, stdin: bytes = b"", deadline_s: float = WAIT_S, bytes_max: int = 1000) -> Ended:
    program = prepare_program([sys.executable, "-c", code], {"WORD": "{x}"}, [], {"folder": str(folder), "x": "$(id)"})

    async def body() -> Ended:
        return await Programs(folder, bytes_max).run(program, stdin, deadline_s)

    return anyio.run(body)


def is_gone(pid: int) -> bool:
    """Whether a process that was killed ends soon; one that waits to be buried has ended."""
    for _ in range(round(WAIT_S / LOOK_S)):
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(LOOK_S)
    return False


def test_a_program_gets_its_input_and_only_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is no shell's business, no other variable is there, and it works in the trial's folder."""
    monkeypatch.setenv("MY_SECRET", "s3cret")
    code = "import os, sys; print(sys.stdin.read(), os.environ['WORD'], os.getcwd(), 'MY_SECRET' in os.environ)"
    ended = run(code, tmp_path, stdin=b'{"a": 1}')
    assert ended.code == 0
    assert ended.output.decode().split("\n")[0] == f'{{"a": 1}} $(id) {tmp_path} False'


def test_an_exit_code_comes_with_the_end_of_the_complaint(tmp_path: Path) -> None:
    """On one line."""
    ended = run("import sys; print('why\\nso', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (ended.code, ended.complaint) == (3, "why so")


def test_a_program_that_prints_too_much_is_refused(tmp_path: Path) -> None:
    """Its output is read to the end, so that it does not hang, and dropped."""
    with pytest.raises(ProviderFault, match="more than 1000 bytes"):
        run("print('x' * 1_000_000)", tmp_path)


def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    """Nothing of its group is left."""
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(90)'])\n"
        "open('pid', 'w').write(str(child.pid)); time.sleep(60)"
    )
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        run(code, tmp_path, deadline_s=1.5)
    assert time.monotonic() - begun < WAIT_S
    assert is_gone(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    """It does not keep the output open, and is gone."""
    code = "import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(90)']).pid)"
    begun = time.monotonic()
    ended = run(code, tmp_path)
    assert time.monotonic() - begun < WAIT_S
    assert is_gone(int(ended.output))


def test_a_seal_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    """A program under way is killed, and the next one is refused."""
    program = prepare_program([sys.executable, "-c", "import time; time.sleep(90)"], {}, [], {"folder": str(tmp_path)})

    async def body() -> int:
        programs, codes = Programs(tmp_path, 1000), []

        async def work() -> None:
            codes.append((await programs.run(program, b"", WAIT_S)).code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await anyio.sleep(0.5)
            programs.kill()
        with pytest.raises(ProviderFault, match="over"):
            await programs.run(program, b"", WAIT_S)
        return codes[0]

    assert anyio.run(body) == -9


def test_what_cannot_be_run_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is not there, a variable that is not set, a value that no environment can hold."""
    monkeypatch.delenv("NOT_SET", raising=False)
    values = {"folder": str(tmp_path), "x": "a\0b"}
    with pytest.raises(ProviderFault, match="no program 'no-such-program'"):
        prepare_program(["no-such-program"], {}, [], values)
    with pytest.raises(ProviderFault, match="NOT_SET is not set"):
        prepare_program([sys.executable], {}, ["NOT_SET"], values)
    with pytest.raises(ProviderFault, match="value of X cannot"):
        prepare_program([sys.executable], {"X": "{x}"}, [], values)
    monkeypatch.setitem(os.environ, "TOKEN_OF_TEST", "t")
    assert prepare_program([sys.executable], {}, ["TOKEN_OF_TEST"], values).env["TOKEN_OF_TEST"] == "t"
