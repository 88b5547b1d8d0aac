"""Theme names and pins follow the ids of the themes, and names work wherever a theme is named."""

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

GIVEN_NAME = "The ships of May"


def list_themes(store: CollectionStore) -> tuple[ClusterView, ...]:
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    return served.clusters


def fill_and_rebuild(store: CollectionStore) -> ClusterView:
    store.writer.put(NEWS, themed_documents(120, themes=3))
    rebuild(store.writer, NEWS)
    return list_themes(store)[0]


def test_a_name_survives_rebuilds_and_the_label_is_kept(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    rename(store.writer, NEWS, DEFAULT, theme.label, f"  {GIVEN_NAME}\n ")
    store.writer.put(
        NEWS,
        [
            Document(f"more{number}", document.text)
            for number, document in enumerate(themed_documents(40, 9))
        ],
    )
    rebuild(store.writer, NEWS)
    (renamed,) = [after for after in list_themes(store) if after.id == theme.id]
    assert (renamed.name, renamed.display_name) == (GIVEN_NAME, GIVEN_NAME)
    assert renamed.label != GIVEN_NAME
    assert {after.display_name for after in list_themes(store) if after.id != theme.id} == {
        after.label for after in list_themes(store) if after.id != theme.id
    }
    assert find_faults(store.tables, NEWS) == []


def test_a_theme_is_found_by_name_like_by_label(
    store: CollectionStore,
) -> None:
    theme = fill_and_rebuild(store)
    rename(store.writer, NEWS, DEFAULT, theme.id, GIVEN_NAME)
    by_name = find_cluster(store.tables, NEWS, GIVEN_NAME)
    assert by_name is not None
    assert by_name.id == theme.id
    page = list_members(store.tables, NEWS, GIVEN_NAME, count_max=1000)
    assert page is not None
    ids = {member.id for member in page.members}
    for theme_name in (
        GIVEN_NAME,
        GIVEN_NAME.upper(),
        f"news/2026-11/{GIVEN_NAME}",
        theme.label,
        theme.id,
    ):
        assert set(list_theme_documents(store.tables, theme_name)) == ids
    member_id = page.members[0].id
    assert [placement.name for placement in list_placements(store.tables, NEWS, member_id)] == [
        GIVEN_NAME
    ]
    assert [tag.given_name for tag in find_tags(store.tables, [NEWS], [member_id])[member_id]] == [
        GIVEN_NAME
    ]


def test_a_name_of_two_themes_finds_the_documents_of_both(store: CollectionStore) -> None:
    first = fill_and_rebuild(store)
    second = list_themes(store)[1]
    for theme in (first, second):
        rename(store.writer, NEWS, DEFAULT, theme.id, GIVEN_NAME)
    assert len(list_theme_documents(store.tables, GIVEN_NAME)) == first.size + second.size
    with pytest.raises(ValueError, match="2 themes are named"):
        pin(store.writer, NEWS, DEFAULT, GIVEN_NAME)
    assert len(list_theme_documents(store.tables, first.label)) == first.size


def test_an_empty_name_removes_the_name_and_its_row(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    rename(store.writer, NEWS, DEFAULT, theme.id, GIVEN_NAME)
    assert pin(store.writer, NEWS, DEFAULT, GIVEN_NAME).pinned is not None
    rename(store.writer, NEWS, DEFAULT, GIVEN_NAME, " ")
    assert list_themes(store)[0].display_name == theme.label
    assert list_themes(store)[0].pinned
    pin(store.writer, NEWS, DEFAULT, theme.id, is_pinned=False)
    assert list_curated_themes(store.tables, NEWS, DEFAULT) == {}
    assert store.tables.get_page(THEMES, b"") == []


def test_the_name_of_a_gone_theme_is_listed_and_can_be_removed(
    store: CollectionStore,
) -> None:
    theme = fill_and_rebuild(store)
    rename(store.writer, NEWS, DEFAULT, theme.id, GIVEN_NAME)
    page = list_members(store.tables, NEWS, theme.id, count_max=1000)
    assert page is not None
    store.writer.delete(NEWS, [member.id for member in page.members])
    rebuild(store.writer, NEWS)
    assert theme.id not in {remaining.id for remaining in list_themes(store)}
    (curated,) = list_curated_themes(store.tables, NEWS, DEFAULT).values()
    assert (curated.name, curated.label) == (GIVEN_NAME, theme.label)
    rename(store.writer, NEWS, DEFAULT, theme.id, "")
    assert list_curated_themes(store.tables, NEWS, DEFAULT) == {}


def test_removing_a_collection_deletes_only_its_own_names(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    other_collection = CollectionName("news", "2026-1")
    store.writer.put(other_collection, themed_documents(60, themes=2))
    rebuild(store.writer, other_collection)
    served = load_clusters(store.tables, other_collection)
    assert served is not None
    rename(store.writer, other_collection, DEFAULT, served.clusters[0].id, "Another")
    rename(store.writer, NEWS, DEFAULT, theme.id, GIVEN_NAME)
    remove(store.writer, NEWS)
    assert list_curated_themes(store.tables, NEWS, DEFAULT) == {}
    assert [
        curated_theme.name
        for curated_theme in list_curated_themes(store.tables, other_collection, DEFAULT).values()
    ] == ["Another"]


@pytest.mark.parametrize(
    ("theme", "name", "message"),
    [
        ("nonsense", "x", "no theme named 'nonsense'"),
        ("", "x", "no theme named"),
        (None, "x" * (NAME_MAX_CHARS + 1), "at most 200 characters"),
        (None, "\x00a", "cannot contain control characters"),
        (None, "\u202e ...", "letter or digit"),
    ],
)
def test_an_invalid_name_or_theme_is_refused_with_a_message(
    store: CollectionStore, theme: str | None, name: str, message: str
) -> None:
    first_theme = fill_and_rebuild(store)
    with pytest.raises(ValueError, match=message):
        rename(store.writer, NEWS, DEFAULT, first_theme.id if theme is None else theme, name)


def test_a_theme_without_a_given_name_has_no_time_of_naming(store: CollectionStore) -> None:
    theme = fill_and_rebuild(store)
    named = rename(store.writer, NEWS, DEFAULT, theme.id, GIVEN_NAME)
    assert (named.named is None, named.pinned) == (False, None)
    pin(store.writer, NEWS, DEFAULT, theme.id)
    assert rename(store.writer, NEWS, DEFAULT, theme.id, "").named is None
    curation = list_curated_themes(store.tables, NEWS, DEFAULT)[theme.id]
    assert (curation.name, curation.named, curation.pinned is None) == ("", None, False)
