"""Compare the CPU cost of this checkout with that of an earlier commit, on the same input.

    python scripts/bench_against.py [REF] [--rounds 3] [--only small,pdf] [--skip-missing] [--json]

Each task is a command that users run: ingest of small pages, real pages and PDFs, bulk import of an
index, rebuild of the full-text index, audit, search over HTTP, and start-up. Both checkouts run it
in turn, round by round. The cost is the CPU time, user and system, of the command and all its
processes; the least of the rounds counts, because other work on the machine only adds to it.

Without REF, the commit named in `docs/figures.md` is used. The exit code is 1 if a task costs more
than 10 % more than at that commit. A task that seems to do so is measured in up to four more rounds
before it is reported. REF is built once, in `.bench/COMMIT`. The exit code is 2 if this checkout
does not have the commit, or 0 with --skip-missing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench_audit import write_pages
from sample import write_sample

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
FIGURES = ROOT / "docs" / "figures.md"
BUILDS = ROOT / ".bench"

SMALL_PAGES = 2_000
REAL_PAGES = 250
PDF_FILES = 100
CDX_LINES = 40_000
SEARCHES = 200
STARTS = 5
WORSE_MAX = 1.10
"""Highest allowed cost, as a multiple of the cost at the commit before."""
MORE_ROUNDS = 4
"""Additional rounds for a task that seems too expensive, until it no longer does."""
NOISE_S = 0.05
"""Differences of less CPU time than this are noise of the clock, not a slower program."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """Checkout whose commands are measured.

    - `name`: name in tables.
    - `root`: folder with a `.venv`.
    """

    name: str
    root: Path

    def build_command(self, home: Path, *words: str) -> list[str]:
        """Return the command line of a Fonds command on a home."""
        python = self.root / ".venv" / "bin" / "python"
        return [str(python), "-m", "fonds", "--home", str(home), *words]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Cost of one task in two checkouts.

    - `before_s`, `now_s`: least CPU seconds of all rounds.
    - `items`: number of items that the task handles; the table divides by it.
    """

    task: str
    items: int
    before_s: float
    now_s: float

    @property
    def ratio(self) -> float:
        """Cost now as a multiple of the cost before."""
        return self.now_s / self.before_s

    @property
    def is_worse(self) -> bool:
        """Whether the task costs more than is allowed."""
        return self.ratio > WORSE_MAX and self.now_s - self.before_s > NOISE_S


@dataclass(frozen=True, slots=True)
class Inputs:
    """Input files of all tasks: the corpus where it is present, otherwise files made here."""

    small: Path
    real: Path
    pdf: Path
    cdx: Path


Task = Callable[[Checkout, Inputs, Path], float]
"""Run a task and return its CPU seconds.

The path is a library of the small pages, which every task of the checkout uses; an empty library can
be made beside it.
"""


