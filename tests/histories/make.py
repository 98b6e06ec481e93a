"""Makes the run directory of the present format: ``python tests/histories/make.py tests/histories/format-1``.

A directory here is never made again once it is released: it is what an old run looks like. Beside the files of the run
that later versions must read stands ``expected-summary.json``, what they must make of it, byte for byte.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ("run.toml", "manifest.json", "journal.jsonl", "episodes.jsonl")


def main(target: Path) -> None:
    """Run the full pack once, inline, in a folder that is nowhere, and keep what a later version needs."""
    with tempfile.TemporaryDirectory() as name:
        run_dir = Path(name) / "run"
        shutil.copy(ROOT / "configs" / "full.toml", Path(name) / "full.toml")
        words = ["--config", f"{name}/full.toml", "--inline", "--quiet", "--set", "run.trials=1", "--run-dir", run_dir]
        subprocess.run([sys.executable, "-m", "orchestrator", *map(str, words)], check=True)
        target.mkdir(parents=True)
        for kept in KEPT:
            text = (run_dir / kept).read_text()
            (target / kept).write_text(text.replace(name, "/nowhere").replace(platform.platform(), "Linux"))
        shutil.copy(run_dir / "summary.json", target / "expected-summary.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
