"""Killed rebuilds do not change the served clustering, and documents added meanwhile are stored."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from depth import kills as number_of_kills
from e2e.running import ForkedProcess, start
from fonds.grouping.changes.curation import exclude
from fonds.grouping.checks.check import find_damages
from fonds.grouping.names import DEFAULT
from fonds.grouping.rebuild.maintenance import maintain
from fonds.grouping.views.clusterings import find_served_timestamp
from fonds.grouping.views.clusters import (
    LevelView,
    list_members,
    list_unclustered_members,
    load_clusters,
)
from fonds.grouping.views.documents import list_placements
from kept_collections import (
    NEWS,
    CollectionStore,
    find_faults,
    open_collection_store,
    themed_documents,
)

KILLS = number_of_kills(5, nightly=20)
SEED = 20261122
DOCUMENTS = 400
RUN_MAX_S = 600

REBUILD = """
import sys
from pathlib import Path
from fonds.grouping.rebuild.rebuild import rebuild
from kept_collections import NEWS, Clock, open_collection_store
store = open_collection_store(Path(sys.argv[1]), Clock(int(sys.argv[2])))
print("ready", flush=True)
rebuild(store.writer, NEWS, threads=1)
print("done", flush=True)
"""
ADD_DOCUMENTS = """
import sys
from pathlib import Path
from fonds.grouping.document import Document
from kept_collections import NEWS, Clock, open_collection_store
store = open_collection_store(Path(sys.argv[1]), Clock(int(sys.argv[2])))
print("ready", flush=True)
number = int(sys.argv[3])
while True:
    name = f"put{number}"
    store.writer.put(NEWS, [Document(name, "violin concerto conductor symphony " + name)])
    print(name, flush=True)
    if number % 3 == 0:
        store.writer.delete(NEWS, [f"put{number - 2}"])
        print(f"-put{number - 2}", flush=True)
    number += 1
"""


@contextmanager
def _start(code: str, *words: object) -> Iterator[tuple[ForkedProcess, TextIO]]:
    """Run Python code in a process; yield the process when it is ready, and its output."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, encoding="utf-8") as out, Path(os.devnull).open("rb") as null_file:
        files = (null_file.fileno(), write_end, 2)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        try:
            run = start([str(word) for word in words], files, environment, code=code)
        finally:
            os.close(write_end)
        assert out.readline() == "ready\n"
        try:
            yield run, out
        finally:
            run.kill()


def _load_served(store: CollectionStore) -> tuple[LevelView, str]:
    """Return what readers see: the clusters and their members."""
    clusters = load_clusters(store.tables, NEWS)
    assert clusters is not None
    pages = [
        list_members(store.tables, NEWS, cluster.label, count_max=1000)
        for cluster in clusters.clusters
    ]
    return clusters, json.dumps([[member.id for member in page.members] for page in pages if page])


def _exclude_documents(store: CollectionStore) -> dict[str, str]:
    """Exclude ten documents from each theme; return the theme id by document id."""
    theme_by_document: dict[str, str] = {}
    for cluster in _load_served(store)[0].clusters:
        own = list_members(store.tables, NEWS, cluster.label, count_max=10)
        assert own is not None
        exclude(store.writer, NEWS, DEFAULT, cluster.label, [member.id for member in own.members])
        theme_by_document |= {member.id: cluster.id for member in own.members}
    return theme_by_document


def _find_returned(store: CollectionStore, theme_by_document: dict[str, str]) -> list[str]:
    """Return the documents that are in the theme from which they were excluded."""
    return [
        id_
        for id_, theme in theme_by_document.items()
        if any(place.cluster_id == theme for place in list_placements(store.tables, NEWS, id_))
    ]


def test_a_killed_rebuild_keeps_the_served_clustering(tmp_path: Path) -> None:
    folder, store = tmp_path, open_collection_store(tmp_path)
    store.writer.put(NEWS, themed_documents(DOCUMENTS))
    with _start(REBUILD, folder, 1_790_001_000) as (first, _):
        started = time.monotonic()
        assert first.wait(RUN_MAX_S) == 0
        usual_s = time.monotonic() - started
    theme_by_document = _exclude_documents(store)
    chance, kills, runs = random.Random(SEED), 0, 0
    while kills < KILLS:
        runs += 1
        assert runs < 3 * KILLS
        before, listed = _load_served(store)
        with _start(REBUILD, folder, 1_790_002_000 + 1000 * runs) as (run, _):
            time.sleep(chance.uniform(0.02, 0.95) * usual_s)
            run.kill()
            kills += run.returncode != 0
        after, listed_after = _load_served(store)
        if after.timestamp == before.timestamp:
            assert (after, listed_after) == (before, listed)
        else:
            assert (
                sum(cluster.size for cluster in after.clusters) + sum(after.unclustered.values())
                == DOCUMENTS
            )
        assert _find_returned(store, theme_by_document) == []
    maintain(store.writer, NEWS)
    assert find_faults(store.tables, NEWS) == []
    assert find_damages(store.writer, NEWS) == []
    store.close()


def test_documents_of_killed_writers_are_stored_and_counted(tmp_path: Path) -> None:
    folder, store = tmp_path, open_collection_store(tmp_path)
    store.writer.put(NEWS, themed_documents(200))
    chance, number, printed_ids = random.Random(SEED), 0, set[str]()
    with _start(REBUILD, folder, 1_790_001_000) as (rebuilding, _):
        for turn in range(10):
            with _start(ADD_DOCUMENTS, folder, 1_790_100_000 + 1000 * turn, number) as (
                run,
                printed,
            ):
                out = "".join(printed.readline() for _ in range(chance.randrange(1, 7)))
                time.sleep(chance.uniform(0.0, 0.05))
                run.kill()
                out += printed.read()
            for line in out.splitlines():
                printed_ids = (
                    printed_ids - {line[1:]} if line.startswith("-") else printed_ids | {line}
                )
                number = max(number, int(line.removeprefix("-").removeprefix("put")) + 1)
            number += 2
        assert rebuilding.wait(RUN_MAX_S) == 0
    maintain(store.writer, NEWS)
    assert find_faults(store.tables, NEWS) == []
    assert find_damages(store.writer, NEWS) == []
    stored_ids = {
        member.id
        for cluster in _iter_member_pages(store)
        for member in cluster
        if member.id.startswith("put")
    }
    assert find_served_timestamp(store.tables, NEWS) is not None
    assert printed_ids, "nothing was put"
    missing_ids = printed_ids - stored_ids
    assert len(missing_ids) <= 10, "each kill may hide one deletion that was done but not printed"
    assert all(int(id_.removeprefix("put")) % 3 == 1 for id_ in missing_ids)
    store.close()


def _iter_member_pages(store: CollectionStore):  # type: ignore[no-untyped-def]
    clusters = load_clusters(store.tables, NEWS)
    assert clusters is not None
    pages = [
        list_members(store.tables, NEWS, cluster.label, count_max=1000)
        for cluster in clusters.clusters
    ]
    pages += [
        list_unclustered_members(store.tables, NEWS, reason=reason, count_max=1000)
        for reason in clusters.unclustered
    ]
    for page in pages:
        assert page is not None
        assert page.after is None
        yield page.members
