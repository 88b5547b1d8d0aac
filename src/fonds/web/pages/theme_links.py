"""The addresses of the pages of themes, whatever characters namespaces, keys and labels have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.views.themes import find_tags
from fonds.web.html.rendering import build_url
from fonds.wiring.collections import CollectionService

THEMES = "/themes"
API = "/api"
UNCLUSTERED = "apart"
"""Behind a collection's address stand the documents in no theme, and behind that the reasons."""

RESERVED_PARTS = frozenset({UNCLUSTERED, "document", "over-time", "excluded"})
"""What stands behind a collection's address and is no theme."""

_SPECIAL = re.compile(r"[/%~]")
_ESCAPED = re.compile(r"~([0-9A-F]{2})")


def quote_part(text: str) -> str:
    """`text` as one part of a path. Slashes, percent signs and tildes, and the dots of a part of dots alone,
    are written `~` and their two hex digits: servers undo percent signs before they look for slashes, some
    twice, and browsers take dots for a way up."""
    kept = text if text.strip(".") else text.replace(".", "~2E")
    return quote(_SPECIAL.sub(_escape, kept) if kept == text else kept, safe="~")


def unquote_part(text: str) -> str:
    """What a part of a path stands for, as the server hands it on."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _escape(match: re.Match[str] | str) -> str:
    return f"~{ord(match[0]):02X}"


def link_to_collection(name: CollectionName, **params: Any) -> str:
    """The page of a collection."""
    return build_url(f"{THEMES}/{quote_part(name.namespace)}/{quote_part(name.key)}", **params)


def link_to_theme(name: CollectionName, theme: str, **params: Any) -> str:
    """The page of a theme by its id or label. Of one that is called as a page of the collection's own, the
    first character is written as its digits, so that neither hides the other."""
    written = f"{_escape(theme)}{theme[1:]}" if theme in RESERVED_PARTS else quote_part(theme)
    return build_url(f"{link_to_collection(name)}/{written}", **params)


def link_to_reason(name: CollectionName, reason: str = "", **params: Any) -> str:
    """The page of the documents in no theme for a reason, or for any."""
    behind = f"/{quote_part(reason)}" if reason else ""
    return build_url(f"{link_to_collection(name)}/{UNCLUSTERED}{behind}", **params)


def link_to_exclusions(name: CollectionName, **params: Any) -> str:
    """The page of the documents that were taken out of themes."""
    return build_url(f"{link_to_collection(name)}/excluded", **params)


def link_to_assignment(name: CollectionName, document_id: str, **params: Any) -> str:
    """The page that says why a document is where it is."""
    return build_url(f"{link_to_collection(name)}/document", id=document_id, **params)


# The themes documents are in, for the pages that show documents: search and files.


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
class DocumentThemes:
    """The themes of documents by their id. Only the first `looked_in` collections by name were looked in
    where that is not None."""

    themes: Mapping[str, Sequence[ThemeLink]]
    looked_in: int | None


def find_document_themes(
    collections: CollectionService, document_ids: Sequence[str]
) -> DocumentThemes:
    """The themes of so many documents as a page shows, in as many collections as a thousand rows reach."""
    if not document_ids:
        return DocumentThemes({}, None)
    count = ROWS_MAX // len(document_ids)
    found = list(islice(collections.every(), count + 1))
    names = [one.name for one in found[:count] if any(by.conf == DEFAULT for by in one.served)]
    links = {
        id_: [
            ThemeLink(str(tag.name), tag.label, link_to_theme(tag.name, tag.label), tag.called)
            for tag in some
        ]
        for id_, some in (
            find_tags(collections.tables, names, document_ids) if names else {}
        ).items()
    }
    return DocumentThemes(links, count if len(found) > count else None)
