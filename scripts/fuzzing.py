"""Fuzz each target of `tests/nightly/fuzz/targets/` in turn, in a separate environment.

python scripts/fuzzing.py --seconds 600                 # all of them
python scripts/fuzzing.py --seconds 60 cdx codings      # two of them

`.fuzz/` keeps the environment and the inputs found for each target. The exit code is 1 if a promise was
broken; all targets get their time first. `.fuzz/TARGET/crash-…` is the failing input.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".fuzz"
PYTHON = FOLDER / "venv/bin/python"
TARGETS = sorted(path.stem for path in (ROOT / "tests/nightly/fuzz/targets").glob("*.py"))
LOCKS = ("requirements/run.txt", "requirements/fuzz.txt")
INPUT_BYTES_MAX = 8_192
ONE_INPUT_S = 30
MEMORY_MB = 3_000


def set_up() -> None:
    """Install Fonds, its dependencies and the fuzzer into the environment, as locked."""
    locked = "".join((ROOT / lock).read_text("utf-8") for lock in LOCKS)
    mark = PYTHON.parents[1] / "locked"
    if mark.exists() and mark.read_text("utf-8") == locked:
        return
    print(f"Setting up {PYTHON.parents[1]} (a minute or so, again when a lock changes)", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", PYTHON.parents[1]], check=True)
    pip: list[Path | str] = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    for lock in LOCKS:
        subprocess.run([*pip, "--require-hashes", "-r", ROOT / lock], check=True)
    subprocess.run([*pip, "--no-build-isolation", "--editable", ROOT], check=True)
    mark.write_text(locked, "utf-8")


def fuzz(target: str, seconds: int) -> bool:
    """Fuzz a target and print the number of inputs. Returns False if a promise was broken."""
    folder = FOLDER / target
    (folder / "found").mkdir(parents=True, exist_ok=True)
    seeds = folder / "seeds"
    subprocess.run([PYTHON, ROOT / "tests/nightly/fuzz/seeds.py", target, seeds], check=True)
    options = {
        "max_total_time": seconds,
        "max_len": INPUT_BYTES_MAX,
        "timeout": ONE_INPUT_S,
        "rss_limit_mb": MEMORY_MB,
        "artifact_prefix": f"{folder}/",
    }
    words = [f"-{name}={value}" for name, value in options.items()]
    began = time.monotonic()
    with (folder / "log").open("wb") as log:
        done = subprocess.run(
            [PYTHON, ROOT / "tests/nightly/fuzz/run.py", target, folder / "found", seeds, *words],
            stdout=log,
            stderr=log,
            check=False,
        )
    text = (folder / "log").read_text("utf-8", "replace")
    runs = re.findall(r"^(?:Done |#)(\d+)", text, re.MULTILINE)
    took = f"{int(runs[-1]) if runs else 0:,} inputs in {time.monotonic() - began:.0f} s"
    print(f"{target}: {took}, {'held' if not done.returncode else 'BROKEN'}", flush=True)
    if done.returncode:
        print("\n".join(text.splitlines()[-12:])[:4_000], flush=True)
    return not done.returncode


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    words.add_argument("--seconds", type=int, default=600, help="seconds per target")
    chosen = words.parse_args()
    unknown = [name for name in chosen.targets if name not in TARGETS]
    if unknown:
        words.error(f"unknown target {unknown[0]!r}; targets are {', '.join(TARGETS)}")
    set_up()
    os.nice(10)
    results = [fuzz(target, chosen.seconds) for target in chosen.targets or TARGETS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
