"""Rebuilds that are killed change nothing that is served; documents put meanwhile are there, and counted."""

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
RUN_MAX_S = 300

REBUILD = """
import sys
from pathlib import Path
from fonds.grouping.rebuild.rebuild import rebuild
from kept_collections import NEWS, Clock, open_collection_store
kept = open_collection_store(Path(sys.argv[1]), Clock(int(sys.argv[2])))
print("ready", flush=True)
rebuild(kept.changes, NEWS, threads=1)
print("done", flush=True)
"""
PUT = """
import sys
from pathlib import Path
from fonds.grouping.document import Document
from kept_collections import NEWS, Clock, open_collection_store
kept = open_collection_store(Path(sys.argv[1]), Clock(int(sys.argv[2])))
print("ready", flush=True)
number = int(sys.argv[3])
while True:
    name = f"put{number}"
    kept.changes.put(NEWS, [Document(name, "violin concerto conductor symphony " + name)])
    print(name, flush=True)
    if number % 3 == 0:
        kept.changes.delete(NEWS, [f"put{number - 2}"])
        print(f"-put{number - 2}", flush=True)
    number += 1
"""


@contextmanager
def _started(code: str, *words: object) -> Iterator[tuple[ForkedProcess, TextIO]]:
    """A process that runs Python code once it is ready, and what it prints from then on."""
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as out, Path(os.devnull).open("rb") as nothing:
        files = (nothing.fileno(), writing, 2)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        try:
            run = start([str(word) for word in words], files, environment, code=code)
        finally:
            os.close(writing)
        assert out.readline() == "ready\n"
        try:
            yield run, out
        finally:
            run.kill()


def _served(kept: CollectionStore) -> tuple[LevelView, str]:
    """What readers see: clusters, and every one's members."""
    clusters = load_clusters(kept.tables, NEWS)
    assert clusters is not None
    whole = [
        list_members(kept.tables, NEWS, cluster.label, count_max=1000)
        for cluster in clusters.clusters
    ]
    return clusters, json.dumps([[m.id for m in one.members] for one in whole if one])


def _taken_out(kept: CollectionStore) -> dict[str, str]:
    """Ten documents of each theme, taken out of it: by id the theme's id."""
    found: dict[str, str] = {}
    for cluster in _served(kept)[0].clusters:
        own = list_members(kept.tables, NEWS, cluster.label, count_max=10)
        assert own is not None
        exclude(kept.changes, NEWS, DEFAULT, cluster.label, [member.id for member in own.members])
        found |= {member.id: cluster.id for member in own.members}
    return found


def _back_in(kept: CollectionStore, taken_out: dict[str, str]) -> list[str]:
    """Those that stand in the theme they were taken out of."""
    return [
        id_
        for id_, theme in taken_out.items()
        if any(place.cluster_id == theme for place in list_placements(kept.tables, NEWS, id_))
    ]


def test_killed_at_random_a_rebuild_changes_nothing_that_is_served(tmp_path: Path) -> None:
    folder, kept = tmp_path, open_collection_store(tmp_path)
    kept.changes.put(NEWS, themed_documents(DOCUMENTS))
    with _started(REBUILD, folder, 1_790_001_000) as (first, _):
        started = time.monotonic()
        assert first.wait(RUN_MAX_S) == 0
        usual_s = time.monotonic() - started
    taken_out = _taken_out(kept)
    chance, kills, runs = random.Random(SEED), 0, 0
    while kills < KILLS:
        runs += 1
        assert runs < 3 * KILLS
        before, listed = _served(kept)
        with _started(REBUILD, folder, 1_790_002_000 + 1000 * runs) as (run, _):
            time.sleep(chance.uniform(0.02, 0.95) * usual_s)
            run.kill()
            kills += run.returncode != 0
        after, listed_after = _served(kept)
        if after.timestamp == before.timestamp:
            assert (after, listed_after) == (before, listed)
        else:
            assert (
                sum(cluster.size for cluster in after.clusters) + sum(after.unclustered.values())
                == DOCUMENTS
            )
        assert _back_in(kept, taken_out) == []
    maintain(kept.changes, NEWS)
    assert find_faults(kept.tables, NEWS) == []
    kept.close()


def test_whoever_puts_is_killed_what_was_told_to_be_there_is_and_is_counted(tmp_path: Path) -> None:
    folder, kept = tmp_path, open_collection_store(tmp_path)
    kept.changes.put(NEWS, themed_documents(200))
    chance, number, told = random.Random(SEED), 0, set[str]()
    with _started(REBUILD, folder, 1_790_001_000) as (rebuilding, _):
        for turn in range(10):
            with _started(PUT, folder, 1_790_100_000 + 1000 * turn, number) as (run, printed):
                out = "".join(printed.readline() for _ in range(chance.randrange(1, 7)))
                time.sleep(chance.uniform(0.0, 0.05))
                run.kill()
                out += printed.read()
            for line in out.splitlines():
                told = told - {line[1:]} if line.startswith("-") else told | {line}
                number = max(number, int(line.removeprefix("-").removeprefix("put")) + 1)
            number += 2
        assert rebuilding.wait(RUN_MAX_S) == 0
    maintain(kept.changes, NEWS)
    assert find_faults(kept.tables, NEWS) == []
    there = {one.id for cluster in _all(kept) for one in cluster if one.id.startswith("put")}
    assert find_served_timestamp(kept.tables, NEWS) is not None
    assert told, "nothing was put"
    gone = told - there
    assert len(gone) <= 10, "a deletion may have been done and not told, one a kill"
    assert all(int(one.removeprefix("put")) % 3 == 1 for one in gone)
    kept.close()


def _all(kept: CollectionStore):  # type: ignore[no-untyped-def]
    clusters = load_clusters(kept.tables, NEWS)
    assert clusters is not None
    pages = [
        list_members(kept.tables, NEWS, cluster.label, count_max=1000)
        for cluster in clusters.clusters
    ]
    pages += [
        list_unclustered_members(kept.tables, NEWS, reason=one, count_max=1000)
        for one in clusters.unclustered
    ]
    for page in pages:
        assert page is not None
        assert page.after is None
        yield page.members
