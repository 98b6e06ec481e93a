"""A look at the help or a bad configuration costs no import of a heavy library."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

HEAVY: Final = ("ray", "numpy", "scipy", "duckdb", "jinja2", "rich")
IMPORT_WAIT_S: Final = 30


def test_the_command_line_loads_nothing_heavy(project: Mapping[str, Any], root: Path) -> None:
    """Importing the script's module leaves Ray, the numeric libraries and the renderers unloaded."""
    module = project["project"]["scripts"]["trial-orchestrator"].partition(":")[0]
    program = f"import sys, {module}; print(*sorted(set(sys.modules) & {set(HEAVY)}))"
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=IMPORT_WAIT_S, check=True
    )
    assert answer.stdout.split() == []
