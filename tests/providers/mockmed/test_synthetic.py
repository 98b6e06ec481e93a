"""The shipped packs are synthetic: nothing in them could be a person's, a secret or a place on a network."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import orjson
import pytest

import providers.mockmed
from providers.mockmed import MockMed
from spec.task import task_json

FORBIDDEN = {
    "an e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.\w+"),
    "a telephone number": re.compile(r"\+\d[\d ()/-]{6,}\d|\(\d{3}\) ?\d{3}-\d{4}|\b\d{3}[ -]\d{3}[ -]\d{4}\b"),
    "a URL beyond loopback": re.compile(r"\w+://(?!127\.0\.0\.1|localhost|\[::1\])\S+"),
    "an address beyond loopback": re.compile(r"\b(?!127\.)\d{1,3}(?:\.\d{1,3}){3}\b"),
    "a secret": re.compile(
        r"(?i)(password|passwd|secret|api[_-]?key|bearer |BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16})"
    ),
    "a social security number": re.compile(r"\b\d{3}-\d{2}-\d{4}\b"),
}
SAMPLES = {
    "an e-mail address": "write to a.b@example.org",
    "a telephone number": "call +44 20 7946 0000",
    "a URL beyond loopback": "see https://example.org/x",
    "an address beyond loopback": "at 10.0.0.1",
    "a secret": "api_key=1",
    "a social security number": "123-45-6789",
}
NETWORK = re.compile(r"^\s*(?:import|from) (socket|ssl|http|urllib|httpx|requests|aiohttp|subprocess)\b", re.MULTILINE)


def found_in(text: str) -> list[str]:
    return [name for name, pattern in FORBIDDEN.items() if pattern.search(text)]


def sources() -> dict[str, str]:
    folder = Path(inspect.getfile(providers.mockmed)).parent
    return {path.name: path.read_text() for path in folder.glob("*.py")}


def test_the_patterns_see_what_they_forbid() -> None:
    """Each pattern finds its own sample, and loopback is let through."""
    for name, sample in SAMPLES.items():
        assert name in found_in(sample)
    assert found_in("http://127.0.0.1:8080/x and http://localhost/") == []
    assert NETWORK.search("import socket\n")


@pytest.mark.parametrize("pack", ["anchor", "full"])
def test_tasks_and_payloads_are_synthetic(pack: str) -> None:
    """No task, payload or manifest holds anything of the kind."""
    provider = MockMed(pack=pack, split="all")
    for task in provider.tasks():
        texts = [task_json(task), *(provider.payload(task, trial, 0).params for trial in range(20))]
        assert found_in(orjson.dumps(texts).decode()) == []
    assert found_in(orjson.dumps(provider.manifest()).decode()) == []


def test_the_code_is_synthetic_and_off_the_network() -> None:
    """No file of the package holds anything of the kind, or imports a way to a network or another process."""
    assert len(sources()) >= 10
    assert {name: found for name, text in sources().items() if (found := found_in(text))} == {}
    assert [name for name, text in sources().items() if NETWORK.search(text)] == []
