"""Write the first inputs of a fuzzer to files: `python tests/nightly/fuzz/seeds.py TARGET FOLDER`."""

from __future__ import annotations

import sys
from hashlib import sha1
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))


def main(target: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in import_module(f"nightly.fuzz.targets.{target}").seeds():
        (folder / sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
