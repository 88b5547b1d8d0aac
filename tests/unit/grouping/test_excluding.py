"""Documents people take out of a theme are in it no more, whatever is put, built or undone afterwards."""

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


def _place(kept: CollectionStore, id_: str) -> DocumentPlacement:
    (found,) = (
        placement for placement in list_placements(kept.tables, NEWS, id_) if placement.level == 0
    )
    return found


def _theme(kept: CollectionStore, id_: str) -> ClusterView:
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    (found,) = [cluster for cluster in served.clusters if cluster.label == _place(kept, id_).label]
    return found


def _sizes(kept: CollectionStore) -> dict[str, int]:
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    return {cluster.id: cluster.size for cluster in served.clusters} | served.unclustered


def _filled(kept: CollectionStore) -> ClusterView:
    kept.changes.put(NEWS, themed_documents(200))
    rebuild(kept.changes, NEWS)
    return _theme(kept, "d0")


def test_what_a_rebuild_tells_is_what_it_serves(kept: CollectionStore) -> None:
    _filled(kept)
    for one in load_clusters(kept.tables, NEWS).clusters:  # type: ignore[union-attr]
        own = list_members(kept.tables, NEWS, one.label, count_max=3)
        assert own is not None
        exclude(kept.changes, NEWS, DEFAULT, one.label, [member.id for member in own.members])
    made = rebuild(kept.changes, NEWS)
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    assert served.unclustered[EXCLUDED] > 0
    assert made.unclustered == sum(served.unclustered.values())
    assert (
        made.documents == sum(cluster.size for cluster in served.clusters) == 200 - made.unclustered
    )


def test_an_excluded_document_leaves_its_theme_at_once_and_all_numbers_agree(
    kept: CollectionStore,
) -> None:
    theme, before = _filled(kept), _sizes(kept)
    done = exclude(kept.changes, NEWS, DEFAULT, theme.label, ["d0"])
    assert (done.id, done.label, done.documents) == (theme.id, theme.label, 1)
    place = _place(kept, "d0")
    assert place.label != theme.label
    where = place.cluster_id or place.unclustered_reason or ""
    sizes = _sizes(kept)
    assert sizes[theme.id] == before[theme.id] - 1
    assert sizes[where] == before[where] + 1
    assert sum(sizes.values()) == sum(before.values())
    (cells,) = kept.tables.get_rows(DOCUMENTS, [NEWS.build_document_row("d0")]).values()
    assert decode_text(cells, build_member_column(DEFAULT)) == (place.label or "")
    assert find_faults(kept.tables, NEWS) == []
    again = exclude(kept.changes, NEWS, DEFAULT, theme.id, ["d0"])
    assert again.documents == 0


