"""Searches by theme: what a label or an id means now, and what is told where it means nothing."""

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
from fonds.search.facets import count_themes
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.search.index.wrappers import ThemedIndex
from fonds.search.scan import count_matches, iter_documents
from fonds.stores.table.sqlite import SqliteTable
from kept_collections import NEWS, CollectionStore, themed_documents

LATER = CollectionName("news", "2026-12")
COUNT = 60


@pytest.fixture
def index(kept: CollectionStore, tmp_path: Path) -> Iterator[ThemedIndex]:
    """Sixty documents in an index, the first fifty of them grouped."""
    made = [
        document(f"d{at}", one.text) for at, one in enumerate(themed_documents(COUNT, themes=3))
    ]
    found = ThemedIndex(
        TantivyIndex(tmp_path / "index"), partial(list_theme_documents, kept.tables)
    )
    found.put(made)
    kept.changes.put(NEWS, [Document(one.id, one.text_content, language="en") for one in made[:50]])
    rebuild(kept.changes, NEWS, threads=1)
    yield found
    found.close()


def assigned(tables: Tables, name: CollectionName = NEWS) -> dict[str, set[str]]:
    """The documents of each cluster, by reading all assignments of what is served."""
    served = load_clusters(tables, name)
    assert served is not None
    found: dict[str, set[str]] = {cluster.label: set() for cluster in served.clusters}
    for row, cells in tables.iter_rows(ASSIGNMENTS, name.row, ["main:label"]):
        _, _, conf, timestamp, id_ = parse_cluster_row(row)
        if (conf, timestamp) == ("DEFAULT", served.timestamp):
            found[decode_text(cells, "main:label")].add(id_)
    return found


def ids(index: ThemedIndex, asked: str) -> set[str]:
    return {hit.document.id for hit in index.search(SearchQuery(asked, count_max=100)).hits}


def test_a_theme_finds_what_was_assigned_to_it_by_label_and_by_id(
    kept: CollectionStore, index: ThemedIndex
) -> None:
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    wanted = assigned(kept.tables)
    assert len(wanted) > 1
    for cluster in served.clusters:
        for asked in (
            cluster.label,
            cluster.label.upper(),
            cluster.id,
            f"{NEWS}/{cluster.label}",
            f"{NEWS}/{cluster.id}",
        ):
            assert ids(index, f'theme:"{asked}"') == wanted[cluster.label], asked
        assert ids(index, f'* -theme:"{cluster.label}"') == ids(index, "*") - wanted[cluster.label]


def test_what_a_change_a_deletion_and_a_rebuild_leave_is_found_next(
    kept: CollectionStore, index: ThemedIndex
) -> None:
    label, some = max(assigned(kept.tables).items(), key=lambda one: len(one[1]))
    gone = sorted(some)[0]
    kept.changes.delete(NEWS, [gone])
    assert ids(index, f'theme:"{label}"') == some - {gone}
    rest = themed_documents(COUNT, themes=3)[50:]
    kept.changes.put(
        NEWS,
        [
            Document(document(f"d{50 + at}").id, one.text, language="en")
            for at, one in enumerate(rest)
        ],
    )
    rebuild(kept.changes, NEWS, threads=1)
    for name, wanted in assigned(kept.tables).items():
        assert ids(index, f'theme:"{name}"') == wanted


def test_a_result_had_whole_keeps_to_the_themes_it_began_with(
    kept: CollectionStore, index: ThemedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_results, "PAGE_DOCUMENTS", 3)
    label, some = max(assigned(kept.tables).items(), key=lambda one: len(one[1]))
    query = SearchQuery(f'theme:"{label}"')
    found = count_matches(index, query)
    assert found.total == len(some)
    pages = iter_documents(index, query, COUNT)
    begun = [next(pages) for _ in range(4)]
    gone = sorted(some)[-1]
    kept.changes.delete(NEWS, [gone])
    assert {one.id for one in iter_documents(index, query, COUNT)} == some - {gone}
    rest = themed_documents(COUNT, themes=3)[50:]
    kept.changes.put(NEWS, [Document(f"d{50 + at}", one.text) for at, one in enumerate(rest)])
    rebuild(kept.changes, NEWS, threads=1)
    assert {one.id for one in (*begun, *pages)} == some
    assert {one.id for one in iter_documents(index, found.query, COUNT)} == some


def test_a_theme_there_is_not_is_told_with_the_nearest_where_it_stands(
    kept: CollectionStore, index: ThemedIndex
) -> None:
    label = next(iter(assigned(kept.tables)))
    with pytest.raises(QueryError, match=f"no theme named .*Did you mean '{label}'") as told:
        index.search(SearchQuery(f'flood theme:"{label[:-1]}x"'))
    assert told.value.start > 0


def test_a_theme_several_collections_have_is_asked_for_with_its_collection(
    kept: CollectionStore, index: ThemedIndex
) -> None:
    kept.changes.put(LATER, [Document(one.id, one.text) for one in themed_documents(50, themes=3)])
    rebuild(kept.changes, LATER, threads=1)
    label = next(iter(set(assigned(kept.tables)) & set(assigned(kept.tables, LATER))))
    with pytest.raises(
        QueryError, match=f'2 collections have this theme. Name one: .*"{NEWS}/{label}"'
    ):
        index.search(SearchQuery(f'theme:"{label}"'))
    assert ids(index, f'theme:"{NEWS}/{label}"') == assigned(kept.tables)[label]


def test_a_theme_with_more_documents_than_a_search_takes_says_how_many(
    kept: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(themes, "MEMBERS_MAX", 3)
    kept.changes.put(NEWS, themed_documents(50, themes=3))
    rebuild(kept.changes, NEWS, threads=1)
    label, some = max(assigned(kept.tables).items(), key=lambda one: len(one[1]))
    with pytest.raises(ValueError, match=f"this theme has {len(some)} documents; .* up to 3"):
        list_theme_documents(kept.tables, label)


def test_where_nothing_was_grouped_it_says_so(tmp_path: Path) -> None:
    none = Tables(SqliteTable(tmp_path / "none.sqlite"))
    with pytest.raises(ValueError, match="no collection has themes yet"):
        list_theme_documents(none, "flood")
    with pytest.raises(ValueError, match="No collection named 'news/x'"):
        count_themes(TantivyIndex(tmp_path / "index"), none, "news/x", SearchQuery())


@pytest.mark.parametrize("asked", ["*", "morning", "the -morning", "nothinglikethis"])
def test_counts_of_themes_are_those_of_the_assignments(
    kept: CollectionStore, index: ThemedIndex, asked: str
) -> None:
    found = ids(index, asked)
    counts = count_themes(index, kept.tables, str(NEWS), SearchQuery(asked))
    wanted = {label: len(some & found) for label, some in assigned(kept.tables).items()}
    assert dict(counts.themes) == {label: count for label, count in wanted.items() if count}
    assert counts.looked_at == counts.total == len(found)
    assert sum(wanted.values()) + counts.unclustered + counts.outside == len(found)


def test_counts_of_a_part_say_of_how_many(
    kept: CollectionStore, index: ThemedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fonds.search.facets.DOCUMENTS_MAX", 7)
    counts = count_themes(index, kept.tables, str(NEWS), SearchQuery())
    assert (counts.looked_at, counts.total) == (7, COUNT)
    assert sum(count for _, count in counts.themes) + counts.unclustered + counts.outside == 7
    with pytest.raises(ValueError, match="Did you mean 'news/2026-11'"):
        count_themes(index, kept.tables, "news/2026-1", SearchQuery())
