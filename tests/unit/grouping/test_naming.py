"""Names and pins people give themes follow the themes' ids, and are understood wherever a theme is named."""

from __future__ import annotations

import pytest

from fonds.grouping.changes.curation import (
    NAME_MAX_CHARS,
    pin,
    rename,
)
from fonds.grouping.changes.lifecycle import remove
from fonds.grouping.document import Document
from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import THEMES
from fonds.grouping.views.clusters import ClusterView, find_cluster, list_members, load_clusters
from fonds.grouping.views.curation import list_curated_themes
from fonds.grouping.views.documents import list_placements
from fonds.grouping.views.themes import find_tags, list_theme_documents
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents

CALLED = "The ships of May"


def _themes(kept: CollectionStore) -> tuple[ClusterView, ...]:
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    return served.clusters


def _filled(kept: CollectionStore) -> ClusterView:
    kept.changes.put(NEWS, themed_documents(120, themes=3))
    rebuild(kept.changes, NEWS)
    return _themes(kept)[0]


def test_a_name_stays_over_rebuilds_and_the_label_beside_it(kept: CollectionStore) -> None:
    theme = _filled(kept)
    rename(kept.changes, NEWS, DEFAULT, theme.label, f"  {CALLED}\n ")
    kept.changes.put(
        NEWS, [Document(f"more{at}", one.text) for at, one in enumerate(themed_documents(40, 9))]
    )
    rebuild(kept.changes, NEWS)
    (now,) = [one for one in _themes(kept) if one.id == theme.id]
    assert (now.name, now.display_name) == (CALLED, CALLED)
    assert now.label != CALLED
    assert {one.display_name for one in _themes(kept) if one.id != theme.id} == {
        one.label for one in _themes(kept) if one.id != theme.id
    }
    assert find_faults(kept.tables, NEWS) == []


def test_a_theme_is_found_by_its_name_wherever_it_is_found_by_its_label(
    kept: CollectionStore,
) -> None:
    theme = _filled(kept)
    rename(kept.changes, NEWS, DEFAULT, theme.id, CALLED)
    by_name = find_cluster(kept.tables, NEWS, CALLED)
    assert by_name is not None
    assert by_name.id == theme.id
    page = list_members(kept.tables, NEWS, CALLED, count_max=1000)
    assert page is not None
    ids = {member.id for member in page.members}
    for asked in (CALLED, CALLED.upper(), f"news/2026-11/{CALLED}", theme.label, theme.id):
        assert set(list_theme_documents(kept.tables, asked)) == ids
    one = page.members[0].id
    assert [placement.name for placement in list_placements(kept.tables, NEWS, one)] == [CALLED]
    assert [tag.given_name for tag in find_tags(kept.tables, [NEWS], [one])[one]] == [CALLED]


def test_one_name_for_two_themes_finds_the_documents_of_both(kept: CollectionStore) -> None:
    first = _filled(kept)
    second = _themes(kept)[1]
    for one in (first, second):
        rename(kept.changes, NEWS, DEFAULT, one.id, CALLED)
    assert len(list_theme_documents(kept.tables, CALLED)) == first.size + second.size
    with pytest.raises(ValueError, match="2 themes are named"):
        pin(kept.changes, NEWS, DEFAULT, CALLED)
    assert len(list_theme_documents(kept.tables, first.label)) == first.size


def test_an_empty_name_gives_it_back_and_leaves_nothing(kept: CollectionStore) -> None:
    theme = _filled(kept)
    rename(kept.changes, NEWS, DEFAULT, theme.id, CALLED)
    assert pin(kept.changes, NEWS, DEFAULT, CALLED).pinned is not None
    rename(kept.changes, NEWS, DEFAULT, CALLED, " ")
    assert _themes(kept)[0].display_name == theme.label
    assert _themes(kept)[0].pinned
    pin(kept.changes, NEWS, DEFAULT, theme.id, pinned=False)
    assert list_curated_themes(kept.tables, NEWS, DEFAULT) == {}
    assert kept.tables.get_page(THEMES, b"") == []


def test_a_name_stays_told_when_its_theme_is_gone_and_can_be_taken_back(
    kept: CollectionStore,
) -> None:
    theme = _filled(kept)
    rename(kept.changes, NEWS, DEFAULT, theme.id, CALLED)
    page = list_members(kept.tables, NEWS, theme.id, count_max=1000)
    assert page is not None
    kept.changes.delete(NEWS, [member.id for member in page.members])
    rebuild(kept.changes, NEWS)
    assert theme.id not in {one.id for one in _themes(kept)}
    (told,) = list_curated_themes(kept.tables, NEWS, DEFAULT).values()
    assert (told.name, told.label) == (CALLED, theme.label)
    rename(kept.changes, NEWS, DEFAULT, theme.id, "")
    assert list_curated_themes(kept.tables, NEWS, DEFAULT) == {}


def test_what_is_decided_goes_with_its_collection_alone(kept: CollectionStore) -> None:
    theme = _filled(kept)
    other = CollectionName("news", "2026-1")
    kept.changes.put(other, themed_documents(60, themes=2))
    rebuild(kept.changes, other)
    served = load_clusters(kept.tables, other)
    assert served is not None
    rename(kept.changes, other, DEFAULT, served.clusters[0].id, "Another")
    rename(kept.changes, NEWS, DEFAULT, theme.id, CALLED)
    remove(kept.changes, NEWS)
    assert list_curated_themes(kept.tables, NEWS, DEFAULT) == {}
    assert [
        curated_theme.name
        for curated_theme in list_curated_themes(kept.tables, other, DEFAULT).values()
    ] == ["Another"]


@pytest.mark.parametrize(
    ("theme", "name", "told"),
    [
        ("nonsense", "x", "no theme named 'nonsense'"),
        ("", "x", "no theme named"),
        (None, "x" * (NAME_MAX_CHARS + 1), "at most 200 characters"),
        (None, "\x00a", "cannot contain control characters"),
        (None, "\u202e ...", "letter or digit"),
    ],
)
def test_what_can_be_no_name_or_theme_is_told_in_words(
    kept: CollectionStore, theme: str | None, name: str, told: str
) -> None:
    there = _filled(kept)
    with pytest.raises(ValueError, match=told):
        rename(kept.changes, NEWS, DEFAULT, there.id if theme is None else theme, name)


def test_a_theme_without_a_given_name_has_no_time_of_naming(kept: CollectionStore) -> None:
    theme = _filled(kept)
    named = rename(kept.changes, NEWS, DEFAULT, theme.id, CALLED)
    assert (named.named is None, named.pinned) == (False, None)
    pin(kept.changes, NEWS, DEFAULT, theme.id)
    assert rename(kept.changes, NEWS, DEFAULT, theme.id, "").named is None
    curation = list_curated_themes(kept.tables, NEWS, DEFAULT)[theme.id]
    assert (curation.name, curation.named, curation.pinned is None) == ("", None, False)
