"""Row 24: somebody else's run directory is taken, or refused with its place; nothing in it ends a command badly.

A crc only shows damage by machines, so every forged line here has the right one. No command may fail from inside, a
forged row may not pass `verify`, and no name reaches a report or a terminal as it stands.
"""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import orjson
import pytest

from tests.faults.card import CardOfTest, Scale
from tests.faults.in_process import call, finish, small_config

ROW: Final = (24, "hostile rows and run directories")
ARM: Final = "a"
KEY: Final = "a::mockmed::partial::t0"
COMMANDS: Final = (("status",), ("verify",), ("report",), ("trial", KEY), ("why", KEY))
DECENT: Final = frozenset({0, 1, 2, 6})
LAW_BROKEN: Final = 70
SECOND_END: Final = "would have a second terminal line"
"""The one reason for 70: a trial with two ends is a law of the journal broken, not a failure from inside."""

KEYS_MANY: Final = 10**5
LINE_BYTES_LONG: Final = 80 << 20
ODD: Final[Sequence[Any]] = (
    None,
    True,
    -1,
    0,
    1,
    2**63,
    10**12,
    1.5,
    "",
    "x",
    "../../etc/passwd",
    "\x1b[31m",
    "<script>alert(1)</script>",
    "=cmd|'/c calc'!A1",
    [],
    {},
    [[]],
    {"a": 1},
    KEY,
    "\u2028",
    [None] * 3,
)

Lines = list[dict[str, Any]]


def framed(lines: Lines) -> bytes:
    """A journal of these lines, each with the right number, chain, crc and commit."""
    prev, written = "00000000", b""
    for seq, line in enumerate(lines):
        body = {name: value for name, value in line.items() if name not in ("seq", "prev", "crc")}
        if body.get("type") == "commit":
            body["offset"] = len(written)
        text = orjson.dumps({"seq": seq, "prev": prev, **body})[:-1]
        prev = f"{crc32(text):08x}"
        written += b'%b,"crc":"%b"}\n' % (text, prev.encode())
    return written


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value, the top aside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*place, name)
        yield from places(one, (*place, name))


def change(document: Any, rng: random.Random) -> str:
    """Change, drop or add one value somewhere; says where."""
    *parents, last = rng.choice([*places(document)])
    node = document
    for name in parents:
        node = node[name]
    way = rng.randrange(3)
    if way == 0 or isinstance(node, list):
        node[last] = copy.deepcopy(rng.choice(ODD))
    elif way == 1:
        del node[last]
    else:
        node[rng.choice(("x", "key", "row", "type"))] = copy.deepcopy(rng.choice(ODD))
    return ".".join(map(str, [*parents, last]))


def forge_journal(run_dir: Path, rng: random.Random) -> str:
    """Change lines, repeat one or drop one, once or twice."""
    path = run_dir / "journal.jsonl"
    lines: Lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    told = []
    for _ in range(rng.randint(1, 2)):
        way, number = rng.randrange(5), rng.randrange(len(lines))
        if way == 3:
            lines.insert(rng.randrange(1, len(lines)), copy.deepcopy(lines[number]))
        elif way == 4:
            lines.pop(number)
        told.append(f"line {number} " + (change(lines[number], rng) if way < 3 else "repeated" if way == 3 else "gone"))
    path.write_bytes(framed(lines))
    return f"journal: {', '.join(told)}"


def forge_beside(run_dir: Path, rng: random.Random) -> str:
    """Change one of the other files."""
    path = run_dir / rng.choice(("episodes.jsonl", "summary.json", "manifest.json", "run.toml"))
    if path.suffix == ".toml":
        text = bytearray(path.read_bytes())
        for _ in range(3):
            text[rng.randrange(len(text))] = rng.randrange(256)
        path.write_bytes(text)
        return path.name
    data = path.read_bytes()
    documents = [orjson.loads(text) for text in (data.splitlines() if path.suffix == ".jsonl" else [data])]
    where = change(documents, rng)
    path.write_bytes(b"\n".join(map(orjson.dumps, documents)) + b"\n")
    return f"{path.name}: {where}"


