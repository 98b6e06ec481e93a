"""A walk over attributes from what an arm gets meets neither the fixture nor anything of the oracle."""

from __future__ import annotations

import contextvars
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import oracle.effect
from arms.base import ArmTask
from arms.environment import Environment, bind_environment
from arms.sync import SyncEnvironment
from providers.mockmed import MockMed

DEPTH: Final = 6
LINKS: Final = ("__dict__", "__closure__", "__self__", "__globals__", "__func__")
Finish = Callable[..., Any]


def contents(thing: object) -> Iterator[object]:
    """What a container or a closure's cell holds."""
    if isinstance(thing, Mapping):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, types.CellType):
        yield thing.cell_contents


def neighbours(thing: object) -> Iterator[object]:
    for link in LINKS:
        if (found := getattr(thing, link, None)) is not None:
            yield found
    slots = getattr(thing, "__slots__", ())
    for name in (slots,) if isinstance(slots, str) else tuple(slots or ()):
        if (found := getattr(thing, name, None)) is not None:
            yield found
    yield from contents(thing)


def reachable(roots: list[object], depth: int) -> list[object]:
    """Everything within ``depth`` steps of the roots, each thing once."""
    seen: dict[int, object] = {id(root): root for root in roots}
    edge = list(roots)
    for _ in range(depth):
        found = {id(other): other for thing in edge for other in neighbours(thing)}
        edge = [thing for key, thing in found.items() if key not in seen]
        seen |= {id(thing): thing for thing in edge}
    return list(seen.values())


def with_methods(thing: object) -> list[object]:
    """A thing and every attribute that ``dir`` names: methods, class methods, the class itself."""
    return [thing, *(getattr(thing, name) for name in dir(thing))]


def belongs_behind(thing: object) -> bool:
    """Whether a thing is a part of the oracle or of a system of record."""
    home = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    return isinstance(home, str) and home.split(".")[0] in {"oracle", "providers", "orchestrator"}


def met(finish: Finish, depth: int) -> list[object]:
    """What the walk meets of what stands behind the proxies, in the middle of a trial."""
    provider = MockMed()
    task = provider.tasks()[0]
    payload = provider.payload(task, 0, 0)
    fixture = finish(provider.open(task, payload))
    backend = fixture.environment
    bind_environment(backend)
    environment, blocking = Environment(), SyncEnvironment()
    told = ArmTask(task.goal, payload.params, backend.tools, payload.seed, 60.0)
    given = (told, environment, environment.verifier, blocking, blocking.verifier)
    screen = finish(environment.attempt_intended_action())
    chart = finish(environment.call("read_chart", patient_id="p1"))
    roots = [root for thing in given for root in with_methods(thing)] + [screen, chart]
    hidden = {id(thing) for thing in (fixture, backend, provider, backend.verifier, fixture._store, task)}
    return [thing for thing in reachable(roots, depth) if id(thing) in hidden or belongs_behind(thing)]


def test_the_walk_meets_nothing_behind_the_proxies(finish: Finish) -> None:
    """From task, proxies, verifier, screens and charts, and every method of them, six steps lead nowhere."""
    assert contextvars.copy_context().run(met, finish, DEPTH) == []


def test_the_walk_finds_what_can_be_found(finish: Finish) -> None:
    """The same walk does find a store in an attribute, a closure, a bound method and the globals behind one."""
    provider = MockMed()
    task = provider.tasks()[0]
    fixture = finish(provider.open(task, provider.payload(task, 0, 0)))

    def closing_over() -> object:
        return fixture

    class Holder:
        __slots__ = ("held",)

        def __init__(self) -> None:
            self.held = [{"deep": fixture}]

    for leak in (closing_over, Holder(), fixture.snapshot):
        assert any(thing is fixture for thing in reachable([leak], DEPTH))
    assert any(thing is oracle.effect for thing in reachable([test_the_walk_finds_what_can_be_found], DEPTH))
