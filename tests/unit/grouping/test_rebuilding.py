"""A rebuild serves whole clusterings, and what came meanwhile is in them."""

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


def test_the_themes_of_a_collection_are_served_after_its_first_rebuild(
    kept: CollectionStore,
) -> None:
    kept.changes.put(NEWS, themed_documents(200))
    assert load_clusters(kept.tables, NEWS) is None
    made = rebuild(kept.changes, NEWS)
    assert (made.documents, made.clusters, made.unclustered) == (200, 5, 0)
    served = load_clusters(kept.tables, NEWS, top=2)
    assert served is not None
    assert sum(cluster.size for cluster in served.clusters) == 200
    assert [len(cluster.top) for cluster in served.clusters] == [2] * 5
    assert all(cluster.top[0].score >= cluster.top[1].score > 0 for cluster in served.clusters)
    assert all(cluster.terms and cluster.position for cluster in served.clusters)
    assert find_faults(kept.tables, NEWS) == []


def test_what_a_rebuild_tells_adds_up_to_all_documents_and_its_progress_ends_there(
    kept: CollectionStore,
) -> None:
    left_out = [Document("empty", ""), Document("of marks", "--- ---"), Document("short", "flood")]
    save_configuration(
        kept.tables, NEWS.namespace, "DEFAULT", build_configuration({"characters_min": 6})
    )
    kept.changes.put(NEWS, [*themed_documents(200), *left_out])
    told: list[tuple[str, int, int]] = []
    made = rebuild(kept.changes, NEWS, progress=lambda *how: told.append(how))
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    grouped, apart = (
        sum(cluster.size for cluster in served.clusters),
        sum(served.unclustered.values()),
    )
    assert (made.documents, made.unclustered) == (grouped, apart) == (200, 3)
    assert [(done, of) for stage, done, of in told if stage == "write"] == [(203, 203)]


def test_members_come_page_by_page_the_nearest_first(kept: CollectionStore) -> None:
    kept.changes.put(NEWS, themed_documents(60, themes=2))
    rebuild(kept.changes, NEWS)
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    largest = served.clusters[0]
    after, seen = None, []
    while True:
        page = list_members(kept.tables, NEWS, largest.id, after=after, count_max=7)
        assert page is not None
        seen += page.members
        if (after := page.after) is None:
            break
    assert len(seen) == len({one.id for one in seen}) == largest.size
    assert [one.score for one in seen] == sorted((one.score for one in seen), reverse=True)
    with pytest.raises(ValueError, match="belongs to another cluster"):
        list_members(kept.tables, NEWS, served.clusters[1].label, after=b"x")


