"""Measure the cost and the accuracy of text sketches; list the near-duplicate pages of a folder.

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
from fonds.extract.page import parse_page
from fonds.extract.page_extraction import PageStatus
from fonds.model.rows import StoryMetaRow, TextSketchRow
from fonds.model.story import Story
from fonds.stores.records.sql import open_sqlite
from fonds.text.minhash import compute_signature, hash_shingles
from fonds.text.similarity import RUNS_RESEMBLANCE_MIN, compute_bands, estimate_resemblance

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STORIES, WORDS = 5_000, 600
WORD_LIST = [f"{onset}{rime}" for onset in "bcdfghklmnprst" for rime in ("ald", "emo", "irk", "un")]
NO_PAGES = (".json", ".txt")
SHARE_MAX = 100


def print_value(name: str, value: float, unit: str) -> None:
    print(f"{name:<55} {value:>12,.3f} {unit}")


def build_row(number: int) -> StoryMetaRow:
    """Return a story with a distinct URL."""
    url = f"http://site{number % 300}.example/story/{number}"
    facts: tuple[Any, ...] = (
        *("20240101000000", NOW, "success", url, "", None, None, None),
        *(WORDS, Story(), "x"),
    )
    return StoryMetaRow(f"{number:040x}", f"{number:064x}", *facts)


def measure_costs() -> None:
    """Measure generated stories: compute sketches, store them, find near-duplicates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.sqlite"
        records = open_sqlite(path)
        before_bytes = path.stat().st_size
        making_s = keeping_s = 0.0
        for first in range(0, STORIES, 100):
            texts = [" ".join(random.Random(n).choices(WORD_LIST, k=WORDS)) for n in range(100)]
            begun = time.perf_counter()
            sketches = [
                build_page_sketch(build_row(first + n), f"{first} {text}")
                for n, text in enumerate(texts)
            ]
            making_s += time.perf_counter() - begun
            begun = time.perf_counter()
            write_sketches(records, sketches, ())
            keeping_s += time.perf_counter() - begun
        print_value(f"a sketch of {WORDS} words", making_s / STORIES * 1e3, "ms")
        print_value("stored in SQLite, a hundred at a time", keeping_s / STORIES * 1e3, "ms")
        rows = list(records.find(TextSketchRow, count_max=200))
        begun = time.perf_counter()
        for row in rows:
            KIND.find_related(records, [row])
        print_value(
            "finding near-duplicates", (time.perf_counter() - begun) / len(rows) * 1e3, "ms"
        )
        records.close()
        print_value("stored per story", (path.stat().st_size - before_bytes) / STORIES, "bytes")


def extract_text(path: Path) -> str:
    """Return the text of a page, or "" if there is none."""
    body = path.read_bytes()
    body = gzip.decompress(body) if path.suffix == ".gz" else body
    page = parse_page(body, f"http://corpus.example/{path.name}", None, NOW, True)
    return (page.content.text_content or "") if page.status is PageStatus.SUCCESS else ""


def print_duplicates(folder: Path) -> None:
    """Print the near-duplicate pages of a folder, and how many similar pairs were found."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    paths = [path for path in paths if path.suffix not in NO_PAGES]
    with ProcessPoolExecutor(2) as pool:
        texts = list(pool.map(extract_text, paths, chunksize=10))
    begun = time.process_time()
    signatures = {
        n: signature for n, text in enumerate(texts) if (signature := compute_signature(text))
    }
    took_s = time.process_time() - begun
    print_value("pages with a signature", len(signatures), f"of {len(paths):,}")
    print_value("CPU per page", took_s / len(paths) * 1e3, "ms")
    print_value("words per page", statistics.fmean(len(text.split()) for text in texts), "")
    sharing = defaultdict(set)
    for n, signature in signatures.items():
        for band in compute_bands(signature):
            sharing[band].add(n)
    candidates = {pair for group in sharing.values() for pair in combinations(sorted(group), 2)}
    alike = {
        pair: estimate_resemblance(signatures[pair[0]], signatures[pair[1]]) for pair in candidates
    }
    links = {pair for pair, share in alike.items() if share >= RUNS_RESEMBLANCE_MIN}
    print_value("pairs linked", len(links), f"of {len(signatures) * (len(signatures) - 1) // 2:,}")
    print_value("of them with the same text", sum(texts[a] == texts[b] for a, b in links), "")
    compare_with_truth(texts, signatures, candidates)
    for a, b in sorted(links, key=lambda pair: alike[pair]):
        if texts[a] != texts[b]:
            print(
                f"{alike[a, b]:.2f} {paths[a].relative_to(folder)} {paths[b].relative_to(folder)}"
            )


def compare_with_truth(
    texts: Sequence[str], signed: dict[int, bytes], candidates: set[tuple[int, int]]
) -> None:
    """Compare the candidates with the exact shares that pairs have in common."""
    runs = {n: set(hash_shingles(texts[n]).tolist()) for n in signed}
    pages_by_run = defaultdict(list)
    for n, page_runs in runs.items():
        for run in page_runs:
            pages_by_run[run].append(n)
    pairs = {
        pair
        for group in pages_by_run.values()
        if len(group) <= SHARE_MAX
        for pair in combinations(group, 2)
    }
    truth = {(a, b): len(runs[a] & runs[b]) / len(runs[a] | runs[b]) for a, b in pairs}
    for minimum in (0.9, 0.8, 0.7, 0.6):
        true_pairs = {pair for pair, share in truth.items() if share >= minimum}
        print_value(
            f"pairs with {minimum} in common, found",
            len(true_pairs & candidates),
            f"of {len(true_pairs):,}",
        )
    errors = [
        estimate_resemblance(signed[a], signed[b]) - share
        for (a, b), share in truth.items()
        if 0.05 < share < 1
    ]
    print_value(
        "error of the estimate (standard deviation)",
        statistics.pstdev(errors),
        f"of {len(errors):,}",
    )


def main() -> None:
    """Print costs, then the pages of a folder."""
    measure_costs()
    if len(sys.argv) > 1:
        print_duplicates(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