def problems(code: int, said: str, command: str) -> Iterator[str]:
    """What is wrong with how a command took a hostile directory."""
    if code not in DECENT and not (code == LAW_BROKEN and SECOND_END in said):
        yield f"I7: {command} ends with {code}: {said[-300:]}"
    if "Traceback" in said or "internal error" in said:
        yield f"I7: {command} fails from inside: {said[-300:]}"
    if "\x1b" in said or "\u2028" in said:
        yield f"{command} passes control characters on"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of nine trials."""
    folder = tmp_path_factory.mktemp("finished")
    return finish(small_config(folder), folder / "run")


@pytest.fixture
def hostile(finished: Path, tmp_path: Path) -> Callable[[], Path]:
    """Makes a fresh copy of it."""

    def make() -> Path:
        run_dir = tmp_path / "run"
        shutil.rmtree(run_dir, ignore_errors=True)
        return Path(shutil.copytree(finished, run_dir))

    return make


@pytest.mark.timeout(900)
def test_forged_directories(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    hostile: Callable[[], Path],
) -> None:
    """Values, lines and files are changed at random: every command answers, and none fails from inside."""
    row = card.row(*ROW)
    for number in range(scale(smoke=12, quick=120, full=1000)):
        run_dir = hostile()
        what = forge_beside(run_dir, rng) if number % 3 == 2 else forge_journal(run_dir, rng)
        row.trial()
        row.inject()
        for command, *words in (*COMMANDS, ("resume",)):
            said = call(capfd, command, run_dir, *words)
            row.violations(f"{what}: {one}" for one in problems(said.code, said.out + said.err, command))


def forgeries(rows: Lines, rng: random.Random) -> Iterator[tuple[str, Callable[[Lines], None]]]:
    """Ways to forge a scored line so that nothing but its content is wrong."""

    def on_row(make: Callable[[dict[str, Any]], object]) -> Callable[[Lines], None]:
        place = rng.randrange(len(rows))
        return lambda lines: (make([line for line in lines if line["type"] == "scored"][place]["row"]), None)[1]

    yield "a better outcome", on_row(lambda row: row.update(outcome="over_halt", swer_variant="none"))
    yield "another report", on_row(lambda row: row["agent"].update(reported_success=row["agent"]["halted"]))
    yield "another verdict", on_row(lambda row: row["oracle"].update(verdict="indeterminate"))
    yield "a verdict without a reading", on_row(lambda row: row["oracle"].update(before_reachable=False))
    yield "another category", on_row(lambda row: row.update(category="c9"))
    yield "another seed", on_row(lambda row: row.update(seed=row["seed"] + 1))
    yield "another trial's row", on_row(lambda row: row.update(episode_id=KEY.replace("t0", "t99")))
    yield "a trial that is not planned", lambda lines: lines[-4].update(key="a::mockmed::ok::t99")
    yield "a path for a name", lambda lines: lines[-4].update(key="a::../../etc/passwd::t0")


def test_a_forged_row_does_not_verify(
    card: CardOfTest, rng: random.Random, capfd: pytest.CaptureFixture[str], hostile: Callable[[], Path], finished: Path
) -> None:
    """Whatever is forged in a row or a key, with every crc right and the derived files made again, `verify` says no."""
    row = card.row(*ROW)
    lines: Lines = [orjson.loads(line) for line in (finished / "journal.jsonl").read_bytes().splitlines()]
    rows = [line for line in lines if line["type"] == "scored"]
    for what, forge in forgeries(rows, rng):
        run_dir, forged = hostile(), copy.deepcopy(lines)
        forge(forged)
        (run_dir / "journal.jsonl").write_bytes(framed(forged))
        again, said = call(capfd, "report", run_dir), call(capfd, "verify", run_dir)
        row.trial()
        row.inject()
        if said.code not in (1, 2):
            row.violations([f"I4: {what}: verify ends with {said.code} after a report with {again.code}: {said.out}"])


@pytest.mark.timeout(300)
def test_sizes_without_reason(
    card: CardOfTest, scale: Scale, capfd: pytest.CaptureFixture[str], hostile: Callable[[], Path]
) -> None:
    """A line of 80 MB, deep nesting, and very many keys that nobody planned: refused, or cut, by every command."""
    row = card.row(*ROW)
    text = scale(smoke=1 << 20, quick=LINE_BYTES_LONG, full=LINE_BYTES_LONG)
    keys = [f"a::mockmed::ok::t{number}" for number in range(scale(smoke=1000, quick=KEYS_MANY, full=10 * KEYS_MANY))]
    lease = {
        "type": "lease",
        "at": "2026-01-31T12:00:00.000000Z",
        "worker": "w",
        "keys": keys,
        "attempt": 1,
    }
    huge: dict[str, bytes] = {
        "a long line": b'{"seq":' + b"x" * text + b"\n",
        "no line break at all": b"y" * text,
        "deep nesting": b"[" * 100_000 + b"\n",
    }
    for what, tail in huge.items():
        run_dir = hostile()
        with (run_dir / "journal.jsonl").open("ab") as file:
            file.write(tail)
        row.trial()
        row.inject()
        for command, *words in COMMANDS:
            said = call(capfd, command, run_dir, *words)
            row.violations(f"{what}: {one}" for one in problems(said.code, said.out + said.err, command))
    run_dir = hostile()
    lines: Lines = [orjson.loads(line) for line in (run_dir / "journal.jsonl").read_bytes().splitlines()]
    (run_dir / "journal.jsonl").write_bytes(framed([*lines[:-2], lease, *lines[-2:]]))
    row.trial()
    row.inject()
    for command, *words in COMMANDS:
        said = call(capfd, command, run_dir, *words)
        row.violations(f"many keys: {one}" for one in problems(said.code, said.out + said.err, command))
        if command != "why" and said.code != 2:
            row.violations([f"{command} takes keys that nobody planned: {said.code}"])


def test_names_are_harmless_where_they_are_shown(
    card: CardOfTest, capfd: pytest.CaptureFixture[str], hostile: Callable[[], Path]
) -> None:
    """Markup, control characters, formulas and paths in texts of rows and heads reach no report as they stand."""
    row = card.row(*ROW)
    for text in ("\x1b[31m<script>alert(1)</script>", "=cmd|'/c calc'!A1<img src=x onerror=y>", "../../\u202eetc"):
        run_dir = hostile()
        lines: Lines = [orjson.loads(line) for line in (run_dir / "journal.jsonl").read_bytes().splitlines()]
        lines[0]["run_id"] = text
        for line in lines:
            if line["type"] == "scored":
                line["row"]["agent"]["message"] = line["row"]["oracle"]["reason"] = text
        (run_dir / "journal.jsonl").write_bytes(framed(lines))
        said = call(capfd, "report", run_dir)
        shown = call(capfd, "status", run_dir)
        row.trial()
        row.inject()
        made = [(run_dir / name).read_text() for name in ("report.md", "report.html")] if said.code == 0 else []
        places = [("\x1b", [*made, shown.out, shown.err]), ("\u202e", [*made, shown.out, shown.err])]
        places += [("<script>alert", made), ("<img src", made)]  # a terminal shows markup as what it is
        for word, texts in places:
            if any(word in text.replace("\\<", "") for text in texts):  # Markdown escapes with a backslash
                row.violations([f"{word!r} is passed on as it stands"])
        if sorted(path.name for path in run_dir.parent.iterdir()) != ["run"]:
            row.violations([f"files were made elsewhere: {sorted(run_dir.parent.iterdir())}"])
