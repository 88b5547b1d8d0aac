"""Rebuilds serve complete clusterings, which include documents added during the rebuild."""

from __future__ import annotations

import pytest

from fonds.grouping.clustering import served_column
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.names import name_rebuild_lease
from fonds.grouping.rebuild.maintenance import maintain
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import COLLECTIONS, DOCUMENTS, decode_text
from fonds.grouping.views.clusterings import find_collection, list_clusterings, list_progress
from fonds.grouping.views.clusters import list_members, load_clusters
from fonds.grouping.views.documents import explain_placement, list_placements
from fonds.grouping.views.lineage import compare_clusterings
from fonds.leases.lease import LeaseConflictError
from fonds.model.errors import ConfigurationError
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents


def test_the_first_rebuild_serves_all_clusters(
    store: CollectionStore,
) -> None:
    store.writer.put(NEWS, themed_documents(200))
    assert load_clusters(store.tables, NEWS) is None
    rebuilt = rebuild(store.writer, NEWS)
    assert (rebuilt.documents, rebuilt.clusters, rebuilt.unclustered) == (200, 5, 0)
    served = load_clusters(store.tables, NEWS, top=2)
    assert served is not None
    assert sum(cluster.size for cluster in served.clusters) == 200
    assert [len(cluster.top) for cluster in served.clusters] == [2] * 5
    assert all(cluster.top[0].score >= cluster.top[1].score > 0 for cluster in served.clusters)
    assert all(cluster.terms and cluster.position for cluster in served.clusters)
    assert find_faults(store.tables, NEWS) == []


def test_the_counts_and_progress_of_a_rebuild_cover_all_documents(
    store: CollectionStore,
) -> None:
    left_out = [Document("empty", ""), Document("of marks", "--- ---"), Document("short", "flood")]
    save_configuration(
        store.tables, NEWS.namespace, "DEFAULT", build_configuration({"characters_min": 6})
    )
    store.writer.put(NEWS, [*themed_documents(200), *left_out])
    progress_calls: list[tuple[str, int, int]] = []
    rebuilt = rebuild(
        store.writer, NEWS, progress=lambda *arguments: progress_calls.append(arguments)
    )
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    clustered, unclustered = (
        sum(cluster.size for cluster in served.clusters),
        sum(served.unclustered.values()),
    )
    assert (rebuilt.documents, rebuilt.unclustered) == (clustered, unclustered) == (200, 3)
    assert [(done, total) for stage, done, total in progress_calls if stage == "write"] == [
        (203, 203)
    ]


def test_members_are_listed_by_page_nearest_first(store: CollectionStore) -> None:
    store.writer.put(NEWS, themed_documents(60, themes=2))
    rebuild(store.writer, NEWS)
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    largest = served.clusters[0]
    after_key, members = None, []
    while True:
        page = list_members(store.tables, NEWS, largest.id, after=after_key, count_max=7)
        assert page is not None
        members += page.members
        if (after_key := page.after) is None:
            break
    assert len(members) == len({member.id for member in members}) == largest.size
    assert [member.score for member in members] == sorted(
        (member.score for member in members), reverse=True
    )
    with pytest.raises(ValueError, match="belongs to another cluster"):
        list_members(store.tables, NEWS, served.clusters[1].label, after=b"x")


