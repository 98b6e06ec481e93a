from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config import FILE_BYTES_MAX, LoadedConfig, config_from_mapping, load_config
from spec.errors import ConfigError, ConfigErrors

Load = Callable[..., LoadedConfig]
Refused = Callable[..., tuple[ConfigError, ...]]

ARM = '[[arms]]\nname = "a"\n'

WRONG = """format = 1
run.trails = 3
run.attempts = true
engine = {kind = "inlin", trials = 3}
[provider]
options = {when = 2020-01-01}
tasks = ["x", 3]
[[arms]]
name = "a"
use = "${NO_SUCH}"
[[arms]]
name = "a"
in_flight = -1
[limitz]
"""


def test_all_problems_are_told_at_once_in_the_order_of_the_file(refused: Refused) -> None:
    """Each problem has file, line, key, reason and, where one is near, the right name."""
    found = [(error.line, error.key, error.message, error.hint) for error in refused(WRONG)]
    assert found == [
        (2, "run.trails", "unknown key", "did you mean 'trials'?"),
        (3, "run.attempts", "must be an integer, not true/false", ""),
        (4, "engine.kind", "\"inlin\" must be 'ray' or 'inline'", "did you mean 'inline'?"),
        (4, "engine.trials", "unknown key", "trials belongs to [run]"),
        (6, "provider.options.when", "must not be a date; write it as text in quotes", ""),
        (7, "provider.tasks[1]", "must be text, not an integer", ""),
        (10, "arms.a.use", "the environment variable NO_SUCH is not set", "set it: export NO_SUCH=..."),
        (12, "arms.a.name", '"a" is the name of an earlier arm', "every arm needs a name of its own"),
        (13, "arms.a.in_flight", "must be at least 0, not -1", ""),
        (14, "limitz", "unknown key", "did you mean 'limits'?"),
    ]
    assert all(error.file.endswith("run.toml") for error in refused(WRONG))


