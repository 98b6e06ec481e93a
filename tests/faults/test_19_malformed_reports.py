"""Row 19: what is no report is the arm's fault, with its problems; nothing is coerced or kept without bound."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from orchestrator.kinds.effect.worker import EffectWorker
from spec.report import MalformedReport
from spec.text import DETAIL_CHARS_MAX
from tests.checker import check
from tests.faults.card import CardOfTest, Scale
from tests.faults.in_process import begin
from tests.faults.thirdparty.odd import CASES, ENDLESS, ODD_BUT_RIGHT

ROW: Final = (19, "malformed reports")
FOLDER: Final = Path(__file__).parent / "thirdparty"
HEAD: Final = 'format = 1\n[run]\nname = "odd"\ntrials = 1\n[engine]\nkind = "inline"\nin_flight = 1\n'
ARM: Final = '[[arms]]\nname = "{name}"\nuse = "odd:Odd"\noptions = {{case = "{name}"}}\n'
RUN_BYTES_MAX: Final = 2 << 20
"""What all files of a run of these arms may take: nothing of what was too large is kept."""

FIELDS: Final = ("reported_success", "halted", "message", "model_calls")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the arms' module and the configurations lie; a module is loaded once in a process."""
    made = tmp_path_factory.mktemp("odd")
    (made / "odd.py").write_bytes((FOLDER / "odd.py").read_bytes())
    return made


def run_cases(capfd: pytest.CaptureFixture[str], folder: Path, run_dir: Path, names: Iterable[str]) -> dict[str, Any]:
    """The row of each case."""
    config = folder / "odd.toml"
    config.write_text(HEAD + "".join(ARM.format(name=name) for name in names))
    said = begin(capfd, config, run_dir, "--task", "*::ok")
    assert said.code == 0, said.err
    rows = [orjson.loads(line) for line in (run_dir / "episodes.jsonl").read_bytes().splitlines()]
    return {row["arm"]: row for row in rows}


@pytest.mark.timeout(300)
def test_odd_returns_of_arms(
    card: CardOfTest, scale: Scale, capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    """Twenty-nine values that are no report, 10 MiB and 256 MiB among them: each malformed, with why, and read."""
    row = card.row(*ROW)
    names = [*CASES, *["largest"] * scale(smoke=0, quick=0, full=1)]
    run_dir = tmp_path / "run"
    rows = run_cases(capfd, folder, run_dir, [*names, *ENDLESS])
    row.trial(len(rows))
    row.inject(len(rows))
    row.violations(check(run_dir))
    for name in [*names, *ENDLESS]:
        found = rows[name]
        fault, detail = found["env_fingerprint"]["arm_fault"], found["env_fingerprint"]["fault_detail"]
        if fault != ("raised" if name in ENDLESS else "malformed") or not 0 < len(detail) <= DETAIL_CHARS_MAX:
            row.violations([f"I4: {name}: {fault}, {detail!r:.200}"])
        if found["agent"] != found["agent"] | {"reported_success": False, "halted": True}:
            row.violations([f"I4: {name}: {found['agent']}"])
        if not found["oracle"]["effect_correct"]:
            row.violations([f"I4: {name}: its record was not read: {found['oracle']['reason']}"])
    taken = sum(path.stat().st_size for path in run_dir.rglob("*") if path.is_file())
    if taken > RUN_BYTES_MAX:
        row.violations([f"the run's files have {taken} bytes"])


def test_reports_that_are_right_and_dangerous_to_show(
    card: CardOfTest, capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    """Control characters, markup and formulas are kept in the row as they are, and are harmless in every report."""
    row = card.row(*ROW)
    run_dir = tmp_path / "run"
    rows = run_cases(capfd, folder, run_dir, ODD_BUT_RIGHT)
    row.trial(len(rows))
    row.inject(len(rows))
    row.violations(check(run_dir))
    for name, make in ODD_BUT_RIGHT.items():
        if rows[name]["agent"]["message"] != make()["message"] or rows[name]["env_fingerprint"]["arm_fault"]:
            row.violations([f"I4: {name}: {rows[name]['agent']}, {rows[name]['env_fingerprint']['fault_detail']}"])
    for report in ("report.md", "report.html"):
        text = (run_dir / report).read_text()
        if any(word in text for word in ("\x1b", "\x00", "\u202e", "<script>alert")):
            row.violations([f"{report} holds what was to be escaped"])


_text = st.text(max_size=40) | st.text(st.characters(categories=["Cs", "Cc"]), max_size=4)
_plain: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | _text | st.binary(max_size=40) | st.just(10**400)
)
_names = st.sampled_from([*FIELDS, "model", "input_tokens", "cost_usd", "note"]) | _text | st.integers()
_values: st.SearchStrategy[Any] = st.recursive(
    _plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_names, inner, max_size=5), max_leaves=12
)
_almost = st.fixed_dictionaries(
    {"reported_success": st.booleans() | _plain},
    optional={
        "halted": st.booleans() | _plain,
        "message": _text | _plain,
        "model_calls": st.lists(_values, max_size=3),
    },
)


def coerced(returned: Any, report: Any) -> Iterable[str]:
    """Which values of a report are not those that were returned."""
    for name in FIELDS[:3]:
        if name in returned and (type(report[name]) is not type(returned[name]) or report[name] != returned[name]):
            yield f"{name} was {returned[name]!r} and is {report[name]!r}"


@pytest.mark.timeout(600)
def test_any_return_value(card: CardOfTest, scale: Scale, rng: random.Random) -> None:
    """Bytes, nested JSON and near misses: a report with exactly the returned values, or every problem by name."""
    row, worker = card.row(*ROW), EffectWorker()

    @settings(max_examples=scale(smoke=150, quick=2000, full=20_000), deadline=None, database=None)
    @seed(rng.getrandbits(32))
    @given(_values | _almost | st.binary())
    def judge(returned: Any) -> None:
        row.trial()
        row.inject()
        try:
            report = worker.parse(returned)
        except MalformedReport as error:
            if not error.problems:
                row.violations([f"I4: {returned!r} is refused without a problem"])
        else:
            orjson.dumps(report)
            row.violations(f"I4: {problem}" for problem in coerced(returned, report))

    check_all: Callable[[], None] = judge
    check_all()
