"""Near-duplicates added after a clustering are linked like a rebuild of all documents links them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from fonds.grouping.algorithms.corpus import TermReader
from fonds.grouping.columns import Column
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import COLLECTIONS
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import list_placements
from kept_collections import NEWS, CollectionStore, find_faults, open_collection_store

WORDS = 40
STORIES = 6


def build_story(number: int, changed: int = 0, seed: int = 0) -> str:
    """Return a text of unique words, with `changed` of them replaced by words that occur nowhere else."""
    words = [f"story{number}word{position}" for position in range(WORDS - 3)] + [
        "flood",
        "river",
        "dam",
    ]
    for position in random.Random(seed).sample(range(WORDS), changed):
        words[position] = f"fresh{seed}x{number}x{position}"
    return " ".join(words)


def share_a_band(first: str, second: str) -> bool:
    """Return whether a rebuild can compare the pair."""
    bands = TermReader().read([first, second], ["en", "en"]).bands
    return bool(np.any(bands[0] == bands[1]))


def list_groups(store: CollectionStore, ids: list[str]) -> set[frozenset[str]]:
    """Return the groups of documents that have the same original."""
    groups_by_original: dict[str, set[str]] = {}
    for id_ in ids:
        placement = list_placements(store.tables, NEWS, id_)[0]
        groups_by_original.setdefault(placement.original or id_, set()).add(id_)
    return {frozenset(group) for group in groups_by_original.values()}


def get_original(store: CollectionStore, id_: str) -> str | None:
    return list_placements(store.tables, NEWS, id_)[0].original


@pytest.fixture
def clustered_store(store: CollectionStore) -> CollectionStore:
    """A store with six clustered stories."""
    save_configuration(
        store.tables,
        "news",
        "DEFAULT",
        build_configuration({"clusters": 2, "granularities": [1, 4]}),
    )
    store.writer.put(
        NEWS, [Document(f"s{n}", build_story(n), language="en") for n in range(STORIES)]
    )
    rebuild(store.writer, NEWS, threads=1)
    return store


def draw_versions(draw: random.Random) -> list[str]:
    """Draw stories with up to two changed words, so that any two versions have a resemblance of at least 0.8.

    A rebuild cannot compare versions without a common band, so such versions are left out.
    """
    versions: dict[int, list[str]] = {
        number: [build_story(number)] for number in range(STORIES + 3)
    }
    later = []
    for seed in range(40):
        number = draw.randrange(len(versions))
        version = build_story(number, draw.randrange(3), seed)
        if all(share_a_band(version, drawn_version) for drawn_version in versions[number]):
            versions[number].append(version)
            later.append(version)
    return later


@pytest.mark.parametrize("seed", range(3))
def test_later_near_duplicates_are_linked_like_in_a_full_rebuild(
    clustered_store: CollectionStore, seed: int
) -> None:
    draw = random.Random(seed)
    documents = [
        Document(f"l{n}", text, language="en") for n, text in enumerate(draw_versions(draw))
    ]
    remaining = list(documents)
    while remaining:
        count = draw.randrange(1, 6)
        clustered_store.writer.put(NEWS, remaining[:count])
        remaining = remaining[count:]
    assert find_faults(clustered_store.tables, NEWS) == []
    ids = [f"s{n}" for n in range(STORIES)] + [document.id for document in documents]
    clustered_ids = {
        id_
        for id_ in ids
        if list_placements(clustered_store.tables, NEWS, id_)[0].unclustered_reason is None
    }
    groups_before = list_groups(clustered_store, ids)
    rebuild(clustered_store.writer, NEWS, threads=1)
    assert {group & clustered_ids for group in groups_before} == {
        group & clustered_ids for group in list_groups(clustered_store, ids)
    }
    assert len(clustered_ids) > len(ids) / 2


def test_a_near_duplicate_is_in_the_cluster_of_its_original_and_not_distinct(
    clustered_store: CollectionStore,
) -> None:
    before = {level: load_clusters(clustered_store.tables, NEWS, level=level) for level in range(3)}
    clustered_store.writer.put(NEWS, [Document("copy", build_story(1, 2, seed=5), language="en")])
    assert get_original(clustered_store, "copy") == "s1"
    for level, clusters_before in before.items():
        clusters_after = load_clusters(clustered_store.tables, NEWS, level=level)
        assert clusters_before is not None
        assert clusters_after is not None
        sizes = sum(cluster.size for cluster in clusters_after.clusters) - sum(
            cluster.size for cluster in clusters_before.clusters
        )
        distinct = sum(cluster.distinct for cluster in clusters_after.clusters)
        assert (sizes, distinct) == (
            1,
            sum(cluster.distinct for cluster in clusters_before.clusters),
        )
    copy_placements, original_placements = (
        list_placements(clustered_store.tables, NEWS, id_) for id_ in ("copy", "s1")
    )
    assert [(placement.label, placement.score) for placement in copy_placements] == [
        (placement_of_original.label, placement_of_original.score)
        for placement_of_original in original_placements
    ]
    assert find_faults(clustered_store.tables, NEWS) == []


def test_a_near_duplicate_of_a_document_of_another_process_is_linked(
    clustered_store: CollectionStore, tmp_path: Path
) -> None:
    store = open_collection_store(tmp_path)
    store.writer.put(NEWS, [Document("warm", build_story(0), language="en")])
    clustered_store.writer.put(NEWS, [Document("a", f"{build_story(3)} more", language="en")])
    store.writer.put(NEWS, [Document("b", f"{build_story(3)} further words", language="en")])
    assert get_original(store, "b") == "s3"
    store.close()
    assert find_faults(clustered_store.tables, NEWS) == []


def test_a_near_duplicate_replaces_a_deleted_original(
    clustered_store: CollectionStore,
) -> None:
    copies = [Document(f"c{n}", build_story(2, 1, seed=n), language="en") for n in range(3)]
    clustered_store.writer.put(NEWS, copies)
    assert [get_original(clustered_store, copy.id) for copy in copies] == ["s2"] * 3
    clustered_store.writer.delete(NEWS, ["s2"])
    assert [get_original(clustered_store, copy.id) for copy in copies] == [None, "c0", "c0"]
    assert find_faults(clustered_store.tables, NEWS) == []
    clustered_store.writer.put(NEWS, [Document("c0", build_story(4, 1, seed=9), language="en")])
    assert [get_original(clustered_store, copy.id) for copy in copies] == ["s4", None, "c1"]
    assert find_faults(clustered_store.tables, NEWS) == []
    rebuild(clustered_store.writer, NEWS, threads=1)
    assert find_faults(clustered_store.tables, NEWS) == []


def test_a_changed_text_is_no_longer_a_near_duplicate(clustered_store: CollectionStore) -> None:
    clustered_store.writer.put(NEWS, [Document("x", build_story(5), language="en")])
    assert get_original(clustered_store, "x") == "s5"
    clustered_store.writer.put(NEWS, [Document("x", build_story(0, 20, seed=3), language="en")])
    assert get_original(clustered_store, "x") is None
    assert find_faults(clustered_store.tables, NEWS) == []


def test_a_damaged_index_does_not_stop_puts(clustered_store: CollectionStore) -> None:
    clustered_store.tables.put(COLLECTIONS, [(NEWS.row, {Column.INDEX: b"no index"})])
    assert (
        clustered_store.writer.put(NEWS, [Document("x", build_story(5), language="en")]).added == 1
    )
    assert get_original(clustered_store, "x") is None