def test_what_comes_while_a_clustering_is_built_is_in_it(
    kept: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.changes.put(NEWS, themed_documents(200))
    late = [Document(f"late{at}", one.text) for at, one in enumerate(themed_documents(250, seed=2))]
    replaced = Document("d3", "violin concerto conductor symphony cello soprano opera quartet")

    def meanwhile(stage: str, done: int, total: int) -> None:
        if stage == "label":
            kept.changes.put(NEWS, [*late, replaced])
            kept.changes.delete(NEWS, ["d0", "d1", "late7"])
            assert [
                one.stage for one in list_progress(kept.tables, kept.changes.leases, NEWS)
            ] != []

    made = rebuild(kept.changes, NEWS, progress=meanwhile)
    assert made.caught_up == 253
    assert find_faults(kept.tables, NEWS) == []
    (place,) = list_placements(kept.tables, NEWS, "d3")
    (like,) = {
        placement.label for id_ in ("d3",) for placement in list_placements(kept.tables, NEWS, id_)
    }
    assert place.label == like
    assert "violin" in {term.term for term in why_terms(kept, "d3")}
    assert list_placements(kept.tables, NEWS, "d0") == []


def why_terms(kept: CollectionStore, id_: str) -> tuple[object, ...]:
    found = explain_placement(kept.tables, kept.changes.models, NEWS, id_)
    assert found is not None
    return found.terms


def test_a_rebuild_that_dies_leaves_what_is_served_and_its_leavings_are_swept(
    kept: CollectionStore,
) -> None:
    kept.changes.put(NEWS, themed_documents(100))
    first = rebuild(kept.changes, NEWS)

    def dies(stage: str, done: int, total: int) -> None:
        if stage == "catch up":
            raise RuntimeError("died")

    def late(stage: str, done: int, total: int) -> None:
        if stage == "write":
            kept.changes.put(NEWS, [Document("more", "glacier moraine summit crevasse")])
        dies(stage, done, total)

    with pytest.raises(RuntimeError):
        rebuild(kept.changes, NEWS, progress=late)
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    assert served.timestamp == first.timestamp
    assert any("older rows remain" in fault for fault in find_faults(kept.tables, NEWS))
    (tended,) = maintain(kept.changes, NEWS)
    assert tended.removed == 1
    assert find_faults(kept.tables, NEWS) == []


def test_one_that_died_after_it_became_visible_is_settled(kept: CollectionStore) -> None:
    kept.changes.put(NEWS, themed_documents(100))

    def dies(stage: str, done: int, total: int) -> None:
        if stage == "settle":
            raise RuntimeError("died")

    with pytest.raises(RuntimeError):
        rebuild(kept.changes, NEWS, progress=dies)
    (tended,) = maintain(kept.changes, NEWS)
    assert tended.is_settled
    for row, cells in kept.tables.iter_rows(DOCUMENTS, NEWS.row):
        (place,) = list_placements(kept.tables, NEWS, decode_text(cells, "main:id"))
        assert decode_text(cells, "main:member_of") == place.label, row
        assert cells["processing:vector_tfidf"]
    row = kept.tables.get_row(COLLECTIONS, NEWS.row) or {}
    assert row["processing:dictionary"]
    assert row["processing:index"]


def test_the_last_clusterings_are_kept_and_older_ones_removed(kept: CollectionStore) -> None:
    save_configuration(kept.tables, "news", "few", build_configuration({"kept": 2}))
    kept.changes.put(NEWS, themed_documents(60))
    made = [rebuild(kept.changes, NEWS, "few").timestamp for _ in range(4)]
    clusterings = list_clusterings(kept.tables, NEWS, "few")
    assert [one.timestamp for one in clusterings] == [made[3], made[2]]
    assert [one.is_served for one in clusterings] == [True, False]
    assert load_clusters(kept.tables, NEWS, "few", made[2]) is not None
    assert load_clusters(kept.tables, NEWS, "few", made[0]) is None
    told = compare_clusterings(kept.tables, NEWS, "few", previous_timestamp=made[2])
    assert told is not None
    assert told.stayed == 1.0
    assert {change.change for change in told.changes} == {"kept"}
    assert find_faults(kept.tables, NEWS) == []


def test_one_process_rebuilds_at_a_time(kept: CollectionStore) -> None:
    kept.changes.put(NEWS, themed_documents(20))
    with (
        kept.changes.leases.acquire(name_rebuild_lease(NEWS, "DEFAULT"), 0.0),
        pytest.raises(LeaseConflictError),
    ):
        rebuild(kept.changes, NEWS)


def test_a_rebuild_of_what_is_not_there_says_so(kept: CollectionStore) -> None:
    with pytest.raises(ConfigurationError, match="no collection named news/2026-11"):
        rebuild(kept.changes, NEWS)
    kept.changes.put(NEWS, themed_documents(5))
    with pytest.raises(ValueError, match="Did you mean 'DEFAULT'"):
        rebuild(kept.changes, NEWS, "DEFALT")


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_hardly_any_documents_are_grouped_all_the_same(kept: CollectionStore, count: int) -> None:
    kept.changes.put(NEWS, [Document("short", "x"), *themed_documents(count)])
    rebuild(kept.changes, NEWS)
    assert find_faults(kept.tables, NEWS) == []
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    assert served.unclustered["short"] == 1
    kept.changes.put(NEWS, themed_documents(6, seed=3))
    assert find_faults(kept.tables, NEWS) == []


def test_levels_are_clusterings_of_their_own(kept: CollectionStore) -> None:
    save_configuration(
        kept.tables, "news", "deep", build_configuration({"clusters": 5, "granularities": [2, 9]})
    )
    kept.changes.put(NEWS, themed_documents(200))
    rebuild(kept.changes, NEWS, "deep")
    counts = [
        len(found.clusters)
        for level in range(3)
        if (found := load_clusters(kept.tables, NEWS, "deep", level=level))
    ]
    assert counts == [5, 2, 9]
    kept.changes.put(NEWS, [Document("one", "violin concerto conductor symphony cello soprano")])
    found = {placement.level: placement for placement in list_placements(kept.tables, NEWS, "one")}
    assert found.keys() == {0, 1, 2}
    fine = load_clusters(kept.tables, NEWS, "deep", level=2)
    assert fine is not None
    (own,) = [cluster for cluster in fine.clusters if cluster.label == found[2].label]
    assert own.parent == found[0].label
    first = load_clusters(kept.tables, NEWS, "deep")
    coarse = load_clusters(kept.tables, NEWS, "deep", level=1)
    assert first is not None
    assert coarse is not None
    assert {cluster.parent for cluster in first.clusters} == {
        cluster.label for cluster in coarse.clusters
    }
    assert find_faults(kept.tables, NEWS) == []


def test_processed_moves_with_what_comes_and_rebuilt_stays(kept: CollectionStore) -> None:
    kept.changes.put(NEWS, themed_documents(50))
    made = rebuild(kept.changes, NEWS)
    before = find_collection(kept.tables, NEWS)
    kept.changes.put(NEWS, [Document("one", "violin concerto conductor symphony")])
    after = find_collection(kept.tables, NEWS)
    assert before is not None
    assert after is not None
    assert after.served[0].rebuilt == before.served[0].rebuilt == made.timestamp
    assert after.served[0].processed > before.served[0].processed
    cells = kept.tables.get_row(COLLECTIONS, NEWS.row, [served_column("DEFAULT")])
    assert cells == {"main:configuration:DEFAULT:rebuilt": str(made.timestamp).encode()}
