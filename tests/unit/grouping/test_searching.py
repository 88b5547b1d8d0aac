"""Searches by theme: how labels and ids are resolved, and the errors for unknown themes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from contract.index_backends import document
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.keys import parse_cluster_row
from fonds.grouping.tables import ASSIGNMENTS, Tables, decode_text
from fonds.grouping.views import themes
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.themes import list_theme_documents
from fonds.model.search import QueryError, SearchQuery
from fonds.search import scan as whole_results
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.search.index.themed_index import ThemedIndex
from fonds.search.scan import count_matches, iter_documents
from fonds.search.theme_counts import count_themes
from fonds.stores.table.sqlite import SqliteTable
from kept_collections import NEWS, CollectionStore, themed_documents

LATER = CollectionName("news", "2026-12")
COUNT = 60


@pytest.fixture
def index(store: CollectionStore, tmp_path: Path) -> Iterator[ThemedIndex]:
    """An index of sixty documents, the first fifty of them clustered."""
    documents = [
        document(f"d{number}", themed.text)
        for number, themed in enumerate(themed_documents(COUNT, themes=3))
    ]
    themed_index = ThemedIndex(
        TantivyIndex(tmp_path / "index"), partial(list_theme_documents, store.tables)
    )
    themed_index.put(documents)
    store.writer.put(
        NEWS,
        [Document(indexed.id, indexed.text_content, language="en") for indexed in documents[:50]],
    )
    rebuild(store.writer, NEWS, threads=1)
    yield themed_index
    themed_index.close()


def list_assigned(tables: Tables, name: CollectionName = NEWS) -> dict[str, set[str]]:
    """Return the documents of each served cluster, from all assignments."""
    served = load_clusters(tables, name)
    assert served is not None
    ids_by_label: dict[str, set[str]] = {cluster.label: set() for cluster in served.clusters}
    for row, cells in tables.iter_rows(ASSIGNMENTS, name.row, ["main:label"]):
        _, _, conf, timestamp, id_ = parse_cluster_row(row)
        if (conf, timestamp) == ("DEFAULT", served.timestamp):
            ids_by_label[decode_text(cells, "main:label")].add(id_)
    return ids_by_label


def find_ids(index: ThemedIndex, query: str) -> set[str]:
    return {hit.document.id for hit in index.search(SearchQuery(query, count_max=100)).hits}


def test_a_theme_finds_its_documents_by_label_and_id(
    store: CollectionStore, index: ThemedIndex
) -> None:
    served = load_clusters(store.tables, NEWS)
    assert served is not None
    expected = list_assigned(store.tables)
    assert len(expected) > 1
    for cluster in served.clusters:
        for theme in (
            cluster.label,
            cluster.label.upper(),
            cluster.id,
            f"{NEWS}/{cluster.label}",
            f"{NEWS}/{cluster.id}",
        ):
            assert find_ids(index, f'theme:"{theme}"') == expected[cluster.label], theme
        assert (
            find_ids(index, f'* -theme:"{cluster.label}"')
            == find_ids(index, "*") - expected[cluster.label]
        )


def test_changes_deletions_and_rebuilds_are_found_by_the_next_search(
    store: CollectionStore, index: ThemedIndex
) -> None:
    label, members = max(list_assigned(store.tables).items(), key=lambda item: len(item[1]))
    deleted = sorted(members)[0]
    store.writer.delete(NEWS, [deleted])
    assert find_ids(index, f'theme:"{label}"') == members - {deleted}
    rest = themed_documents(COUNT, themes=3)[50:]
    store.writer.put(
        NEWS,
        [
            Document(document(f"d{50 + number}").id, themed.text, language="en")
            for number, themed in enumerate(rest)
        ],
    )
    rebuild(store.writer, NEWS, threads=1)
    for name, expected in list_assigned(store.tables).items():
        assert find_ids(index, f'theme:"{name}"') == expected


def test_a_full_result_keeps_the_theme_members_of_its_first_page(
    store: CollectionStore, index: ThemedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_results, "PAGE_DOCUMENTS", 3)
    label, members = max(list_assigned(store.tables).items(), key=lambda item: len(item[1]))
    query = SearchQuery(f'theme:"{label}"')
    matches = count_matches(index, query)
    assert matches.total == len(members)
    pages = iter_documents(index, query, COUNT)
    first_documents = [next(pages) for _ in range(4)]
    deleted = sorted(members)[-1]
    store.writer.delete(NEWS, [deleted])
    assert {hit.id for hit in iter_documents(index, query, COUNT)} == members - {deleted}
    rest = themed_documents(COUNT, themes=3)[50:]
    store.writer.put(
        NEWS, [Document(f"d{50 + number}", themed.text) for number, themed in enumerate(rest)]
    )
    rebuild(store.writer, NEWS, threads=1)
    assert {hit.id for hit in (*first_documents, *pages)} == members
    assert {hit.id for hit in iter_documents(index, matches.query, COUNT)} == members


def test_an_unknown_theme_raises_with_the_nearest_name_and_its_position(
    store: CollectionStore, index: ThemedIndex
) -> None:
    label = next(iter(list_assigned(store.tables)))
    with pytest.raises(QueryError, match=f"no theme named .*Did you mean '{label}'") as raised:
        index.search(SearchQuery(f'flood theme:"{label[:-1]}x"'))
    assert raised.value.start > 0


def test_a_theme_in_several_collections_requires_the_collection(
    store: CollectionStore, index: ThemedIndex
) -> None:
    store.writer.put(
        LATER, [Document(themed.id, themed.text) for themed in themed_documents(50, themes=3)]
    )
    rebuild(store.writer, LATER, threads=1)
    label = next(iter(set(list_assigned(store.tables)) & set(list_assigned(store.tables, LATER))))
    with pytest.raises(
        QueryError, match=f'2 collections have this theme. Name one: .*"{NEWS}/{label}"'
    ):
        index.search(SearchQuery(f'theme:"{label}"'))
    assert find_ids(index, f'theme:"{NEWS}/{label}"') == list_assigned(store.tables)[label]


def test_a_theme_over_the_member_limit_raises_with_its_size(
    store: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(themes, "MEMBERS_MAX", 3)
    store.writer.put(NEWS, themed_documents(50, themes=3))
    rebuild(store.writer, NEWS, threads=1)
    label, members = max(list_assigned(store.tables).items(), key=lambda item: len(item[1]))
    with pytest.raises(ValueError, match=f"this theme has {len(members)} documents; .* up to 3"):
        list_theme_documents(store.tables, label)


def test_a_home_without_clusterings_raises_a_clear_error(tmp_path: Path) -> None:
    empty_tables = Tables(SqliteTable(tmp_path / "none.sqlite"))
    with pytest.raises(ValueError, match="no collection has themes yet"):
        list_theme_documents(empty_tables, "flood")
    with pytest.raises(ValueError, match="No collection named 'news/x'"):
        count_themes(TantivyIndex(tmp_path / "index"), empty_tables, "news/x", SearchQuery())


@pytest.mark.parametrize("query", ["*", "morning", "the -morning", "nothinglikethis"])
def test_theme_counts_match_the_assignments(
    store: CollectionStore, index: ThemedIndex, query: str
) -> None:
    matches = find_ids(index, query)
    counts = count_themes(index, store.tables, str(NEWS), SearchQuery(query))
    expected = {
        label: len(members & matches) for label, members in list_assigned(store.tables).items()
    }
    assert dict(counts.themes) == {label: count for label, count in expected.items() if count}
    assert counts.looked_at == counts.total == len(matches)
    assert sum(expected.values()) + counts.unclustered + counts.outside == len(matches)


def test_theme_counts_of_a_sample_state_the_sample_size(
    store: CollectionStore, index: ThemedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.search.theme_counts.DOCUMENTS_MAX", 7)
    counts = count_themes(index, store.tables, str(NEWS), SearchQuery())
    assert (counts.looked_at, counts.total) == (7, COUNT)
    assert sum(count for _, count in counts.themes) + counts.unclustered + counts.outside == 7
    with pytest.raises(ValueError, match="Did you mean 'news/2026-11'"):
        count_themes(index, store.tables, "news/2026-1", SearchQuery())
