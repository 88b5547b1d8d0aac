"""Fuzz one target until the time ends or a property fails.

    python tests/nightly/fuzz/run.py TARGET FOUND SEEDS -max_total_time=600

TARGET is a module of `tests/nightly/fuzz/targets/`. New inputs are written to FOUND, and the input of a
crash to the current folder. `make fuzz` runs all targets. `docs/howto/fuzz.md` explains how to handle a
crash.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))


def main() -> None:
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["fonds"]):
        target = import_module(f"nightly.fuzz.targets.{name}")
    atheris.Setup(sys.argv, target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