def main() -> None:
    """Compare both checkouts and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ref", nargs="?", help="commit to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help=f"tasks, of {', '.join(TASKS)}")
    parser.add_argument(
        "--skip-missing", action="store_true", help="do nothing if the commit is missing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(TASKS)
    if unknown := set(names) - set(TASKS):
        parser.error(f"unknown tasks: {', '.join(sorted(unknown))}")
    ref = options.ref or read_base_commit()
    commit = find_commit(ref)
    if commit is None:
        print(f"Not compared: this checkout does not have the commit {ref}.", file=sys.stderr)
        sys.exit(0 if options.skip_missing else 2)
    checkouts = [build_checkout(commit), Checkout("now", ROOT)]
    # With this variable, each command would compile all of its modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="bench-against-") as folder:
        inputs = make_inputs(Path(folder))
        for checkout in checkouts:
            (Path(folder) / checkout.name).mkdir()
            run(checkout, Path(folder) / checkout.name / "home", "-q", "ingest", str(inputs.small))
        comparisons = [
            compare(name, checkouts, inputs, options.rounds, Path(folder)) for name in names
        ]
    if options.json:
        print(json.dumps([asdict(row) | {"ratio": round(row.ratio, 3)} for row in comparisons]))
    sys.exit(1 if any(row.is_worse for row in comparisons) else 0)


def read_base_commit() -> str:
    """Return the commit that `docs/figures.md` names as the base of this comparison."""
    match = re.search(r"^Base commit: `([0-9a-f]+)`", FIGURES.read_text(), re.M)
    if match is None:
        sys.exit(f"{FIGURES} names no base commit")
    return match[1]


def find_commit(ref: str) -> str | None:
    """Return the abbreviated hash of a commit; None if this checkout does not have it."""
    result = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--quiet", "--verify", "--short=10", f"{ref}^{{commit}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return result.stdout.strip() or None


def build_checkout(commit: str) -> Checkout:
    """Return a checkout of a commit with its own environment; it is built if it is missing."""
    root = BUILDS / commit
    if not (root / ".venv" / ".run").exists():
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", str(ROOT), str(root)], check=True)
        subprocess.run(["git", "-C", str(root), "checkout", "-q", commit], check=True)
        subprocess.run(["make", "-s", ".venv/.run"], cwd=root, check=True, stdout=sys.stderr)
    return Checkout(commit, root)


def compare(
    task: str, checkouts: Sequence[Checkout], inputs: Inputs, rounds: int, folder: Path
) -> Comparison:
    """Run a task in turn in two checkouts and print the least cost of each."""
    items, run_task = TASKS[task]
    costs: dict[str, list[float]] = {checkout.name: [] for checkout in checkouts}
    for number in range(rounds + MORE_ROUNDS):
        for checkout in checkouts if number % 2 == 0 else reversed(checkouts):
            home = folder / checkout.name / "home"
            costs[checkout.name].append(run_task(checkout, inputs, home))
            shutil.rmtree(home.with_name("empty"), ignore_errors=True)
        before_s, now_s = (min(costs[checkout.name]) for checkout in checkouts)
        comparison = Comparison(task, items, before_s, now_s)
        if number + 1 >= rounds and not comparison.is_worse:
            break
    print(
        f"{task:12} {items:7,} items  {checkouts[0].name} {_format_ms(before_s / items)}"
        f"  now {_format_ms(now_s / items)}  ratio {comparison.ratio:.2f}"
        f"{'  WORSE' if comparison.is_worse else ''}",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    return comparison


def _format_ms(seconds: float) -> str:
    return f"{seconds * 1000:9.3f} ms"


def limit_items(count: int, count_max: int | None) -> int:
    """Return the number of items that a task uses if it may use at most `count_max`; None: all."""
    return count if count_max is None else min(count, count_max)


def make_inputs(folder: Path, documents_max: int | None = None) -> Inputs:
    """Write the input of all tasks into a folder. The choice of files is the same in every run.

    `documents_max` is the maximum number of documents of each kind; None for the usual numbers.
    """
    small = folder / "small.warc.gz"
    write_pages(small, limit_items(SMALL_PAGES, documents_max))
    cdx = folder / "captures.cdx"
    _write_cdx(cdx, CDX_LINES)
    if CORPUS.exists():
        pages, files = limit_items(REAL_PAGES, documents_max), limit_items(PDF_FILES, documents_max)
        real = _copy_files(folder / "real", CORPUS / "html", (".html", ".htm"), pages)
        pdf = _copy_files(folder / "pdf", CORPUS / "pdf", (".pdf",), files)
    else:
        real = pdf = folder / "sample"
        write_sample(real)
    return Inputs(small, real, pdf, cdx)


def _copy_files(folder: Path, source: Path, suffixes: tuple[str, ...], count: int) -> Path:
    folder.mkdir()
    files = sorted(path for path in source.rglob("*") if path.suffix in suffixes)
    for number, path in enumerate(random.Random(1).sample(files, min(count, len(files)))):
        shutil.copyfile(path, folder / f"{number:04}{path.suffix}")
    return folder


def _write_cdx(path: Path, count: int) -> None:
    chance = random.Random(1)
    with path.open("w") as out:
        out.write(" CDX N b a m s k r M S V g\n")
        for number in range(count):
            digest = "".join(chance.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=32))
            out.write(
                f"org,example)/{number}.pdf 20200101000000 http://example.org/{number}.pdf"
                f" application/pdf 200 {digest} - - 5000 {number * 5000} items/a/a.warc.gz\n"
            )


def run(checkout: Checkout, home: Path, *words: str, statuses: Sequence[int] = (0,)) -> float:
    """Run a command and return its CPU seconds. Exits if the command fails."""
    started_s = _read_children_s()
    result = subprocess.run(
        checkout.build_command(home, *words), capture_output=True, cwd=home.parent, check=False
    )
    if result.returncode not in statuses:
        sys.exit(f"{checkout.name}: {words}: {result.returncode}\n{result.stderr.decode()[-2000:]}")
    return _read_children_s() - started_s


def _read_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ingest(files: str) -> Task:
    """Return the task of ingesting input files into an empty library.

    Some of the files may be damaged, so the exit code may be 1.
    """

    def run_task(checkout: Checkout, inputs: Inputs, home: Path) -> float:
        path = getattr(inputs, files)
        return run(checkout, home.with_name("empty"), "-q", "ingest", str(path), statuses=(0, 1))

    return run_task


def import_rows(checkout: Checkout, inputs: Inputs, home: Path) -> float:
    """Import an index in bulk into an empty library: rows without bodies."""
    return run(checkout, home.with_name("empty"), "-q", "backfill", "cdx", str(inputs.cdx))


def search(checkout: Checkout, inputs: Inputs, home: Path) -> float:
    """Send searches to a server, one after the other, and stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started_s = _read_children_s()
    server = subprocess.Popen(
        checkout.build_command(home, "serve", "--port", str(port)),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home.parent,
    )  # fmt: skip
    try:
        _wait_for(port)
        for number in range(SEARCHES):
            words = f"word{number}+word{number * 7 % 3000}"
            url = f"http://127.0.0.1:{port}/api/search?q={words}"
            with urllib.request.urlopen(url, timeout=60) as response:
                response.read()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    return _read_children_s() - started_s


def _wait_for(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    sys.exit("the server does not start")


def run_command(*words: str, times: int = 1) -> Task:
    """Return the task of running a command a number of times on the library of small pages."""

    def run_task(checkout: Checkout, inputs: Inputs, home: Path) -> float:
        return sum(run(checkout, home, *words) for _ in range(times))

    return run_task


TASKS: Mapping[str, tuple[int, Task]] = {
    "small": (SMALL_PAGES, ingest("small")),
    "real": (REAL_PAGES, ingest("real")),
    "pdf": (PDF_FILES, ingest("pdf")),
    "rows": (CDX_LINES, import_rows),
    "index": (SMALL_PAGES, run_command("-q", "reindex")),
    "audit": (SMALL_PAGES, run_command("-q", "audit")),
    "search": (SEARCHES, search),
    "version": (STARTS, run_command("--version", times=STARTS)),
    "help": (STARTS, run_command("--help", times=STARTS)),
    "status": (STARTS, run_command("status", times=STARTS)),
    "find": (STARTS, run_command("search", "word1", times=STARTS)),
}
"""Number of items and the task, by the name of the task."""


if __name__ == "__main__":
    main()