def test_it_goes_to_the_nearest_other_theme_that_takes_it_or_is_apart_as_excluded(
    kept: CollectionStore,
) -> None:
    # Half of each is of one theme and half of another, so that both reach as far.
    halves = [halve.split() for halve in HALVES]
    mixed = [
        " ".join(one[at % 3 :] + other[at // 3 % 3 :]) for at in range(9) for one, other in [halves]
    ]
    save_configuration(kept.tables, "news", DEFAULT, build_configuration({"clusters": 2}))
    kept.changes.put(NEWS, themed_documents(80, themes=2))
    kept.changes.put(NEWS, [Document(f"between{at}", one) for at, one in enumerate(mixed)])
    rebuild(kept.changes, NEWS)
    first = _theme(kept, "d0")
    exclude(kept.changes, NEWS, DEFAULT, first.id, ["d0"])
    assert _place(kept, "d0").unclustered_reason == EXCLUDED
    listed = list_unclustered_members(kept.tables, NEWS, reason=EXCLUDED)
    assert listed is not None
    assert [member.id for member in listed.members] == ["d0"]
    seen = []
    while _place(kept, "between0").label is not None:
        theme = _theme(kept, "between0")
        seen.append(theme.id)
        exclude(kept.changes, NEWS, DEFAULT, theme.id, ["between0"])
    assert len(seen) == len(set(seen)) > 0
    assert _place(kept, "between0").unclustered_reason == EXCLUDED
    assert find_faults(kept.tables, NEWS) == []


def test_a_rebuild_never_puts_it_into_the_theme_of_that_id_again(kept: CollectionStore) -> None:
    theme = _filled(kept)
    page = list_members(kept.tables, NEWS, theme.id, count_max=5)
    assert page is not None
    some = [member.id for member in page.members]
    exclude(kept.changes, NEWS, DEFAULT, theme.id, some)
    for _ in range(2):
        rebuild(kept.changes, NEWS)
        served = load_clusters(kept.tables, NEWS)
        assert served is not None
        assert theme.id in {cluster.id for cluster in served.clusters}
        assert [id_ for id_ in some if _place(kept, id_).cluster_id == theme.id] == []
        assert find_faults(kept.tables, NEWS) == []


@pytest.mark.parametrize("stage", ["read documents", "label", "write", "catch up", "settle"])
def test_who_is_excluded_while_a_clustering_is_built_is_out_of_it(
    kept: CollectionStore, stage: str
) -> None:
    theme, done = _filled(kept), []

    def meanwhile(now: str, at: int, total: int) -> None:
        if now == stage and not done:
            done.append(now)
            exclude(kept.changes, NEWS, DEFAULT, theme.id, ["d0"])

    if stage == "catch up":
        kept.changes.put(NEWS, [replace(themed_documents(1)[0], id="more")])
        exclude(kept.changes, NEWS, DEFAULT, theme.id, ["d0"])
        done.append(stage)
    rebuild(kept.changes, NEWS, progress=meanwhile)
    assert done
    assert _place(kept, "d0").cluster_id != theme.id
    assert find_faults(kept.tables, NEWS) == []


def test_put_again_with_any_text_it_stays_out_and_its_near_duplicates_do_not(
    kept: CollectionStore,
) -> None:
    theme = _filled(kept)
    own = themed_documents(1)[0]
    exclude(kept.changes, NEWS, DEFAULT, theme.id, ["d0"])
    kept.changes.put(NEWS, [replace(own, text=f"{own.text} Again."), replace(own, id="copy")])
    assert _place(kept, "d0").cluster_id != theme.id
    assert _place(kept, "copy").cluster_id == theme.id
    like = next(one for one in themed_documents(200) if _place(kept, one.id).cluster_id == theme.id)
    kept.changes.put(NEWS, [replace(own, text=like.text)])
    assert _place(kept, "d0").cluster_id != theme.id
    assert find_faults(kept.tables, NEWS) == []
    rebuild(kept.changes, NEWS)
    assert _place(kept, "d0").cluster_id != theme.id
    assert find_faults(kept.tables, NEWS) == []


def test_undone_it_is_where_it_was_and_nothing_is_left_of_it(kept: CollectionStore) -> None:
    theme = _filled(kept)
    page = list_members(kept.tables, NEWS, theme.id, count_max=1000)
    assert page is not None
    last = page.members[-1]
    before = _place(kept, last.id)
    kinds = [family for family in FAMILIES if family not in ("changes", "collections", "clusters")]
    rows = [list(kept.tables.iter_rows(table, b"")) for table in kinds]
    exclude(kept.changes, NEWS, DEFAULT, theme.id, [last.id])
    assert include(kept.changes, NEWS, DEFAULT, theme.id, [last.id]).documents == 1
    assert _place(kept, last.id) == before
    assert [list(kept.tables.iter_rows(table, b"")) for table in kinds] == rows
    assert find_faults(kept.tables, NEWS) == []
    assert include(kept.changes, NEWS, DEFAULT, theme.id, [last.id]).documents == 0


def test_undone_after_a_rebuild_the_model_says_where_it_belongs(kept: CollectionStore) -> None:
    theme = _filled(kept)
    page = list_members(kept.tables, NEWS, theme.id, count_max=1)
    assert page is not None
    (nearest,) = page.members
    exclude(kept.changes, NEWS, DEFAULT, theme.id, [nearest.id])
    rebuild(kept.changes, NEWS)
    include(kept.changes, NEWS, DEFAULT, theme.id, [nearest.id])
    assert _place(kept, nearest.id).cluster_id == theme.id
    assert find_faults(kept.tables, NEWS) == []


def test_a_deleted_document_leaves_no_exclusion(kept: CollectionStore) -> None:
    theme = _filled(kept)
    exclude(kept.changes, NEWS, DEFAULT, theme.id, ["d0"])
    kept.changes.delete(NEWS, ["d0"])
    assert load_exclusions(kept.tables, NEWS, ["d0"]) == {}
    assert find_faults(kept.tables, NEWS) == []


def test_what_is_not_there_is_told_in_words(kept: CollectionStore) -> None:
    theme = _filled(kept)
    other = next(one for one in (f"d{at}" for at in range(200)) if _theme(kept, one).id != theme.id)
    for asked, ids, told in [
        ("harbor", ["d0"], "no theme named 'harbor'"),
        (theme.id, ["nobody"], "no document 'nobody' in"),
        (theme.id, [other], "is not in the theme"),
        (theme.id, [], "give 1 to 500 documents"),
    ]:
        with pytest.raises(ValueError, match=told):
            exclude(kept.changes, NEWS, DEFAULT, asked, ids)
    with pytest.raises(ValueError, match="no clustering by other yet"):
        exclude(kept.changes, NEWS, "other", theme.id, ["d0"])


def test_a_placement_is_restored_only_into_the_clustering_of_its_exclusion(
    kept: CollectionStore,
) -> None:
    """In another clustering, the document is placed as if it were put now."""
    documents = themed_documents(260)
    kept.changes.put(NEWS, documents[:200])
    rebuild(kept.changes, NEWS)
    old = _place(kept, "d0")
    exclude(kept.changes, NEWS, DEFAULT, old.cluster_id, ["d0"])
    kept.changes.put(NEWS, documents[200:])
    rebuild(kept.changes, NEWS)
    include(kept.changes, NEWS, DEFAULT, old.cluster_id, ["d0"])
    included = _place(kept, "d0")
    kept.changes.delete(NEWS, ["d0"])
    kept.changes.put(NEWS, documents[:1])
    assert _place(kept, "d0") == included
    assert included.score != old.score
    assert find_faults(kept.tables, NEWS) == []
