"""From a TOML file, or a mapping in Python, to a checked configuration.

The steps are: read, parse, apply what the command line sets, fill in environment variables, check, choose arms. All
problems that a step finds are told together. Nothing is written and nothing but the file is opened.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.config.effective import effective_toml
from orchestrator.config.model import RunConfig, WrittenText
from orchestrator.config.overrides import (
    Override,
    apply_override,
    arm_names,
    choose_arms,
    parse_override,
    repeated_names,
)
from orchestrator.config.problems import Origin, Problem, from_pydantic
from orchestrator.config.values import Resolver, thawed, too_deep
from spec.errors import ConfigError, ConfigErrors
from spec.toml_lines import Place

FILE_BYTES_MAX: Final = 1024 * 1024
"""The largest configuration file that is parsed, in bytes."""

KEY_PARTS_MAX: Final = 64
"""How many names a dotted key may have; tomllib takes time with the square of it."""

_KEY_PART: Final = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY: Final = re.compile(rf"(?m)(?:^|[\[{{,])[ \t]*+(?:{_KEY_PART}\.[ \t]*+){{{KEY_PARTS_MAX}}}")
_TOML_LINE: Final = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What the command line leaves out of a run beyond what the file says.

    Attributes:
        tasks: globs, of which a task must match one; empty: all.
        limit: only the first so many tasks, in the pack's order; None: all.
    """

    tasks: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A checked configuration, and where it came from.

    Attributes:
        config: the values, with environment variables filled in.
        source: the file as it was named, or None where it was made in Python.
        folder: the absolute folder from which ``module:attribute`` and relative paths are found.
        effective_toml: the complete configuration as a file, with ``${NAME}`` instead of values.
        narrowing: what is still to be applied once the tasks are known; see ``choose_tasks``.
        origin: finds the line of a key.
    """

    config: RunConfig
    source: Path | None
    folder: Path
    effective_toml: str
    narrowing: Narrowing = Narrowing()
    origin: Origin = field(default_factory=Origin, repr=False)

    def error(self, place: Place, message: str, hint: str = "") -> ConfigError:
        """An error at a key, with its file and line.

        Args:
            place: as in ``("provider", "pack")``; an arm's second step is its name.
            message: what is wrong.
            hint: what to do instead.
        """
        if len(place) > 1 and place[0] == "arms" and isinstance(place[1], str):
            names = arm_names(dict(self.origin.document))
            if place[1] in names:
                place = ("arms", names.index(place[1]), *place[2:])
        return self.origin.error(place, message, hint)

    def with_config(self, config: RunConfig, *, narrowing: Narrowing | None = None) -> LoadedConfig:
        """The same with other values; the effective file follows, the narrowing stays unless a new one is given."""
        kept = self.narrowing if narrowing is None else narrowing
        return dataclasses.replace(self, config=config, effective_toml=effective_toml(config), narrowing=kept)


def load_config(
    path: Path | str,
    *,
    environ: Mapping[str, str],
    sets: Sequence[str] = (),
    tasks: Sequence[str] = (),
    arms: Sequence[str] = (),
    split: str | None = None,
    limit: int | None = None,
    folder: Path | None = None,
) -> LoadedConfig:
    """Read, check and narrow a configuration.

    Args:
        path: the TOML file.
        environ: environment variables for ``${NAME}``.
        sets: ``key=value`` texts; a later one wins.
        tasks: globs that narrow the file's tasks; applied by ``choose_tasks``.
        arms: names of the only arms that run; empty: all.
        split: takes the place of ``provider.split``.
        limit: run only the first so many tasks, in the pack's order; applied by ``choose_tasks``.
        folder: where ``module:attribute`` is found, if not beside the file (a run's own copy lies elsewhere).

    Raises:
        ConfigErrors: with every problem found.
    """
    path = Path(path)
    text = _read(path)
    document = _parse(text, str(path))
    request = _Request(environ, sets if split is None else (*sets, f"provider.split={split}"), arms)
    narrowing = Narrowing(tuple(tasks), limit)
    home = path.absolute().parent if folder is None else folder.absolute()
    return _check(document, Origin(str(path), text), request, narrowing, home)


def config_from_mapping(
    mapping: Mapping[str, Any], folder: Path | str, *, environ: Mapping[str, str], sets: Sequence[str] = ()
) -> LoadedConfig:
    """A configuration made in Python, with the keys of the TOML file.

    Args:
        mapping: tables as mappings, ``arms`` as a list of them.
        folder: where ``module:attribute`` is found.
        environ: environment variables for ``${NAME}``.
        sets: as for ``load_config``.

    Raises:
        ConfigErrors: with every problem found.
    """
    return _check(mapping, Origin(), _Request(environ, sets), Narrowing(), Path(folder).absolute())


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked beside the file."""

    environ: Mapping[str, str]
    sets: Sequence[str] = ()
    arms: Sequence[str] = ()


def _read(path: Path) -> str:
    """The file's text, refused by its size before it is parsed."""
    name = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise ConfigErrors([ConfigError("there is no such file", file=name, hint=_beside(path))]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigErrors([ConfigError(f"cannot be read: {reason}", file=name)]) from None
    if len(data) > FILE_BYTES_MAX:
        raise ConfigErrors([ConfigError(f"is larger than {FILE_BYTES_MAX} bytes", file=name)])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {error.start} is not UTF-8"
        raise ConfigErrors([ConfigError(message, file=name, line=line, hint="save the file as UTF-8")]) from None


def _beside(path: Path) -> str:
    """Which TOML files stand where one was looked for."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix == ".toml")[:8]
    except (OSError, ValueError):
        return ""
    return f"beside it: {', '.join(names)}" if names else ""


def _parse(text: str, name: str) -> dict[str, Any]:
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.end()) + 1
        raise ConfigErrors([ConfigError(f"a key has more than {KEY_PARTS_MAX} parts", file=name, line=line)])
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigErrors([ConfigError("tables and lists are nested too deep", file=name)]) from None
    except ValueError as error:
        message = str(error)
        match = _TOML_LINE.search(message)
        line = int(match[1]) if match else text.count("\n") + 1
        reason = _TOML_LINE.sub(f" (column {match[2]})", message) if match else message
        raise ConfigErrors([ConfigError(f"is not TOML: {reason}", file=name, line=line)]) from None


def _check(
    written: Mapping[str, Any], origin: Origin, request: _Request, narrowing: Narrowing, folder: Path
) -> LoadedConfig:
    deep = too_deep(written)
    if deep is not None:
        raise origin.errors([deep])
    document = {name: thawed(value) for name, value in written.items()}
    overridden, problems = _apply(document, request.sets)
    origin = dataclasses.replace(origin, document=document, overridden=overridden)
    deep = too_deep(document)
    if deep is not None:
        raise origin.errors([*problems, deep])
    left_out, unknown_arms = choose_arms(document, request.arms)
    resolver = Resolver(request.environ, _places(document, left_out))
    values = resolver.table(document)
    problems += [*unknown_arms, *_narrowing_problems(narrowing), *resolver.problems, *repeated_names(document)]
    config = _validate(values, document, problems)
    if config is None or problems:
        raise origin.errors(problems)
    kept = tuple(arm for arm in config.arms if arm.name not in left_out)
    config = config.model_copy(update={"arms": kept}).with_texts(_by_name(resolver.texts, values))
    source = Path(origin.file) if origin.file else None
    return LoadedConfig(config, source, folder, effective_toml(config), narrowing, origin)


def _apply(document: dict[str, Any], sets: Sequence[str]) -> tuple[list[Place], list[Problem]]:
    """Apply every ``--set``; where values were set, and what went wrong."""
    places: list[Place] = []
    problems: list[Problem] = []
    for text in sets:
        override = parse_override(text)
        done = apply_override(document, override) if isinstance(override, Override) else override
        if isinstance(done, Problem):
            problems.append(done)
        else:
            places.append(done)
    return places, problems


def _narrowing_problems(narrowing: Narrowing) -> list[Problem]:
    problems = []
    if narrowing.limit is not None and narrowing.limit < 1:
        problems.append(Problem((), f"--limit must be at least 1, not {narrowing.limit}", by_command=True))
    if any(not glob for glob in narrowing.tasks):
        problems.append(Problem((), "--task must not be empty", by_command=True))
    return problems


def _validate(values: dict[str, Any], document: Mapping[str, Any], problems: list[Problem]) -> RunConfig | None:
    """The configuration, or None with more problems."""
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        problems += from_pydantic(error, document, problems)
        return None


def _places(document: dict[str, Any], names: frozenset[str]) -> frozenset[Place]:
    return frozenset(("arms", index) for index, name in enumerate(arm_names(document)) if name in names)


def _by_name(texts: Mapping[Place, WrittenText], values: Mapping[str, Any]) -> dict[tuple[str, ...], WrittenText]:
    """Texts by places in which an arm stands by its name."""
    named = {}
    for place, text in texts.items():
        if place[0] == "arms":
            place = ("arms", values["arms"][place[1]]["name"], *place[2:])
        named[tuple(str(step) for step in place)] = text
    return named
