"""``python -m tests.checker RUN_DIR [UNDISTURBED_RUN_DIR]``: prints what is violated, ends with 1 if anything is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.checker.judge import check


def main(words: list[str]) -> int:
    """Check one run directory."""
    parser = argparse.ArgumentParser(prog="python -m tests.checker", description="Judge a run from its files alone.")
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("undisturbed", type=Path, nargs="?", help="a run directory with the results it must have")
    parser.add_argument("--owed", type=int, default=0, help="how many trials are owed")
    given = parser.parse_args(words)
    found = check(given.run_dir, undisturbed=given.undisturbed, owed=given.owed)
    print("\n".join(map(str, found)) or "nothing is violated")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