def test_changes_during_a_rebuild_are_in_the_new_clustering(
    store: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.writer.put(NEWS, themed_documents(200))
    late = [
        Document(f"late{number}", document.text)
        for number, document in enumerate(themed_documents(250, seed=2))
    ]
    replaced = Document("d3", "violin concerto conductor symphony cello soprano opera quartet")

    def change_documents(stage: str, done: int, total: int) -> None:
        if stage == "label":
            store.writer.put(NEWS, [*late, replaced])
            store.writer.delete(NEWS, ["d0", "d1", "late7"])
            assert [
                progress.stage
                for progress in list_progress(store.tables, store.writer.leases, NEWS)
            ] != []

    rebuilt = rebuild(store.writer, NEWS, progress=change_documents)
    assert rebuilt.caught_up == 253
    assert find_faults(store.tables, NEWS) == []
    (d3_placement,) = list_placements(store.tables, NEWS, "d3")
    (label,) = {
        placement.label for id_ in ("d3",) for placement in list_placements(store.tables, NEWS, id_)
    }
    assert d3_placement.label == label
    assert "violin" in {term.term for term in list_explaining_terms(store, "d3")}
    assert list_placements(store.tables, NEWS, "d0") == []


def list_explaining_terms(store: CollectionStore, id_: str) -> tuple[object, ...]:
    explanation = explain_placement(store.tables, store.writer.models, NEWS, id_)
    assert explanation is not None
    return explanation.terms


def test_a_rebuild_that_dies_leaves_the_served_clustering_and_is_cleaned_up(
    store: CollectionStore,
) -> None:
    store.writer.put(NEWS, themed_documents(100))
    first = rebuild(store.writer, NEWS)

    def die_at_stage(stage: str, done: int, total: int) -> None:
        if stage == "catch up":
            raise RuntimeError("died")

    def put_and_die(stage: str, done: int, total: int) -> None:
        if stage == "write":
            store.writer.put(NEWS, [Document("more", "glacier moraine summit crevasse")])
        die_at_stage(stage, done, total)

    with pytest.raises(RuntimeError):
        rebuild(store.writer, NEWS, progress=put_and_die)
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    assert served.timestamp == first.timestamp
    assert any("older rows remain" in fault for fault in find_faults(store.tables, NEWS))
    (result,) = maintain(store.writer, NEWS)
    assert result.removed_clustering_count == 1
    assert find_faults(store.tables, NEWS) == []


def test_a_rebuild_that_died_while_settling_is_completed(store: CollectionStore) -> None:
    store.writer.put(NEWS, themed_documents(100))

    def die(stage: str, done: int, total: int) -> None:
        if stage == "settle":
            raise RuntimeError("died")

    with pytest.raises(RuntimeError):
        rebuild(store.writer, NEWS, progress=die)
    (result,) = maintain(store.writer, NEWS)
    assert result.is_settled
    for row, cells in store.tables.iter_rows(DOCUMENTS, NEWS.row):
        (placement,) = list_placements(store.tables, NEWS, decode_text(cells, "main:id"))
        assert decode_text(cells, "main:member_of") == placement.label, row
        assert cells["processing:vector_tfidf"]
    row = store.tables.get_row(COLLECTIONS, NEWS.row) or {}
    assert row["processing:dictionary"]
    assert row["processing:index"]


def test_the_last_clusterings_are_kept_and_older_ones_removed(store: CollectionStore) -> None:
    save_configuration(store.tables, "news", "few", build_configuration({"kept": 2}))
    store.writer.put(NEWS, themed_documents(60))
    timestamps = [rebuild(store.writer, NEWS, "few").timestamp for _ in range(4)]
    clusterings = list_clusterings(store.tables, NEWS, "few")
    assert [clustering.timestamp for clustering in clusterings] == [timestamps[3], timestamps[2]]
    assert [clustering.is_served for clustering in clusterings] == [True, False]
    assert load_clusters(store.tables, NEWS, "few", timestamps[2]) is not None
    assert load_clusters(store.tables, NEWS, "few", timestamps[0]) is None
    comparison = compare_clusterings(store.tables, NEWS, "few", previous_timestamp=timestamps[2])
    assert comparison is not None
    assert comparison.stayed == 1.0
    assert {change.change for change in comparison.changes} == {"kept"}
    assert find_faults(store.tables, NEWS) == []


def test_only_one_process_rebuilds_at_a_time(store: CollectionStore) -> None:
    store.writer.put(NEWS, themed_documents(20))
    with (
        store.writer.leases.acquire(name_rebuild_lease(NEWS, "DEFAULT"), 0.0),
        pytest.raises(LeaseConflictError),
    ):
        rebuild(store.writer, NEWS)


def test_a_rebuild_of_an_unknown_collection_or_configuration_is_refused(
    store: CollectionStore,
) -> None:
    with pytest.raises(ConfigurationError, match="no collection named news/2026-11"):
        rebuild(store.writer, NEWS)
    store.writer.put(NEWS, themed_documents(5))
    with pytest.raises(ValueError, match="Did you mean 'DEFAULT'"):
        rebuild(store.writer, NEWS, "DEFALT")


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_collections_of_very_few_documents_are_rebuilt(store: CollectionStore, count: int) -> None:
    store.writer.put(NEWS, [Document("short", "x"), *themed_documents(count)])
    rebuild(store.writer, NEWS)
    assert find_faults(store.tables, NEWS) == []
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    assert served.unclustered["short"] == 1
    store.writer.put(NEWS, themed_documents(6, seed=3))
    assert find_faults(store.tables, NEWS) == []


def test_each_level_is_a_separate_clustering_with_parents(store: CollectionStore) -> None:
    save_configuration(
        store.tables, "news", "deep", build_configuration({"clusters": 5, "granularities": [2, 9]})
    )
    store.writer.put(NEWS, themed_documents(200))
    rebuild(store.writer, NEWS, "deep")
    counts = [
        len(level_clusters.clusters)
        for level in range(3)
        if (level_clusters := load_clusters(store.tables, NEWS, "deep", level=level))
    ]
    assert counts == [5, 2, 9]
    store.writer.put(NEWS, [Document("one", "violin concerto conductor symphony cello soprano")])
    level_or_placements = {
        placement.level: placement for placement in list_placements(store.tables, NEWS, "one")
    }
    assert level_or_placements.keys() == {0, 1, 2}
    fine = load_clusters(store.tables, NEWS, "deep", level=2)
    assert fine is not None
    (own,) = [cluster for cluster in fine.clusters if cluster.label == level_or_placements[2].label]
    assert own.parent == level_or_placements[0].label
    first = load_clusters(store.tables, NEWS, "deep")
    coarse = load_clusters(store.tables, NEWS, "deep", level=1)
    assert first is not None
    assert coarse is not None
    assert {cluster.parent for cluster in first.clusters} == {
        cluster.label for cluster in coarse.clusters
    }
    assert find_faults(store.tables, NEWS) == []


def test_the_processed_time_advances_and_the_rebuilt_time_stays(store: CollectionStore) -> None:
    store.writer.put(NEWS, themed_documents(50))
    rebuilt = rebuild(store.writer, NEWS)
    before = find_collection(store.tables, NEWS)
    store.writer.put(NEWS, [Document("one", "violin concerto conductor symphony")])
    after = find_collection(store.tables, NEWS)
    assert before is not None
    assert after is not None
    assert after.served[0].rebuilt == before.served[0].rebuilt == rebuilt.timestamp
    assert after.served[0].processed > before.served[0].processed
    cells = store.tables.get_row(COLLECTIONS, NEWS.row, [served_column("DEFAULT")])
    assert cells == {"main:configuration:DEFAULT:rebuilt": str(rebuilt.timestamp).encode()}
