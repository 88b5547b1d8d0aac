"""What sketches of texts cost, how near their estimates are, and which pages of a folder they find alike.

python scripts/bench_sketches.py [FOLDER OF PAGES]
"""

from __future__ import annotations

import gzip
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from fonds.derivatives.sketch import KIND, build_page_sketch, write_sketches
from fonds.extract.page import PageStatus, parse_page
from fonds.model.rows import StoryMetaRow, TextSketchRow
from fonds.model.story import Story
from fonds.stores.records.sql import open_sqlite
from fonds.text.minhash import compute_signature, hash_shingles
from fonds.text.similarity import RUNS_RESEMBLANCE_MIN, compute_bands, estimate_resemblance

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STORIES, WORDS = 5_000, 600
WORD_LIST = [f"{one}{two}" for one in "bcdfghklmnprst" for two in ("ald", "emo", "irk", "un")]
NO_PAGES = (".json", ".txt")
SHARE_MAX = 100


def told(what: str, value: float, unit: str) -> None:
    print(f"{what:<55} {value:>12,.3f} {unit}")


def row(number: int) -> StoryMetaRow:
    """A story at an address of its own."""
    url = f"http://site{number % 300}.example/story/{number}"
    facts: tuple[Any, ...] = (
        *("20240101000000", NOW, "success", url, "", None, None, None),
        *(WORDS, Story(), "x"),
    )
    return StoryMetaRow(f"{number:040x}", f"{number:064x}", *facts)


def costs() -> None:
    """Of made-up stories: making a sketch, keeping it, asking for what stands beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.sqlite"
        records = open_sqlite(path)
        before_bytes = path.stat().st_size
        making_s = keeping_s = 0.0
        for first in range(0, STORIES, 100):
            texts = [" ".join(random.Random(n).choices(WORD_LIST, k=WORDS)) for n in range(100)]
            begun = time.perf_counter()
            made = [
                build_page_sketch(row(first + n), f"{first} {text}") for n, text in enumerate(texts)
            ]
            making_s += time.perf_counter() - begun
            begun = time.perf_counter()
            write_sketches(records, made, ())
            keeping_s += time.perf_counter() - begun
        told(f"a sketch of {WORDS} words", making_s / STORIES * 1e3, "ms")
        told("kept in SQLite, a hundred at a time", keeping_s / STORIES * 1e3, "ms")
        some = list(records.find(TextSketchRow, count_max=200))
        begun = time.perf_counter()
        for one in some:
            KIND.find_related(records, [one])
        told("what stands beside one", (time.perf_counter() - begun) / len(some) * 1e3, "ms")
        records.close()
        told("kept of a story", (path.stat().st_size - before_bytes) / STORIES, "bytes")


def text_of(path: Path) -> str:
    """The text of a page, "" where there is none."""
    body = path.read_bytes()
    body = gzip.decompress(body) if path.suffix == ".gz" else body
    page = parse_page(body, f"http://corpus.example/{path.name}", None, NOW, True)
    return (page.content.text_content or "") if page.status is PageStatus.SUCCESS else ""


def pages(folder: Path) -> None:
    """Which pages are taken for copies, and how many pairs that are alike were found."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    paths = [path for path in paths if path.suffix not in NO_PAGES]
    with ProcessPoolExecutor(2) as pool:
        texts = list(pool.map(text_of, paths, chunksize=10))
    begun = time.process_time()
    signed = {
        n: signature for n, text in enumerate(texts) if (signature := compute_signature(text))
    }
    took_s = time.process_time() - begun
    told("pages with a signature", len(signed), f"of {len(paths):,}")
    told("CPU a page", took_s / len(paths) * 1e3, "ms")
    told("words of a page", statistics.fmean(len(text.split()) for text in texts), "")
    sharing = defaultdict(set)
    for n, one in signed.items():
        for band in compute_bands(one):
            sharing[band].add(n)
    candidates = {pair for some in sharing.values() for pair in combinations(sorted(some), 2)}
    alike = {pair: estimate_resemblance(signed[pair[0]], signed[pair[1]]) for pair in candidates}
    links = {pair for pair, share in alike.items() if share >= RUNS_RESEMBLANCE_MIN}
    told("pairs linked", len(links), f"of {len(signed) * (len(signed) - 1) // 2:,}")
    told("of them with the same text", sum(texts[a] == texts[b] for a, b in links), "")
    beside_truth(texts, signed, candidates)
    for a, b in sorted(links, key=lambda pair: alike[pair]):
        if texts[a] != texts[b]:
            print(
                f"{alike[a, b]:.2f} {paths[a].relative_to(folder)} {paths[b].relative_to(folder)}"
            )


def beside_truth(
    texts: Sequence[str], signed: dict[int, bytes], candidates: set[tuple[int, int]]
) -> None:
    """The pairs there are by the shares they really have in common."""
    runs = {n: set(hash_shingles(texts[n]).tolist()) for n in signed}
    having = defaultdict(list)
    for n, some in runs.items():
        for one in some:
            having[one].append(n)
    pairs = {
        pair for some in having.values() if len(some) <= SHARE_MAX for pair in combinations(some, 2)
    }
    truth = {(a, b): len(runs[a] & runs[b]) / len(runs[a] | runs[b]) for a, b in pairs}
    for least in (0.9, 0.8, 0.7, 0.6):
        there = {pair for pair, share in truth.items() if share >= least}
        told(f"pairs with {least} in common, found", len(there & candidates), f"of {len(there):,}")
    errors = [
        estimate_resemblance(signed[a], signed[b]) - share
        for (a, b), share in truth.items()
        if 0.05 < share < 1
    ]
    told("estimate off by (standard deviation)", statistics.pstdev(errors), f"of {len(errors):,}")


def main() -> None:
    """Costs, then the pages of a folder."""
    costs()
    if len(sys.argv) > 1:
        pages(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
