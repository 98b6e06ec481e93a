"""Keeps libraries from writing to standard error by themselves: what fails in them is raised, and told once.

Python prints a library's warnings, tracebacks and all, where nobody has asked for its log.
"""

from __future__ import annotations

import logging


def silence(*names: str) -> None:
    """Print nothing of these libraries' logs unless somebody adds a handler; a second call does nothing.

    Args:
        names: of their loggers, such as ``sqlalchemy``.
    """
    for name in names:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
