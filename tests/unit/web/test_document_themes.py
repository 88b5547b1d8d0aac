"""The number of collections in which themes of documents are looked up is limited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.views.themes import Tag
from fonds.web.pages import document_themes
from fonds.web.pages.document_themes import find_document_themes
from fonds.wiring.collections import CollectionService

NAMES = [CollectionName("news", key) for key in "abc"]


class FewCollections:
    """Three collections with a default clustering."""

    tables = None

    def iter_collections(self) -> Iterator[SimpleNamespace]:
        served = [SimpleNamespace(conf=DEFAULT)]
        return (SimpleNamespace(name=name, served=served) for name in NAMES)


@pytest.mark.parametrize(
    ("rows_max", "document_count", "searched_count"), [(6, 2, None), (5, 2, 2), (1, 2, 0)]
)
def test_documents_times_collections_is_limited(
    monkeypatch: pytest.MonkeyPatch,
    rows_max: int,
    document_count: int,
    searched_count: int | None,
) -> None:
    def find_all_tags(
        tables: Any, names: Sequence[CollectionName], document_ids: Sequence[str]
    ) -> dict[str, list[Tag]]:
        return {id_: [Tag(name, "flood") for name in names] for id_ in document_ids}

    monkeypatch.setattr(document_themes, "ROWS_MAX", rows_max)
    monkeypatch.setattr(document_themes, "find_tags", find_all_tags)
    ids = [str(number) for number in range(document_count)]
    result = find_document_themes(cast("CollectionService", FewCollections()), ids)
    assert result.searched_count == searched_count
    names = [str(name) for name in NAMES[:searched_count]]
    assert [[link.collection for link in result.themes.get(id_, [])] for id_ in ids] == [names] * 2
