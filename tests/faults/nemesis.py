"""A random enemy of one run: it draws what to break from its seed, and expects of each what is documented."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from tests.checker import Violation, check
from tests.faults.card import Recorder
from tests.faults.harness import SLOW, Runs, wait_until
from tests.faults.nursery import Nursery

PACE: Final = ("engine.workers=2", "engine.in_flight=2")
"""Nothing that results depend on; slow enough that a run lasts for a dozen strikes."""
PROGRESS_S: Final = 60.0
ENDS_S: Final = 40.0
LOOK_S: Final = 0.1
ROOM_BYTES: Final = 20_000
ALIVE: Final = frozenset({0})
INCOMPLETE: Final = frozenset({0, 3})
UNWRITABLE: Final = frozenset({0, 4})
LOCKED: Final = 5


class Nemesis:
    """Breaks one run, again and again, and goes on with it.

    Args:
        runs: makes the run.
        nursery: tells of processes.
        row: counts and judges.
        undisturbed: what the run must come to.
        planned: how many trials it has.
        sets: what makes it that run.
        rng: where every choice comes from.
    """

    def __init__(
        self,
        runs: Runs,
        nursery: Nursery,
        row: Recorder,
        *,
        undisturbed: Path,
        planned: int,
        sets: tuple[str, ...],
        rng: Random,
    ) -> None:
        self._nursery, self._row, self._rng = nursery, row, rng
        self._undisturbed, self._planned, self._sets = undisturbed, planned, sets
        self.run = runs.new()
        self._before = b""
        self._rows = 0
        self._on_ray = False
        self.done = False

    def play(self, until_s: float) -> None:
        """Strike until a monotonic time, then let the run come to its end, and judge it."""
        self._go_on(begun=False)
        while not self.done and time.monotonic() < until_s:
            self._strike()
        while not self.done:
            self._expect(ALIVE, PROGRESS_S + ENDS_S)
        found = check(self.run.run_dir, undisturbed=self._undisturbed, before=self._before, marker=self.run.marker)
        self._row.violations(found)

    def _strike(self) -> None:
        """Wait for a row, then break something."""
        moved = wait_until(lambda: self.run.count("scored") > self._rows or self.run.ended(), PROGRESS_S, LOOK_S)
        if not moved:
            self._violated("I4", f"no row came for {PROGRESS_S:g} s")
            self.run.kill()
        if self.run.ended():
            self._expect(ALIVE)
            return
        time.sleep(self._rng.uniform(0, 1.5))
        strike = self._rng.choice(self._strikes())
        self._row.inject()
        strike()
        self._rows = self.run.count("scored")

    def _strikes(self) -> list[Callable[[], None]]:
        everywhere = [self._kill, self._tear, self._interrupt, self._terminate, self._freeze, self._rival, self._fill]
        return [*everywhere, *[self._worker, self._oracle] * 3, self._raylet, self._gcs] if self._on_ray else everywhere

    def _kill(self) -> None:
        self.run.kill()
        self._expect(frozenset({-signal.SIGKILL}))

    def _tear(self) -> None:
        """Kill, and leave behind what a torn write leaves: a part of a line, or bytes that mean nothing."""
        self.run.kill()
        with self.run.journal.open("ab") as journal:
            journal.write(self._rng.choice([b'{"seq":', self._rng.randbytes(700), b"\0" * 512]))
        self._expect(frozenset({-signal.SIGKILL}))

    def _interrupt(self) -> None:
        self.run.driver.send_signal(signal.SIGINT)
        self._expect(frozenset({0, 130}))

    def _terminate(self) -> None:
        self.run.driver.send_signal(signal.SIGTERM)
        self._expect(frozenset({0, 143}))

    def _freeze(self) -> None:
        """Stop the driver for a moment: longer than its own patience with others, as far as it can tell."""
        self.run.driver.send_signal(signal.SIGSTOP)
        time.sleep(self._rng.uniform(0.1, 3))
        self.run.driver.send_signal(signal.SIGCONT)

    def _rival(self) -> None:
        """Start the run once more beside itself."""
        code = self._nursery.run("resume", self.run.run_dir, "--json", "--quiet").code
        if code != LOCKED and not self.run.ended():
            self._violated("I7", f"a second start ended with {code}, not 5")

    def _fill(self) -> None:
        """Let the journal grow by some bytes more and then by none."""
        size = self.run.journal.stat().st_size + self._rng.randrange(1, ROOM_BYTES)
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self.run.driver.pid, resource.RLIMIT_FSIZE, (size, size))
        self._expect(UNWRITABLE)

    def _worker(self) -> None:
        if not self.run.repeats():
            self._kill_part("workers")

    def _oracle(self) -> None:
        self._kill_part("oracles")

    def _raylet(self) -> None:
        self._kill_part("raylet")
        self._expect(INCOMPLETE)

    def _gcs(self) -> None:
        self._kill_part("gcs")
        self._expect(INCOMPLETE)

    def _kill_part(self, part: str) -> None:
        found = (self._nursery.status(self.run).get("pids") or {}).get(part) or []
        victims = found if isinstance(found, list) else [found]
        if victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._rng.choice(victims), signal.SIGKILL)

    def _expect(self, codes: frozenset[int], limit_s: float = ENDS_S) -> None:
        """Wait for the driver's end, judge what it left, and go on unless the run is complete."""
        try:
            code = self.run.end(limit_s)
        except subprocess.TimeoutExpired:
            self._violated("I7", f"no end within {limit_s:g} s where one of {sorted(codes)} is due")
            self.run.kill()
            code = -signal.SIGKILL
        if code not in codes:
            self._violated(
                "I7", f"exit {code}, not one of {sorted(codes)}: {self.run.output('err').read_text()[-500:]}"
            )
        owed = self._planned - self.run.count("scored")
        if code != 0 and owed:  # where nothing is, its results may be missing until the next session makes them
            self._row.violations(check(self.run.run_dir, before=self._before, owed=owed))
        self._before = self.run.acknowledged()
        self.done = code == 0
        if not self.done:
            self._go_on(begun=True)

    def _go_on(self, *, begun: bool) -> None:
        """Start the run or its next session, on Ray or without."""
        self._on_ray = self._rng.random() < 1 / 3
        engine = f'engine.kind="{"ray" if self._on_ray else "inline"}"'
        self._rows = self.run.count("scored")
        if begun:
            self.run.resume((engine, *PACE))
        else:
            self.run.begin(SLOW, (*self._sets, engine, *PACE))

    def _violated(self, invariant: str, text: str) -> None:
        self._row.violations([Violation(invariant, text)])
