"""Finds what a configuration names: arms, providers and kinds; and lists those, and channels, that have a name.

A name is looked up among the entry points (groups ``orchestrator.arms``, ``.providers`` and ``.channels``), where
other packages may add theirs. ``"module:attribute"`` is imported; for arms, providers and kinds the configuration's
own folder is the first place to look, and it is on ``sys.path`` only while that import lasts, so a module that
imports its neighbours does so at its top. Channels are opened by the oracle (``oracle.hosting``) and never come from
that folder.

Every failure is one ``ConfigError`` without file and line; ``resolve_all`` adds them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from orchestrator.config import LoadedConfig
from orchestrator.config.rules import is_reference, nearest
from orchestrator.distribution import DISTRIBUTION
from orchestrator.kinds import KINDS
from orchestrator.kinds.base import Kind
from orchestrator.shadow import OUR_PACKAGES, shadows
from spec.errors import ConfigError, ConfigErrors, let_interruptions_through
from spec.sources import UNKNOWN, module_digest
from spec.text import describe

_REASON_CHARS_MAX: Final = 300
Found = TypeVar("Found")


class Listed(NamedTuple):
    """A plug-in that can be named.

    Attributes:
        name: what to write in the configuration.
        origin: the distribution that brings it, "built in" for ours.
        target: ``module:attribute``.
    """

    name: str
    origin: str
    target: str


@dataclass(frozen=True, slots=True)
class Plugins:
    """Everything that a configuration names, found and imported.

    Attributes:
        arms: by the arms' names, in the configuration's order.
    """

    kind: Kind
    provider: Callable[..., Any]
    arms: dict[str, Callable[..., Any]]


def list_arms() -> list[Listed]:
    """The arms that have a name."""
    return _listed("arms")


def list_providers() -> list[Listed]:
    """The providers that have a name."""
    return _listed("providers")


def list_channels() -> list[Listed]:
    """The channels that have a name."""
    return _listed("channels")


def resolve_arm(use: str, folder: Path) -> Callable[..., Any]:
    """The arm: a function, or a class that is called with its options.

    Raises:
        ConfigError: it is not there, cannot be imported, or cannot be called.
    """
    return _callable(_resolve("arms", use, folder), use)


def resolve_provider(use: str, folder: Path) -> Callable[..., Any]:
    """The provider's factory.

    Raises:
        ConfigError: it is not there, cannot be imported, or cannot be called.
    """
    return _callable(_resolve("providers", use, folder), use)


def resolve_kind(use: str, folder: Path) -> Kind:
    """The kind of measurement.

    Raises:
        ConfigError: it is not there, cannot be imported, or is no ``Kind``.
    """
    if use in KINDS:
        return KINDS[use]
    if not is_reference(use):
        raise ConfigError(f"no kind of measurement is named {use!r}", hint=nearest(use, list(KINDS)))
    found = import_reference(use, folder)
    if not isinstance(found, Kind):
        raise ConfigError(f"{use} is no orchestrator.kinds.base.Kind, but a {type(found).__name__}")
    return found


def resolve_all(loaded: LoadedConfig) -> Plugins:
    """Everything that the configuration names.

    Raises:
        ConfigErrors: with every name that could not be resolved, each with its file and line.
    """
    errors: list[ConfigError] = []

    def attempt(place: tuple[str, ...], resolve: Callable[[str, Path], Found], use: str) -> Found | None:
        try:
            return resolve(use, loaded.folder)
        except ConfigError as error:
            errors.append(loaded.error(place, error.message, error.hint))
            return None

    config = loaded.config
    found_kind = attempt(("run", "kind"), resolve_kind, config.run.kind)
    found_provider = attempt(("provider", "use"), resolve_provider, config.provider.use)
    arms = {arm.name: attempt(("arms", arm.name, "use"), resolve_arm, arm.use) for arm in config.arms}
    if found_kind is None or found_provider is None or errors:
        raise ConfigErrors(errors)
    return Plugins(found_kind, found_provider, {name: arm for name, arm in arms.items() if arm is not None})


def takes_folder(factory: Callable[..., Any]) -> bool:
    """Whether a provider's factory wants to know the configuration's folder, since it reads files from there."""
    try:
        return "folder" in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False


def call_factory(
    factory: Callable[..., Any], *, pack: str, split: str, options: Mapping[str, Any], folder: Path
) -> Any:  # noqa: ANN401 - whatever a user's factory makes; preparation looks at its parts
    """What a provider's factory makes of the configuration.

    Args:
        factory: called with what follows, with the folder only if it has a parameter of that name.
        pack: which pack of tasks.
        split: which part of it.
        options: what the provider itself takes.
        folder: where the configuration lies, in this process.
    """
    more = {"folder": folder} if takes_folder(factory) else {}
    return factory(pack=pack, split=split, options=dict(options), **more)


def module_of(plugin: object) -> str:
    """The name of the module that a plug-in comes from."""
    while isinstance(plugin, functools.partial):
        plugin = plugin.func
    return getattr(plugin, "__module__", None) or type(plugin).__module__


def code_digest(plugin: object) -> str | None:
    """``sha256:`` over the source file of a plug-in's module; None where there is no such file.

    Covers that one file, not what it imports.
    """
    digest = module_digest(module_of(plugin))
    return None if digest == UNKNOWN else digest


def import_reference(reference: str, folder: Path | None) -> object:
    """What ``module:attribute`` names.

    Args:
        reference: the module's dotted name and, behind the colon, the attribute's.
        folder: the first place to look, or None for installed modules only.

    Raises:
        ConfigError: with the reason, and for a failure inside the module its place.
    """
    module_name, _, attribute = reference.partition(":")
    module = _import(module_name, folder)
    try:
        return _attribute(module, module_name, attribute)
    except ConfigError:
        raise
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything
        let_interruptions_through(error)
        raise ConfigError(describe(error, f"{reference} cannot be had")) from None


def _attribute(module: object, module_name: str, attribute: str) -> object:
    found: object = module
    for name in attribute.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            known = [known for known in dir(found) if not known.startswith("_")]
            where = getattr(module, "__file__", None) or module_name
            raise ConfigError(f"{where} has no {attribute!r}", hint=nearest(name, known)) from None
    return found


def _resolve(group: str, use: str, folder: Path) -> object:
    if is_reference(use):
        return import_reference(use, folder)
    found = [point for point in _entry_points(group) if point.name == use]
    if not found:
        names = sorted({point.name for point in _entry_points(group)})
        raise ConfigError(f"no {group[:-1]} is named {use!r}", hint=nearest(use, names))
    if len({point.value for point in found}) > 1:
        origins = ", ".join(sorted(_origin(point) for point in found))
        hint = 'write "module:attribute" for the one that is meant'
        raise ConfigError(f"several installed packages bring {group} named {use!r}: {origins}", hint=hint)
    return import_reference(found[0].value, None)


def _callable(found: object, use: str) -> Callable[..., Any]:
    if not callable(found):
        raise ConfigError(f"{use} cannot be called: it is a {type(found).__name__}")
    return found


def _entry_points(group: str) -> Sequence[EntryPoint]:
    return tuple(entry_points(group=f"orchestrator.{group}"))


def _origin(point: EntryPoint) -> str:
    name = point.dist.name if point.dist is not None else "unknown"
    return "built in" if name == DISTRIBUTION else name


def _listed(group: str) -> list[Listed]:
    listed = {Listed(point.name, _origin(point), point.value) for point in _entry_points(group)}
    return sorted(listed, key=lambda entry: (entry.origin != "built in", entry.name, entry.origin))


def _import(name: str, folder: Path | None) -> object:
    if folder is not None:
        _refuse_hidden(name, folder)
    try:
        with _first_on_path(folder):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ConfigError(f"there is no module {name!r}", hint=_module_hint(name, folder)) from None
        raise _import_failure(name, folder, error) from None
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything
        let_interruptions_through(error)
        raise _import_failure(name, folder, error) from None


@contextlib.contextmanager
def _first_on_path(folder: Path | None) -> Iterator[None]:
    """Look into ``folder`` before anywhere else; afterwards the path is as it was."""
    if folder is None:
        yield
        return
    # Loaded first, so that a folder's ``models.py`` can never become the ``models`` that ours import later.
    for name in OUR_PACKAGES:
        importlib.import_module(name)
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(entry)


def _refuse_hidden(name: str, folder: Path) -> None:
    """Refuse a module of the folder that an already loaded one of the same name would hide."""
    top = name.partition(".")[0]
    if top in OUR_PACKAGES:
        for shadow in shadows([str(folder)]):
            if shadow.name == top:
                raise ConfigError(str(shadow))
        return
    mine, loaded = PathFinder.find_spec(top, [str(folder)]), sys.modules.get(top)
    if mine is None or mine.origin is None or loaded is None:
        return
    other = getattr(loaded, "__file__", None)
    if other is None or Path(other).resolve() != Path(mine.origin).resolve():
        where = other or "the interpreter"
        raise ConfigError(f"{mine.origin} has the name of a module that is loaded already, from {where}; rename it")


def _module_hint(name: str, folder: Path | None) -> str:
    if folder is None:
        return "is the package that brings it installed?"
    try:
        found = sorted(
            path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
        )
    except OSError:
        found = []
    hint = nearest(name, found[:20]) if found else ""
    return f"looked in {folder} and among what is installed" + (f"; {hint}" if hint else "")


def _import_failure(name: str, folder: Path | None, error: BaseException) -> ConfigError:
    """What went wrong inside a module, with the last place in the user's own code."""
    reason = " ".join(traceback.format_exception_only(error)[-1].split())[:_REASON_CHARS_MAX]
    hint = ""
    if folder is not None and isinstance(error, ImportError):
        missing = (error.name or "").partition(".")[0]
        hint = "; ".join(str(shadow) for shadow in shadows([str(folder)]) if shadow.name == missing)
    return ConfigError(f"{_failure_place(error, folder)}importing {name} failed: {reason}", hint=hint)


def _failure_place(error: BaseException, folder: Path | None) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    frames = [(file, line) for file, line in frames if not file.startswith("<frozen") and file not in _INNER_FILES]
    own = [(file, line) for file, line in frames if folder is not None and Path(file).is_relative_to(folder)]
    for file, line in reversed(own or frames):
        return f"{file}:{line}: "
    return ""


_INNER_FILES: Final = (__file__, importlib.__file__)
