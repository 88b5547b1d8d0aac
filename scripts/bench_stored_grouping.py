"""Measure grouping with stores: add short documents, build, rebuild, reads; and the stability of clusters.

    python scripts/bench_stored_grouping.py scale DOCUMENTS [FOLDER]
    python scripts/bench_stored_grouping.py stability [SET…]

`scale`: documents of 45 words recombined from BBC and AG, as in `bench_grouping.py scale`, in SQLite in a
temporary folder. Each part runs in its own process, to measure its peak memory: adding, first build, second
build, and a reader that reads every 10 ms during the second build: a list of all themes with three documents
each, and a page of members. `stability`: ten elevenths of each labelled set are added and grouped, then the
rest is added and all are grouped again.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from bench_collections import NAME, format_times, open_writer, read_pages
from bench_grouping import NAMES, load_labelled, recombine
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.names import DEFAULT
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.keys import build_clustering_prefix, parse_cluster_row
from fonds.grouping.tables import ASSIGNMENTS, CLUSTERS, Tables, decode_text

CLUSTER_COUNT = 20
AT_ONCE = 500
NEW_SHARE = 0.1


def print_scale(count: int, parent: str | None) -> None:
    """Measure `count` documents and print one line per part."""
    with tempfile.TemporaryDirectory(dir=parent) as folder_name:
        folder = Path(folder_name)
        _run_in_process("put", _add_documents, folder, count)
        print(f"  {_measure_size_mb(folder):,.0f} MB on disk", flush=True)
        _run_in_process("first build", _build, folder)
        print(f"  {_measure_size_mb(folder):,.0f} MB on disk", flush=True)
        ended = multiprocessing.Event()
        receiver, sender = multiprocessing.Pipe()
        reader = multiprocessing.Process(target=read_pages, args=(folder, ended, sender))
        reader.start()
        receiver.recv()
        _run_in_process("second build", _build, folder)
        ended.set()
        lists_ms, pages_ms = receiver.recv()
        reader.join()
        print(
            f"  reads meanwhile: themes {format_times(lists_ms)}; members {format_times(pages_ms)}"
        )
        print(f"  {_measure_size_mb(folder):,.0f} MB on disk", flush=True)


def _run_in_process(name: str, act: Callable[..., None], *words: Any) -> None:
    """Run a function in its own process; print its time, CPU and peak memory."""
    receiver, sender = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_measure, args=(sender, name, act, words))
    process.start()
    sender.close()
    receiver.recv()
    process.join()


def _measure(
    sender: Connection, name: str, act: Callable[..., None], words: tuple[Any, ...]
) -> None:
    began = time.perf_counter()
    act(*words)
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{name}: {time.perf_counter() - began:.1f} s, CPU {own.ru_utime + own.ru_stime:.1f} s,"
        f" peak {own.ru_maxrss / 1024:,.0f} MB",
        flush=True,
    )
    sender.send(None)


def _add_documents(folder: Path, count: int) -> None:
    writer = open_writer(folder)
    save_configuration(
        writer.tables, NAME.namespace, DEFAULT, build_configuration({"clusters": CLUSTER_COUNT})
    )
    texts = recombine(count)
    for at in range(0, count, AT_ONCE):
        batch = texts[at : at + AT_ONCE]
        writer.put(NAME, [Document(f"{at + n:08d}", text) for n, text in enumerate(batch)])


def _build(folder: Path) -> None:
    marks: list[tuple[str, float, float]] = []

    def progress(stage: str, done: int, total: int) -> None:
        if not marks or marks[-1][0] != stage:
            peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            marks.append((stage, time.process_time(), peak_mb))

    result = rebuild(open_writer(folder), NAME, threads=1, progress=progress)
    begins = ", ".join(f"{stage} {cpu_s:.1f} s {mb:,.0f} MB" for stage, cpu_s, mb in marks)
    print(
        f"  {result.documents:,} documents in {result.clusters} clusters; CPU and peak as began: {begins}"
    )


def _measure_size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 2**20


def print_stability(names: list[str]) -> None:
    """Print for each set the share of documents that keep their cluster, and NMI before and after."""
    print("| set | keep their id | NMI before, after |\n|---|---|---|")
    for name in names:
        texts, truth = load_labelled(name)
        order = np.random.default_rng(3).permutation(len(texts))
        known_count = int(len(texts) / (1 + NEW_SHARE))
        with tempfile.TemporaryDirectory() as folder_name:
            writer = open_writer(Path(folder_name))
            configuration = build_configuration({"clusters": int(truth.max()) + 1})
            save_configuration(writer.tables, NAME.namespace, DEFAULT, configuration)
            documents = [Document(f"{place:08d}", texts[place]) for place in order]
            writer.put(NAME, documents[:known_count])
            before = _read_ids(writer.tables, rebuild(writer, NAME, threads=1).timestamp)
            writer.put(NAME, documents[known_count:])
            after = _read_ids(writer.tables, rebuild(writer, NAME, threads=1).timestamp)
        kept_share = np.mean([after.get(id_) == cluster for id_, cluster in before.items()])
        scores = [
            f"{_compute_nmi(ids, truth, documents[:count]):.3f}"
            for ids, count in ((before, known_count), (after, None))
        ]
        print(f"| {name} | {kept_share:.3f} | {', '.join(scores)} |", flush=True)


def _read_ids(tables: Tables, timestamp: int) -> dict[str, str]:
    """Return cluster ids by document. Documents without a cluster are absent."""
    prefix = build_clustering_prefix(NAME.namespace, NAME.key, DEFAULT, timestamp)
    ids = {
        parse_cluster_row(row)[4]: decode_text(cells, "main:id")
        for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:id"])
    }
    return {
        parse_cluster_row(row)[4]: ids[decode_text(cells, "main:label")]
        for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label"])
    }


def _compute_nmi(ids: dict[str, str], truth: np.ndarray, documents: list[Document]) -> float:
    """Return NMI. A document without a cluster counts as its own cluster."""
    clusters = [ids.get(document.id, document.id) for document in documents]
    return float(
        normalized_mutual_info_score(truth[[int(document.id) for document in documents]], clusters)
    )


def main(words: list[str]) -> None:
    if words[:1] == ["stability"]:
        print_stability(words[1:] or list(NAMES))
    elif words[:1] == ["scale"]:
        print_scale(int(words[1]), words[2] if words[2:] else None)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
