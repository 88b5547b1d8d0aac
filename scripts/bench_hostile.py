"""Measures what hostile PDFs cost the sound ones read beside them, and fails when it is over a fifth.

    python scripts/bench_hostile.py [--good FOLDER] [--good-count N] [--hostile-count N] [--rounds N]

The figure is sound PDFs for each second of child time they had: their number by the sum of the wall
times from a sound file's being taken up to its result, with two children and two callers, so that no
file waits for a child. Time a hostile file holds its own child is not the sound ones'; what it costs
them is: a new child after one was killed, a second try after a child died, cores and memory shared.
Idle time at the end of a run, when one child is still busy with the last hostile file, is nobody's.

Each round reads the same sound files alone and beside the hostile ones, in turn; the best round of
each counts, because other work on the machine only ever slows one down. Exit code 1 below 0.8, and
when a sound file was not read well.
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

from fixtures.mutations import mutations  # type: ignore[import-not-found]
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
# The kinds that hold a reader long or end its life.
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
    """`per_child_s` is sound files for each second of child time; `bad` names those not read well."""

    per_child_s: float
    statuses: Counter[str]
    bad: tuple[str, ...]
    peak_bytes: int


def main() -> int:
    asked = _asked()
    good = list(_good(asked.good, asked.good_count))
    hostile = list(_hostile(asked.hostile_count))
    mixed = list(_interleaved(good, hostile))
    alone, beside = [], []
    for _ in range(asked.rounds):
        alone.append(_run(good))
        beside.append(_run(mixed))
    share = max(one.per_child_s for one in beside) / max(one.per_child_s for one in alone)
    for title, runs in (("alone", alone), ("beside hostile ones", beside)):
        rates = ", ".join(f"{run.per_child_s:.1f}" for run in runs)
        peak = max(run.peak_bytes for run in runs) / 1e6
        print(f"{title:20} {rates} sound PDFs a second of child time; {peak:.0f} MB at most")
    print(f"of {len(hostile)} hostile ones: {dict(beside[-1].statuses)}")
    bad = sorted({name for one in (*alone, *beside) for name in one.bad})
    print(f"throughput beside hostile PDFs: {share:.1%} of that without them", *bad)
    return 0 if share >= SHARE_MIN and not bad else 1


def _run(files: Sequence[File]) -> Run:
    settings = Settings().replace_values(work_children=CHILDREN, pdf_timeout_s=TIMEOUT_S)
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryWatch() as watch,
        open_pdf_readers(Path(folder) / "spool", settings) as readers,
    ):
        # Not counted: the fork_server loads the parsers for the first files.
        read_all(readers, [(f"first-{n}", text_pdf()) for n in range(CHILDREN)], Path(folder))
        found: list[Any] = read_all(readers, files, Path(folder))
    sound = [one for one in found if one.name.startswith("good/")]
    return Run(
        per_child_s=len(sound) / sum(one.took_s for one in sound),
        statuses=Counter(one.text.status.value for one in found if one not in sound),
        bad=tuple(one.name for one in sound if one.text.status.reason is not None),
        peak_bytes=watch.peak_bytes,
    )


def _good(folder: Path | None, count: int) -> Iterator[File]:
    """Sound files of a folder, or of ours: twelve pages full of words each."""
    if folder is not None:
        for path in sorted(folder.rglob("*.pdf"))[:count]:
            yield f"good/{path.name}", path.read_bytes()
        return
    for number in range(count):
        line = f"Sound words of file {number} fill a line and another one after it."
        yield f"good/{number}", text_pdf(["\n".join([line] * LINES)] * PAGES)


def _hostile(count: int) -> Iterator[File]:
    """The first `count` variations of the worst kinds."""
    found = (one for one in mutations(1_000, seed=1) if one.kind in WORST)
    for _, one in zip(range(count), found, strict=False):
        yield one.name, one.data


def _interleaved(good: Sequence[File], hostile: Sequence[File]) -> Iterator[File]:
    """The hostile files evenly among the sound ones."""
    every = max(1, len(good) // max(1, len(hostile)))
    rest = iter(hostile)
    for turn, one in zip(cycle(range(every)), good, strict=False):
        yield one
        if turn == 0:
            yield from [another for another in (next(rest, None),) if another is not None]


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--good", type=Path, help="folder of sound PDFs instead of our own")
    parser.add_argument("--good-count", type=int, default=300)
    parser.add_argument("--hostile-count", type=int, default=18)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
