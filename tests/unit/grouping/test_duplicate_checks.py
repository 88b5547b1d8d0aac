"""Damaged links between near-duplicates are reported, and repaired by a rebuild."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fonds.grouping.checks import clusterings
from fonds.grouping.checks.check import find_damages, repair_collection
from fonds.grouping.checks.damage import Remedy
from fonds.grouping.columns import Column
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    build_assignment_row,
    decode_int,
    decode_text,
)
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import list_placements
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents

TWINS = 6
Act = Callable[[CollectionStore, int], None]


@pytest.fixture
def grouped(store: CollectionStore, monkeypatch: pytest.MonkeyPatch) -> tuple[CollectionStore, int]:
    """Documents in two levels; six texts were put twice at first and once more later."""
    monkeypatch.setattr(clusterings, "BATCH_SIZE", 7)
    save_configuration(
        store.tables, "news", "DEFAULT", build_configuration({"clusters": 4, "granularities": [2]})
    )
    texts = themed_documents(60, themes=4)
    twins = [
        Document(f"twin{number}", document.text) for number, document in enumerate(texts[:TWINS])
    ]
    store.writer.put(NEWS, [*texts, *twins])
    rebuilt = rebuild(store.writer, NEWS, threads=1)
    store.writer.put(
        NEWS,
        [
            Document(f"later{number}", document.text)
            for number, document in enumerate(texts[:TWINS])
        ],
    )
    store.writer.delete(NEWS, ["d0", "twin1", "later2"])
    assert find_damages(store.writer, NEWS) == []
    return store, rebuilt.timestamp


def build_row(timestamp: int, id_: str, conf: str = "DEFAULT") -> bytes:
    return build_assignment_row(NEWS, conf, timestamp, id_)


def find_pair(store: CollectionStore, number_: int = 3) -> tuple[str, str]:
    """Return a near-duplicate and its original."""
    for id_ in (f"d{number_}", f"twin{number_}", f"later{number_}"):
        if original := list_placements(store.tables, NEWS, id_)[0].original:
            return id_, original
    raise AssertionError("no document is linked")


def link_to(choose_document: Callable[[CollectionStore, int], str], conf: str = "DEFAULT") -> Act:
    """Build an act that links a near-duplicate to another document."""

    def act(store: CollectionStore, timestamp: int) -> None:
        cells = {Column.ORIGINAL: choose_document(store, timestamp).encode()}
        store.tables.put(ASSIGNMENTS, [(build_row(timestamp, find_pair(store)[0], conf), cells)])

    return act


def find_same_cluster(store: CollectionStore, timestamp: int) -> str:
    """Return a document of the same clusters that is not a near-duplicate."""
    expected = [
        (placement.level, placement.label)
        for placement in list_placements(store.tables, NEWS, find_pair(store)[0])
    ]
    for number in range(TWINS, 60):
        placements = list_placements(store.tables, NEWS, f"d{number}")
        if [(placed.level, placed.label) for placed in placements] == expected and not placements[
            0
        ].original:
            return f"d{number}"
    raise AssertionError("no such document")


def find_other_cluster(store: CollectionStore, timestamp: int) -> str:
    """Return a document of another cluster."""
    label = list_placements(store.tables, NEWS, find_pair(store)[0])[0].label
    candidates = (f"d{number}" for number in range(TWINS, 60))
    return next(
        id_
        for id_ in candidates
        if list_placements(store.tables, NEWS, id_)[0].label not in (label, None)
    )


def delete_link(store: CollectionStore, timestamp: int) -> None:
    store.tables.delete(ASSIGNMENTS, [build_row(timestamp, find_pair(store)[0])], [Column.ORIGINAL])


def delete_copy_cell(store: CollectionStore, timestamp: int) -> None:
    id_, original = find_pair(store)
    store.tables.delete(
        ASSIGNMENTS, [build_row(timestamp, original)], [f"{Column.COPY_PREFIX}{id_}"]
    )


def add_false_copy(store: CollectionStore, timestamp: int) -> None:
    store.tables.put(
        ASSIGNMENTS, [(build_row(timestamp, "d30"), {f"{Column.COPY_PREFIX}d31": b"1"})]
    )


def change_count(change: int | None, conf: str = "DEFAULT") -> Act:
    """Build an act that changes the distinct count of a cluster, or deletes it if `change` is None."""

    def act(store: CollectionStore, timestamp: int) -> None:
        prefix = build_clustering_prefix("news", "2026-11", conf, timestamp)
        key, cells = store.tables.get_page(CLUSTERS, prefix, count_max=1)[0]
        if change is None:
            store.tables.delete(CLUSTERS, [key], [Column.DISTINCT])
        else:
            changed = str(decode_int(cells, Column.DISTINCT) + change).encode()
            store.tables.put(CLUSTERS, [(key, {Column.DISTINCT: changed})])

    return act


DAMAGES: dict[str, tuple[Act, str]] = {
    "distinct-more": (change_count(1), "its distinct count is"),
    "distinct-less": (change_count(-1), "its distinct count is"),
    "distinct-gone": (change_count(None), "its distinct count is -1"),
    "distinct-of-a-level": (change_count(1, "DEFAULT@1"), "DEFAULT@1"),
    "of-one-there-is-not": (link_to(lambda store, at: "gone"), clusterings.LINKED),
    "of-itself": (link_to(lambda store, at: find_pair(store)[0]), clusterings.LINKED),
    "of-another-cluster": (link_to(find_other_cluster), clusterings.LINKED),
    "of-another": (link_to(find_same_cluster), clusterings.COPIES),
    "of-another-on-a-level": (link_to(find_same_cluster, "DEFAULT@1"), clusterings.LEVELS),
    "of-none": (delete_link, "its distinct count is"),
    "of-none-but-told": (delete_link, clusterings.NOT_DUPLICATES_MESSAGE),
    "untold": (delete_copy_cell, clusterings.COPIES),
    "told-of-another": (add_false_copy, clusterings.NOT_DUPLICATES_MESSAGE),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_link_or_count_is_reported_and_repaired(
    grouped: tuple[CollectionStore, int], name: str
) -> None:
    (store, timestamp), (act, message) = grouped, DAMAGES[name]
    act(store, timestamp)
    damages = find_damages(store.writer, NEWS)
    assert any(message in damage.message for damage in damages), damages
    assert {(damage.remedy, damage.conf, damage.timestamp) for damage in damages} == {
        (Remedy.BUILD, "DEFAULT", timestamp)
    }
    assert list(repair_collection(store.writer, NEWS, threads=1)) != []
    assert find_damages(store.writer, NEWS) == []
    assert find_faults(store.tables, NEWS) == []


def test_linked_documents_are_counted_once_and_are_not_damage(
    grouped: tuple[CollectionStore, int],
) -> None:
    store, timestamp = grouped
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    prefix = build_clustering_prefix("news", "2026-11", "DEFAULT", timestamp)
    cells = [cells for _, cells in store.tables.iter_rows(ASSIGNMENTS, prefix, ["main:"])]
    links = sum(1 for cell in cells if decode_text(cell, Column.ORIGINAL))
    assert links == sum(cluster.size - cluster.distinct for cluster in served.clusters) >= TWINS
    assert links == sum(column.startswith(Column.COPY_PREFIX) for cell in cells for column in cell)
