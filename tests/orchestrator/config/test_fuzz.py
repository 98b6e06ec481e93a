"""2,000 mutations of configurations that are right: half of their bytes, half of their structure."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import orchestrator
from orchestrator.config import load_config
from spec.errors import ConfigErrors

CONFIGS = Path(orchestrator.__file__).parent.parent / "configs"
SEEDS = [path.read_bytes() for path in sorted(CONFIGS.glob("*.toml"))]
ENVIRON = {"HOME": "hunter2"}

FUZZ = settings(
    max_examples=1000,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

ODD_BYTES = [b"[", b"]", b"[[", b'"', b"'''", b"=", b".", b"\n", b"\r", b"\0", b"\xff", b"${", b"${HOME}", b"#", b"-"]
ODD_VALUES = st.sampled_from(
    [-1, 0, 1, 2**63 - 1, 0.5, 1e300, float("nan"), float("inf"), True, "", "auto", "${HOME}", "${", "x:y", "*", [], {}]
) | st.text(max_size=8)
KEYS = st.sampled_from(["trials", "kind", "name", "use", "options", "arms", "limits", "stop", "", "a.b"]) | st.text(
    max_size=6
)


@st.composite
def changed_bytes(draw: st.DrawFn) -> bytes:
    """A configuration with a few bytes cut out, put in or doubled."""
    data = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        put = draw(st.sampled_from([*ODD_BYTES, data[start:end] * 2]) | st.binary(max_size=4))
        data = data[:start] + put + data[end:]
    return data


def tables(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from tables(item)
    elif isinstance(value, list):
        yield value
        for item in value:
            yield from tables(item)


@st.composite
def changed_structure(draw: st.DrawFn) -> bytes:
    """A configuration with keys lost, renamed, added or of another value, written as TOML again."""
    document = copy.deepcopy(tomllib.loads(draw(st.sampled_from(SEEDS)).decode()))
    for _ in range(draw(st.integers(1, 3))):
        nodes = list(tables(document))
        node = nodes[draw(st.integers(0, len(nodes) - 1))]
        value = copy.deepcopy(draw(ODD_VALUES | st.sampled_from(nodes)))  # else a change reaches what later draws see
        if isinstance(node, list):
            node.insert(draw(st.integers(0, len(node))), value)
        elif node and draw(st.booleans()):
            name = draw(st.sampled_from(list(node)))
            old = node.pop(name)
            node.update(draw(st.sampled_from([{}, {name: value}, {name + "s": old}, {name: [old]}])))
        else:
            node[draw(KEYS)] = value
    return tomli_w.dumps(document).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds one configuration and nothing else."""
    return tmp_path_factory.mktemp("fuzz")


def refusal_of(path: Path) -> ConfigErrors | None:
    """The errors, or None where the file is taken; one that is taken reads back as itself."""
    try:
        loaded = load_config(path, environ=ENVIRON)
    except ConfigErrors as refusal:
        return refusal
    path.write_text(loaded.effective_toml, encoding="utf-8")
    assert load_config(path, environ=ENVIRON).config == loaded.config
    return None


def judge(folder: Path, data: bytes) -> None:
    """Either a configuration, or errors that say where and why; no file is made."""
    path = folder / "run.toml"
    path.write_bytes(data)
    refusal = refusal_of(path)
    for error in refusal.errors if refusal else ():
        assert error.file == str(path)
        assert error.message
        assert error.key or "TOML" in error.message or "UTF-8" in error.message
        assert error.line is None or 1 <= error.line <= data.count(b"\n") + 1
        assert ENVIRON["HOME"] not in str(error)
    assert [entry.name for entry in folder.iterdir()] == ["run.toml"]


@pytest.mark.timeout(300)
@FUZZ
@given(changed_bytes())
def test_changed_bytes_give_a_configuration_or_errors(folder: Path, data: bytes) -> None:
    """Whatever bytes a file holds, it is taken or refused with file and reason; nothing else is raised."""
    judge(folder, data)


@pytest.mark.timeout(300)
@FUZZ
@given(changed_structure())
def test_changed_structure_gives_a_configuration_or_errors(folder: Path, data: bytes) -> None:
    """Whatever keys and values a file holds, it is taken or refused with file, key and reason."""
    judge(folder, data)
