"""What a configuration names becomes an arm, or an error that says why it cannot."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator

import pytest

from arms.baselines import screen_only
from arms.loading import instantiate, is_blocking
from spec.errors import ConfigError


class Patient:
    """An async arm with options."""

    def __init__(self, tries: int, *, model: str = "none") -> None:
        if tries < 0:
            raise ValueError("tries must not be negative")
        self.tries, self.model = tries, model

    async def __call__(self, task: object, environment: object) -> dict[str, object]:
        return {"reported_success": False}


class Blocking:
    """A sync arm that takes any option."""

    def __init__(self, **options: object) -> None:
        self.options = options

    def __call__(self, task: object, environment: object) -> dict[str, object]:
        return {"reported_success": False}


class Mute:
    """No arm: its instances cannot be called."""


def plain(task: object, environment: object) -> dict[str, object]:
    return {"reported_success": False}


def lonely(task: object) -> dict[str, object]:
    return {"reported_success": False}


def yielding(task: object, environment: object) -> Iterator[int]:
    yield 1


async def streaming(task: object, environment: object) -> AsyncIterator[int]:
    yield 1


class YieldingCall:
    """No arm: its call yields."""

    def __call__(self, task: object, environment: object) -> Iterator[int]:
        yield 1


def test_a_function_is_the_arm_itself() -> None:
    """A function without options is returned as it stands."""
    assert instantiate(screen_only, {}) is screen_only
    assert instantiate(plain, {}) is plain


def test_a_class_is_called_once_with_its_options() -> None:
    """The instance of a class is the arm, and it has got the options."""
    arm = instantiate(Patient, {"tries": 2, "model": "small"})
    assert isinstance(arm, Patient)
    assert (arm.tries, arm.model) == (2, "small")
    open_ended = instantiate(Blocking, {"anything": 1})
    assert isinstance(open_ended, Blocking)
    assert open_ended.options == {"anything": 1}


def test_an_instance_is_an_arm() -> None:
    """A callable object that already exists is taken without options."""
    made = Patient(1)
    assert instantiate(made, {}) is made
    with pytest.raises(ConfigError, match="takes no options, but got tries") as caught:
        instantiate(made, {"tries": 3}, key="arms.mine")
    assert caught.value.key == "arms.mine.options"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (3, "cannot be called"),
        (Mute, "cannot be called"),
        (lonely, "must take"),
        (yielding, "yields instead of returning"),
        (streaming, "yields instead of returning"),
        (YieldingCall, "yields instead of returning"),
    ],
)
def test_what_is_no_arm_is_refused(target: object, message: str) -> None:
    """A thing that cannot be called with task and environment, or that yields, is refused under ``use``."""
    with pytest.raises(ConfigError, match=message) as caught:
        instantiate(target, {}, key="arms.mine")
    assert caught.value.key == "arms.mine.use"


def test_all_misfits_of_options_are_told_at_once() -> None:
    """Unknown and missing options come in one message, with the nearest name as the hint."""
    with pytest.raises(ConfigError) as caught:
        instantiate(Patient, {"modell": "x"})
    assert "no option 'modell'" in caught.value.message
    assert "needs the option 'tries'" in caught.value.message
    assert caught.value.hint == "did you mean model?"
    assert caught.value.key == "arms.options"


def test_a_constructor_that_refuses_is_a_config_error() -> None:
    """The constructor's own complaint stands in the message."""
    with pytest.raises(ConfigError, match="ValueError: tries must not be negative"):
        instantiate(Patient, {"tries": -1})


def test_blocking_is_told_from_awaiting() -> None:
    """Coroutine functions, partials of them and objects with an async call await; everything else blocks."""
    assert not is_blocking(screen_only)
    assert not is_blocking(functools.partial(screen_only))
    assert not is_blocking(Patient(1))
    assert is_blocking(plain)
    assert is_blocking(Blocking())