def test_a_problem_of_the_command_line_names_no_file(refused: Refused) -> None:
    """A key that --set has given has no line, even where the file has it too."""
    sets = ("run.trials=x", "engine.inflight=4", "arms.q.in_flight=4", "nothing")
    errors = refused("[run]\ntrials = 3\n" + ARM, sets=sets, arms=["z"], limit=0)
    assert {(error.file, error.line) for error in errors} == {("", None)}
    assert {error.key for error in errors} == {"run.trials", "engine.inflight", "arms.q", ""}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("format = 1\n[run\n", 2, "is not TOML"),
        ("a = 1\na = 2\n", 2, "is not TOML"),
        ("a = [1,\n2", 2, "is not TOML"),
        ("a = " + "[" * 10_000, None, "nested too deep"),
        ("a = " + "1" * 5_000, 1, "is not TOML"),
        ("provider.options" + ".a" * 40 + " = 1\n" + ARM, 1, "is nested deeper than 32 levels"),
        (ARM + "x = {" + "'a' . " * 100_000 + "a = 1}\n", 3, "a key has more than 64 parts"),
        ("a" + ".a" * 100_000 + " = 1\n" + ARM, 1, "a key has more than 64 parts"),
        ("format = 2\n" + ARM, 1, "must be 1"),
        ("", None, "is missing"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_problem(refused: Refused, text: str, line: int | None, reason: str) -> None:
    """Broken TOML, too deep a nesting, another format and an empty file each give one error."""
    (error,) = refused(text)
    assert reason in error.message
    assert error.line == line


def test_a_file_is_refused_by_its_size_before_it_is_parsed(tmp_path: Path) -> None:
    """Over 1 MiB nothing is parsed; up to it everything is."""
    path = tmp_path / "run.toml"
    path.write_text(ARM + "#" * (FILE_BYTES_MAX - len(ARM)))
    assert load_config(path, environ={}).config.arms[0].name == "a"
    path.write_text(ARM + "#" * (FILE_BYTES_MAX - len(ARM) + 1))
    with pytest.raises(ConfigErrors, match="is larger than 1048576 bytes"):
        load_config(path, environ={})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file, a folder, wrong bytes and an impossible name are input errors with the name in them."""
    (tmp_path / "near.toml").write_bytes(b"format = 1\nx = '\xff'\n")
    cases = {"missing.toml": "beside it: near.toml", ".": "cannot be read", "a\0b": "cannot be read"}
    for name, reason in cases.items():
        with pytest.raises(ConfigErrors, match=reason):
            load_config(tmp_path / name, environ={})
    with pytest.raises(ConfigErrors, match=r"near.toml:2: byte 16 is not UTF-8"):
        load_config(tmp_path / "near.toml", environ={})


def test_many_problems_are_counted_and_not_listed(refused: Refused) -> None:
    """A wall of errors is cut, and says how long it was."""
    errors = refused("\n".join(f"k{number} = 1" for number in range(200)) + "\n" + ARM)
    assert len(errors) == 51
    assert errors[-1].message == "150 further problems are not listed"


def test_a_variable_is_used_and_only_its_name_is_stored(load: Load) -> None:
    """The value is there for the run; the effective file has the name, and an arm left out needs no variable."""
    text = '[[arms]]\nname = "a"\n[arms.options]\nkey = ["Bearer ${KEY}"]\n[[arms]]\nname = "b"\noptions.key = "${B}"\n'
    loaded = load(text, environ={"KEY": "hunter2"}, arms=["a"])
    assert loaded.config.arms[0].options == {"key": ["Bearer hunter2"]}
    assert "Bearer ${KEY}" in loaded.effective_toml
    assert "hunter2" not in loaded.effective_toml
    assert [arm.name for arm in loaded.config.arms] == ["a"]


def test_a_secret_is_in_no_message(refused: Refused) -> None:
    """A key whose text came from a variable is refused with the variable's name."""
    (error,) = refused('engine.address = "${WHERE}"\n' + ARM, environ={"WHERE": "hunter2"})
    assert "hunter2" not in str(error)
    assert "${WHERE}" in error.message


def test_the_command_line_wins_over_the_file(load: Load) -> None:
    """--set, --arm and --split change values; a later --set wins."""
    text = "[run]\ntrials = 3\n" + ARM + '[[arms]]\nname = "b"\n'
    sets = ("run.trials=4", "run.trials=5", "arms.b.in_flight=2")
    loaded = load(text, sets=sets, arms=["b"], split="all")
    assert loaded.config.run.trials == 5
    assert loaded.config.provider.split == "all"
    assert [(arm.name, arm.in_flight) for arm in loaded.config.arms] == [("b", 2)]


def test_plugins_are_found_from_the_files_own_folder(load: Load, tmp_path: Path) -> None:
    """The folder is absolute and the file's own, unless another is given."""
    loaded = load(ARM)
    assert loaded.folder == tmp_path
    assert loaded.source == tmp_path / "run.toml"
    assert load(ARM, folder=Path("/elsewhere")).folder == Path("/elsewhere")


def test_an_error_found_later_gets_its_line(load: Load) -> None:
    """What only a provider or an arm can know is told with file, line and key as well."""
    loaded = load('[provider]\npack = "ful"\n' + ARM + 'use = "b"\n')
    error = loaded.error(("provider", "pack"), "is not known", "full")
    assert (error.line, error.key, error.message, error.hint) == (2, "provider.pack", "is not known", "full")
    assert loaded.error(("arms", "a", "use"), "no").line == 5


def test_a_mapping_is_checked_like_a_file() -> None:
    """Python users get the same values and the same refusals, without a file; what they gave stays theirs."""
    mapping = {"run": {"trials": 2}, "arms": ({"name": "a"},)}
    loaded = config_from_mapping(mapping, ".", environ={}, sets=["run.trials=3"])
    assert (loaded.config.run.trials, loaded.source, mapping["run"]) == (3, None, {"trials": 2})
    wrong: dict[Any, Any] = {"arms": [{"name": "a", "options": {"f": object()}}], 3: 1}
    with pytest.raises(ConfigErrors) as caught:
        config_from_mapping(wrong, ".", environ={})
    assert sorted(error.key for error in caught.value.errors) == ["3", "arms.a.options.f"]


def test_errors_and_configurations_cross_process_borders(load: Load, refused: Refused) -> None:
    """Pickling keeps every field."""
    errors = pickle.loads(pickle.dumps(ConfigErrors(refused(WRONG))))
    assert [str(error) for error in errors.errors] == [str(error) for error in refused(WRONG)]
    loaded = load(ARM + 'options.key = "${KEY}"\n', environ={"KEY": "v"})
    copy = pickle.loads(pickle.dumps(loaded.config))
    assert copy == loaded.config
    assert copy.written() == loaded.config.written()


def test_loading_needs_no_heavy_library() -> None:
    """Neither a good nor a bad configuration imports Ray or what computes and draws; lines only for an error."""
    program = """
import sys
from orchestrator.config import config_from_mapping
config_from_mapping({"arms": [{"name": "a"}]}, ".", environ={})
heavy = {"ray", "scipy", "numpy", "duckdb", "jinja2", "rich", "tree_sitter"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"
