"""Measure how much hostile PDFs slow down sound PDFs. Fails above a fifth.

    python scripts/bench_hostile.py [--good FOLDER] [--good-count N] [--hostile-count N] [--rounds N]

The figure is sound PDFs per second of child time: their number divided by the sum of their wall times, from
start to result. With two children and two callers, no file waits for a child. The time of a hostile file in
its own child does not count. These costs count: a new child after a kill, a retry after a child died, and
shared cores and memory. Idle time at the end of a run does not count.

Each round reads the same sound files, first alone and then among hostile ones. The best round counts,
because other work on the machine only slows a round down. The exit code is 1 if the ratio is below 0.8 or
if a sound file was not read well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.mutations import generate_mutations  # type: ignore[import-not-found]
from fixtures.pdfs import text_pdf  # type: ignore[import-not-found]
from fonds.config import Settings
from hostile_reading import (  # type: ignore[import-not-found]
    CHILDREN,
    MemoryWatch,
    open_pdf_readers,
    read_all,
)

SHARE_MIN = 0.8
TIMEOUT_S = 3.0
PAGES, LINES = 12, 45
# The kinds that keep a reader busy for long or kill it.
WORST = frozenset(
    {
        "deep-states",
        "endless-drawing",
        "flate-bomb",
        "name-tree-loop",
        "nested-forms",
        "slow-drawing",
    }
)
File = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Run:
    """One round: sound files per second of child time; `bad` names the sound files not read well."""

    per_child_s: float
    statuses: Counter[str]
    bad: tuple[str, ...]
    peak_bytes: int


def main() -> int:
    args = _parse_arguments()
    good = list(_iter_good(args.good, args.good_count))
    hostile = list(_iter_hostile(args.hostile_count))
    mixed = list(_interleave(good, hostile))
    sound_runs, mixed_runs = [], []
    for _ in range(args.rounds):
        sound_runs.append(_run(good))
        mixed_runs.append(_run(mixed))
    share = max(run.per_child_s for run in mixed_runs) / max(run.per_child_s for run in sound_runs)
    for title, runs in (("alone", sound_runs), ("beside hostile ones", mixed_runs)):
        rates = ", ".join(f"{run.per_child_s:.1f}" for run in runs)
        peak = max(run.peak_bytes for run in runs) / 1e6
        print(f"{title:20} {rates} sound PDFs a second of child time; {peak:.0f} MB at most")
    print(f"of {len(hostile)} hostile ones: {dict(mixed_runs[-1].statuses)}")
    bad = sorted({name for run in (*sound_runs, *mixed_runs) for name in run.bad})
    print(f"throughput beside hostile PDFs: {share:.1%} of that without them", *bad)
    return 0 if share >= SHARE_MIN and not bad else 1


def _run(files: Sequence[File]) -> Run:
    settings = Settings().replace_values(work_children=CHILDREN, pdf_timeout_s=TIMEOUT_S)
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryWatch() as watch,
        open_pdf_readers(Path(folder) / "spool", settings) as readers,
    ):
        # Not measured: the fork server loads the parsers for the first files.
        read_all(readers, [(f"first-{n}", text_pdf()) for n in range(CHILDREN)], Path(folder))
        results: list[Any] = read_all(readers, files, Path(folder))
    sound = [result for result in results if result.name.startswith("good/")]
    return Run(
        per_child_s=len(sound) / sum(result.took_s for result in sound),
        statuses=Counter(result.text.status.value for result in results if result not in sound),
        bad=tuple(result.name for result in sound if result.text.status.reason is not None),
        peak_bytes=watch.peak_bytes,
    )


def _iter_good(folder: Path | None, count: int) -> Iterator[File]:
    """Yield sound files of a folder, or generated ones of twelve pages full of words."""
    if folder is not None:
        for path in sorted(folder.rglob("*.pdf"))[:count]:
            yield f"good/{path.name}", path.read_bytes()
        return
    for number in range(count):
        line = f"Sound words of file {number} fill a line and another one after it."
        yield f"good/{number}", text_pdf(["\n".join([line] * LINES)] * PAGES)


def _iter_hostile(count: int) -> Iterator[File]:
    """Yield the first `count` variations of the worst kinds."""
    files = (file for file in generate_mutations(1_000, seed=1) if file.kind in WORST)
    for _, file in zip(range(count), files, strict=False):
        yield file.name, file.data


def _interleave(good: Sequence[File], hostile: Sequence[File]) -> Iterator[File]:
    """Distribute the hostile files evenly among the sound ones."""
    interval = max(1, len(good) // max(1, len(hostile)))
    rest = iter(hostile)
    for turn, file in zip(cycle(range(interval)), good, strict=False):
        yield file
        if turn == 0:
            yield from [
                hostile_file for hostile_file in (next(rest, None),) if hostile_file is not None
            ]


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--good", type=Path, help="folder of sound PDFs instead of our own")
    parser.add_argument("--good-count", type=int, default=300)
    parser.add_argument("--hostile-count", type=int, default=18)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
