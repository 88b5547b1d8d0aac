"""Themes of documents, for search and file pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.grouping.names import DEFAULT
from fonds.grouping.views.themes import find_tags
from fonds.search.hits import ThemeLink
from fonds.web.pages.theme_links import link_to_theme
from fonds.wiring.collections import CollectionService

ROWS_MAX = 1_000
"""Maximum rows that one request reads: one per document and collection."""


@dataclass(frozen=True, slots=True)
class DocumentThemes:
    """Themes of documents by document id. A document can have a theme in each collection.

    `searched_count`: number of collections that were searched, the first by name; None if all
        collections were searched.
    """

    themes: Mapping[str, Sequence[ThemeLink]]
    searched_count: int | None


def find_document_themes(
    collections: CollectionService, document_ids: Sequence[str]
) -> DocumentThemes:
    """Find the themes of documents in the first collections by name. Documents without themes are
    left out.

    The more documents, the fewer collections are searched: documents times collections is at most
    1,000.
    """
    if not document_ids:
        return DocumentThemes({}, None)
    count_max = ROWS_MAX // len(document_ids)
    views = list(islice(collections.iter_collections(), count_max + 1))
    names = [
        view.name
        for view in views[:count_max]
        if any(clustering.conf == DEFAULT for clustering in view.served)
    ]
    tags_by_id = find_tags(collections.tables, names, document_ids) if names else {}
    links = {
        id_: [
            ThemeLink(str(tag.name), tag.label, link_to_theme(tag.name, tag.label), tag.given_name)
            for tag in tags
        ]
        for id_, tags in tags_by_id.items()
    }
    return DocumentThemes(links, count_max if len(views) > count_max else None)
