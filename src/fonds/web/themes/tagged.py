"""The themes documents are in, for the pages that show documents: search and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.collections.names import DEFAULT
from fonds.collections.reading.tags import tags
from fonds.web.themes.addresses import theme_href
from fonds.wiring.recurring.collections import CollectionService

ROWS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ThemeLink:
    """A document is in the theme `label` of a collection, by the configuration `DEFAULT`; `name`: what a
    curator called it, '' where nobody did."""

    collection: str
    label: str
    href: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Tagged:
    """The themes of documents by their id. Only the first `looked_in` collections by name were looked in
    where that is not None."""

    themes: Mapping[str, Sequence[ThemeLink]]
    looked_in: int | None


def tagged(themes: CollectionService, document_ids: Sequence[str]) -> Tagged:
    """The themes of so many documents as a page shows, in as many collections as a thousand rows reach."""
    if not document_ids:
        return Tagged({}, None)
    count = ROWS_MAX // len(document_ids)
    found = list(islice(themes.every(), count + 1))
    names = [one.name for one in found[:count] if any(by.conf == DEFAULT for by in one.served)]
    links = {
        id_: [
            ThemeLink(str(tag.name), tag.label, theme_href(tag.name, tag.label), tag.called)
            for tag in some
        ]
        for id_, some in (tags(themes.tables, names, document_ids) if names else {}).items()
    }
    return Tagged(links, count if len(found) > count else None)
