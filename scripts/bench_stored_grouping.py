"""Short documents through the stores: put, grouped, read meanwhile, grouped again; and clusters that stay.

    python scripts/bench_stored_grouping.py scale DOCUMENTS [FOLDER]
    python scripts/bench_stored_grouping.py stability [SET…]

`scale`: documents of 45 words recombined from BBC and AG, as of `bench_grouping.py scale`, into SQLite in a
folder that is removed afterwards. Each part is a process of its own, so that its peak of memory is its own:
who puts, who builds for the first time, who builds again, and one that reads meanwhile, every 10 ms a list of
all themes with three documents each and a page of the members of one. `stability`: of each labelled set ten
elevenths are put and grouped, then the rest is put, and all are grouped again.
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

from bench_collections import NAME, opened, read, told
from bench_grouping import NAMES, labelled, recombined
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.names import DEFAULT
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.keys import build_clustering_prefix, parse_cluster_row
from fonds.grouping.tables import ASSIGNMENTS, CLUSTERS, Tables, decode_text

CLUSTERS_ASKED = 20
AT_ONCE = 500
NEW_SHARE = 0.1


def scale(count: int, parent: str | None) -> None:
    """Measure so many documents, and print a line a part."""
    with tempfile.TemporaryDirectory(dir=parent) as made:
        folder = Path(made)
        _alone("put", _put, folder, count)
        print(f"  {_size_mb(folder):,.0f} MB on disk", flush=True)
        _alone("first build", _build, folder)
        print(f"  {_size_mb(folder):,.0f} MB on disk", flush=True)
        ended = multiprocessing.Event()
        here, there = multiprocessing.Pipe()
        reader = multiprocessing.Process(target=read, args=(folder, ended, there))
        reader.start()
        here.recv()
        _alone("second build", _build, folder)
        ended.set()
        lists_ms, pages_ms = here.recv()
        reader.join()
        print(f"  reads meanwhile: themes {told(lists_ms)}; members {told(pages_ms)}")
        print(f"  {_size_mb(folder):,.0f} MB on disk", flush=True)


def _alone(what: str, do: Callable[..., None], *words: Any) -> None:
    """Do it in a process of its own; prints its time, CPU and the most memory it had."""
    here, there = multiprocessing.Pipe()
    one = multiprocessing.Process(target=_measured, args=(there, what, do, words))
    one.start()
    there.close()
    here.recv()
    one.join()


def _measured(
    there: Connection, what: str, do: Callable[..., None], words: tuple[Any, ...]
) -> None:
    began = time.perf_counter()
    do(*words)
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{what}: {time.perf_counter() - began:.1f} s, CPU {own.ru_utime + own.ru_stime:.1f} s,"
        f" peak {own.ru_maxrss / 1024:,.0f} MB",
        flush=True,
    )
    there.send(None)


def _put(folder: Path, count: int) -> None:
    changes = opened(folder)
    save_configuration(
        changes.tables, NAME.namespace, DEFAULT, build_configuration({"clusters": CLUSTERS_ASKED})
    )
    texts = recombined(count)
    for at in range(0, count, AT_ONCE):
        some = texts[at : at + AT_ONCE]
        changes.put(NAME, [Document(f"{at + n:08d}", one) for n, one in enumerate(some)])


def _build(folder: Path) -> None:
    marks: list[tuple[str, float, float]] = []

    def progress(stage: str, done: int, total: int) -> None:
        if not marks or marks[-1][0] != stage:
            peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            marks.append((stage, time.process_time(), peak_mb))

    made = rebuild(opened(folder), NAME, threads=1, progress=progress)
    begins = ", ".join(f"{stage} {cpu_s:.1f} s {mb:,.0f} MB" for stage, cpu_s, mb in marks)
    print(
        f"  {made.documents:,} documents in {made.clusters} clusters; CPU and peak as began: {begins}"
    )


def _size_mb(folder: Path) -> float:
    return sum(one.stat().st_size for one in folder.iterdir()) / 2**20


def stability(names: list[str]) -> None:
    """A row for each set: who keeps their cluster, and how near clusters are to labels before and after."""
    print("| set | keep their id | NMI before, after |\n|---|---|---|")
    for name in names:
        texts, truth = labelled(name)
        order = np.random.default_rng(3).permutation(len(texts))
        known = int(len(texts) / (1 + NEW_SHARE))
        with tempfile.TemporaryDirectory() as made:
            changes = opened(Path(made))
            configuration = build_configuration({"clusters": int(truth.max()) + 1})
            save_configuration(changes.tables, NAME.namespace, DEFAULT, configuration)
            documents = [Document(f"{place:08d}", texts[place]) for place in order]
            changes.put(NAME, documents[:known])
            before = _ids(changes.tables, rebuild(changes, NAME, threads=1).timestamp)
            changes.put(NAME, documents[known:])
            after = _ids(changes.tables, rebuild(changes, NAME, threads=1).timestamp)
        kept = np.mean([after.get(id_) == cluster for id_, cluster in before.items()])
        scores = [
            f"{_nmi(one, truth, documents[:count]):.3f}"
            for one, count in ((before, known), (after, None))
        ]
        print(f"| {name} | {kept:.3f} | {', '.join(scores)} |", flush=True)


def _ids(tables: Tables, timestamp: int) -> dict[str, str]:
    """The id of each document's cluster; what is in none is absent."""
    prefix = build_clustering_prefix(NAME.namespace, NAME.key, DEFAULT, timestamp)
    ids = {
        parse_cluster_row(row)[4]: decode_text(cells, "main:id")
        for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:id"])
    }
    return {
        parse_cluster_row(row)[4]: ids[decode_text(cells, "main:label")]
        for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label"])
    }


def _nmi(found: dict[str, str], truth: np.ndarray, documents: list[Document]) -> float:
    """What is in no cluster counts as one of its own for each document."""
    clusters = [found.get(document.id, document.id) for document in documents]
    return float(
        normalized_mutual_info_score(truth[[int(document.id) for document in documents]], clusters)
    )


def main(words: list[str]) -> None:
    if words[:1] == ["stability"]:
        stability(words[1:] or list(NAMES))
    elif words[:1] == ["scale"]:
        scale(int(words[1]), words[2] if words[2:] else None)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
