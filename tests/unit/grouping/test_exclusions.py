"""Documents excluded from a theme stay out of it, despite later changes and rebuilds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fonds.grouping.changes.curation import exclude, include
from fonds.grouping.clustering import EXCLUDED
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document, build_member_column
from fonds.grouping.names import DEFAULT
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import DOCUMENTS, FAMILIES, decode_text
from fonds.grouping.views.clusters import (
    ClusterView,
    list_members,
    list_unclustered_members,
    load_clusters,
)
from fonds.grouping.views.curation import load_exclusions
from fonds.grouping.views.documents import DocumentPlacement, list_placements
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents

HALVES = ("harbour vessel cargo anchor captain pilot", "recipe oven butter flour saucepan simmer")


def get_placement(store: CollectionStore, id_: str) -> DocumentPlacement:
    (match,) = (
        placement for placement in list_placements(store.tables, NEWS, id_) if placement.level == 0
    )
    return match


def get_theme(store: CollectionStore, id_: str) -> ClusterView:
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    (match,) = [
        cluster for cluster in served.clusters if cluster.label == get_placement(store, id_).label
    ]
    return match


def get_sizes(store: CollectionStore) -> dict[str, int]:
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    return {cluster.id: cluster.size for cluster in served.clusters} | served.unclustered


def fill_and_rebuild(store: CollectionStore) -> ClusterView:
    store.writer.put(NEWS, themed_documents(200))
    rebuild(store.writer, NEWS)
    return get_theme(store, "d0")


def test_the_counts_of_a_rebuild_match_the_served_clusters(store: CollectionStore) -> None:
    fill_and_rebuild(store)
    for theme in load_clusters(store.tables, NEWS).clusters:  # type: ignore[union-attr]
        members = list_members(store.tables, NEWS, theme.label, count_max=3)
        assert members is not None
        exclude(store.writer, NEWS, DEFAULT, theme.label, [member.id for member in members.members])
    rebuilt = rebuild(store.writer, NEWS)
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    assert served.unclustered[EXCLUDED] > 0
    assert rebuilt.unclustered == sum(served.unclustered.values())
    assert (
        rebuilt.documents
        == sum(cluster.size for cluster in served.clusters)
        == 200 - rebuilt.unclustered
    )


def test_an_excluded_document_leaves_its_theme_and_counts_agree(
    store: CollectionStore,
) -> None:
    theme, before = fill_and_rebuild(store), get_sizes(store)
    exclusion = exclude(store.writer, NEWS, DEFAULT, theme.label, ["d0"])
    assert (exclusion.id, exclusion.label, exclusion.documents) == (theme.id, theme.label, 1)
    placement = get_placement(store, "d0")
    assert placement.label != theme.label
    new_cluster = placement.cluster_id or placement.unclustered_reason or ""
    sizes = get_sizes(store)
    assert sizes[theme.id] == before[theme.id] - 1
    assert sizes[new_cluster] == before[new_cluster] + 1
    assert sum(sizes.values()) == sum(before.values())
    (cells,) = store.tables.get_rows(DOCUMENTS, [NEWS.build_document_row("d0")]).values()
    assert decode_text(cells, build_member_column(DEFAULT)) == (placement.label or "")
    assert find_faults(store.tables, NEWS) == []
    second_exclusion = exclude(store.writer, NEWS, DEFAULT, theme.id, ["d0"])
    assert second_exclusion.documents == 0


def test_an_excluded_document_moves_to_the_nearest_theme_or_is_unclustered(
    store: CollectionStore,
) -> None:
    # Half of each text is of one theme and half of another, so that both themes accept it.
    halves = [words.split() for words in HALVES]
    mixed = [
        " ".join(first_half[number % 3 :] + second_half[number // 3 % 3 :])
        for number in range(9)
        for first_half, second_half in [halves]
    ]
    save_configuration(store.tables, "news", DEFAULT, build_configuration({"clusters": 2}))
    store.writer.put(NEWS, themed_documents(80, themes=2))
    store.writer.put(
        NEWS, [Document(f"between{number}", text) for number, text in enumerate(mixed)]
    )
    rebuild(store.writer, NEWS)
    first = get_theme(store, "d0")
    exclude(store.writer, NEWS, DEFAULT, first.id, ["d0"])
    assert get_placement(store, "d0").unclustered_reason == EXCLUDED
    listed = list_unclustered_members(store.tables, NEWS, reason=EXCLUDED)
    assert listed is not None
    assert [member.id for member in listed.members] == ["d0"]
    left_themes = []
    while get_placement(store, "between0").label is not None:
        theme = get_theme(store, "between0")
        left_themes.append(theme.id)
        exclude(store.writer, NEWS, DEFAULT, theme.id, ["between0"])
    assert len(left_themes) == len(set(left_themes)) > 0
    assert get_placement(store, "between0").unclustered_reason == EXCLUDED
    assert find_faults(store.tables, NEWS) == []


def test_a_rebuild_never_returns_an_excluded_document_to_its_theme(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    page = list_members(store.tables, NEWS, theme.id, count_max=5)
    assert page is not None
    document_ids = [member.id for member in page.members]
    exclude(store.writer, NEWS, DEFAULT, theme.id, document_ids)
    for _ in range(2):
        rebuild(store.writer, NEWS)
        served = load_clusters(store.tables, NEWS)
        assert served is not None
        assert theme.id in {cluster.id for cluster in served.clusters}
        assert [
            id_ for id_ in document_ids if get_placement(store, id_).cluster_id == theme.id
        ] == []
        assert find_faults(store.tables, NEWS) == []


@pytest.mark.parametrize("stage", ["read documents", "label", "write", "catch up", "settle"])
def test_an_exclusion_during_a_rebuild_applies_to_the_new_clustering(
    store: CollectionStore, stage: str
) -> None:
    theme, excluded_at = fill_and_rebuild(store), []

    def exclude_at_stage(reached: str, done_count: int, total: int) -> None:
        if reached == stage and not excluded_at:
            excluded_at.append(reached)
            exclude(store.writer, NEWS, DEFAULT, theme.id, ["d0"])

    if stage == "catch up":
        store.writer.put(NEWS, [replace(themed_documents(1)[0], id="more")])
        exclude(store.writer, NEWS, DEFAULT, theme.id, ["d0"])
        excluded_at.append(stage)
    rebuild(store.writer, NEWS, progress=exclude_at_stage)
    assert excluded_at
    assert get_placement(store, "d0").cluster_id != theme.id
    assert find_faults(store.tables, NEWS) == []


def test_an_exclusion_survives_text_changes_and_does_not_affect_near_duplicates(
    store: CollectionStore,
) -> None:
    theme = fill_and_rebuild(store)
    own = themed_documents(1)[0]
    exclude(store.writer, NEWS, DEFAULT, theme.id, ["d0"])
    store.writer.put(NEWS, [replace(own, text=f"{own.text} Again."), replace(own, id="copy")])
    assert get_placement(store, "d0").cluster_id != theme.id
    assert get_placement(store, "copy").cluster_id == theme.id
    similar = next(
        document
        for document in themed_documents(200)
        if get_placement(store, document.id).cluster_id == theme.id
    )
    store.writer.put(NEWS, [replace(own, text=similar.text)])
    assert get_placement(store, "d0").cluster_id != theme.id
    assert find_faults(store.tables, NEWS) == []
    rebuild(store.writer, NEWS)
    assert get_placement(store, "d0").cluster_id != theme.id
    assert find_faults(store.tables, NEWS) == []


def test_including_again_restores_the_placement_and_all_rows(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    page = list_members(store.tables, NEWS, theme.id, count_max=1000)
    assert page is not None
    last = page.members[-1]
    before = get_placement(store, last.id)
    kinds = [family for family in FAMILIES if family not in ("changes", "collections", "clusters")]
    rows = [list(store.tables.iter_rows(table, b"")) for table in kinds]
    exclude(store.writer, NEWS, DEFAULT, theme.id, [last.id])
    assert include(store.writer, NEWS, DEFAULT, theme.id, [last.id]).documents == 1
    assert get_placement(store, last.id) == before
    assert [list(store.tables.iter_rows(table, b"")) for table in kinds] == rows
    assert find_faults(store.tables, NEWS) == []
    assert include(store.writer, NEWS, DEFAULT, theme.id, [last.id]).documents == 0


def test_including_after_a_rebuild_assigns_the_document_by_the_model(
    store: CollectionStore,
) -> None:
    theme = fill_and_rebuild(store)
    page = list_members(store.tables, NEWS, theme.id, count_max=1)
    assert page is not None
    (nearest,) = page.members
    exclude(store.writer, NEWS, DEFAULT, theme.id, [nearest.id])
    rebuild(store.writer, NEWS)
    include(store.writer, NEWS, DEFAULT, theme.id, [nearest.id])
    assert get_placement(store, nearest.id).cluster_id == theme.id
    assert find_faults(store.tables, NEWS) == []


def test_a_deleted_document_leaves_no_exclusion(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    exclude(store.writer, NEWS, DEFAULT, theme.id, ["d0"])
    store.writer.delete(NEWS, ["d0"])
    assert load_exclusions(store.tables, NEWS, ["d0"]) == {}
    assert find_faults(store.tables, NEWS) == []


def test_unknown_themes_and_documents_are_refused_with_a_message(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    other_id = next(
        id_
        for id_ in (f"d{number}" for number in range(200))
        if get_theme(store, id_).id != theme.id
    )
    for theme_name, ids, message in [
        ("harbor", ["d0"], "no theme named 'harbor'"),
        (theme.id, ["nobody"], "no document 'nobody' in"),
        (theme.id, [other_id], "is not in the theme"),
        (theme.id, [], "give 1 to 500 documents"),
    ]:
        with pytest.raises(ValueError, match=message):
            exclude(store.writer, NEWS, DEFAULT, theme_name, ids)
    with pytest.raises(ValueError, match="no clustering by other yet"):
        exclude(store.writer, NEWS, "other", theme.id, ["d0"])


def test_a_placement_is_restored_only_into_the_clustering_of_its_exclusion(
    store: CollectionStore,
) -> None:
    """In another clustering, the document is placed as if it were put now."""
    documents = themed_documents(260)
    store.writer.put(NEWS, documents[:200])
    rebuild(store.writer, NEWS)
    old = get_placement(store, "d0")
    exclude(store.writer, NEWS, DEFAULT, old.cluster_id, ["d0"])
    store.writer.put(NEWS, documents[200:])
    rebuild(store.writer, NEWS)
    include(store.writer, NEWS, DEFAULT, old.cluster_id, ["d0"])
    included = get_placement(store, "d0")
    store.writer.delete(NEWS, ["d0"])
    store.writer.put(NEWS, documents[:1])
    assert get_placement(store, "d0") == included
    assert included.score != old.score
    assert find_faults(store.tables, NEWS) == []
