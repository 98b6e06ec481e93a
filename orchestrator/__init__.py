"""Runs trials of agents that act on records, on Ray or inline, and says how often "done" was not true.

The door for Python users; see ``orchestrator.door``. Its names are loaded when they are first used, so that the
command line does not pay for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.config import RunConfig
    from orchestrator.door import Result, evaluate, load, run

__all__ = ["Result", "RunConfig", "evaluate", "load", "run"]

if not TYPE_CHECKING:  # a checker sees the names above, and no others

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from orchestrator import door

        return getattr(door, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
