"""What a terminal and a run say to each other."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.control.protocol import (
    TEXT_CHARS_MAX,
    Answer,
    Command,
    Look,
    Request,
    Set,
    ViewTold,
    read_answer,
    read_request,
    refusal,
    to_line,
)
from orchestrator.engine.view import RunView, TrialView

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
VIEWS = st.builds(
    TrialView,
    TEXTS,
    st.integers(1, 99),
    TEXTS,
    TEXTS,
    TEXTS,
    st.floats(0, 1e9),
    st.floats(0, 1e9),
    TEXTS,
    st.text(st.characters(codec="utf-8"), max_size=3000),
)


@given(st.lists(VIEWS, max_size=4), st.booleans(), st.floats(0, 1e9))
def test_what_is_told_is_what_is_heard(trials: list[TrialView], flag: bool, silent_s: float) -> None:
    """A look, put on the wire and read again, is the same look; a sentence that is too long is cut."""
    told = ViewTold.of(RunView(flag, not flag, silent_s, 256, tuple(trials)))
    heard = read_answer(to_line(Answer(done=True, view=told)))
    assert heard is not None
    assert heard.view == told
    for trial, again in zip(trials, told.trials, strict=True):
        assert again.model_dump() == {**trial._asdict(), "waits_for": trial.waits_for[:TEXT_CHARS_MAX]}


def test_a_look_has_a_bound() -> None:
    """Trials beyond it are left off, and counted."""
    trial = TrialView("a", 1, "running", "worker-0", "oracle-0", 1.0, 1.0, "Ready", "x" * 100)
    told = ViewTold.of(RunView(False, False, 0.0, 256, (trial,) * 50), trials_bytes_max=5000)
    assert 0 < len(told.trials) < 50
    assert len(told.trials) + told.left_off == 50
    assert len(told.model_dump_json()) < 6000


@pytest.mark.parametrize(
    "request_",
    [
        *(Command(run="1:2", do=do) for do in ("pause", "unpause", "drain", "cancel")),
        Set(run="1:2", text="a=1"),
        Look(run="1:2"),
        Look(run="1:2", key="k"),
    ],
)
def test_a_request_is_read_as_it_was_made(request_: Request) -> None:
    """Each kind of request comes back equal, as the class that it was."""
    assert type(request_) in get_args(Request)
    assert read_request(to_line(request_)) == request_


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"null",
        b"[]",
        b"{",
        b'{"format":1}',
        b'{"format":2,"run":"1:2","do":"pause"}',
        b'{"format":"1","run":"1:2","do":"pause"}',
        b'{"format":1,"run":12,"do":"pause"}',
        b'{"format":1,"run":"1:2","do":"explode"}',
        b'{"format":1,"run":"1:2","do":"pause","text":"x"}',
        b'{"format":1,"run":"1:2","do":"set"}',
        b'{"format":1,"run":"1:2","do":"set","text":"' + b"x" * 5000 + b'"}',
        b"\xff\xfe",
        b"[" * 10_000,
    ],
)
def test_what_is_no_request_is_none(line: bytes) -> None:
    """Nothing unknown, nothing converted, nothing too long."""
    assert read_request(line) is None


@given(st.binary(max_size=200))
def test_no_bytes_break_a_reader(data: bytes) -> None:
    """Whatever arrives is a message or none, and never an error."""
    read_request(data)
    read_answer(data)


def test_a_refusal_fits() -> None:
    """However long its texts are, it can be sent."""
    assert read_answer(to_line(refusal("x" * 9999, hint="y" * 9999, key="z" * 9999))) is not None
