"""URLs of theme pages, safe for any character in namespaces, keys and labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.views.themes import find_tags
from fonds.search.hits import ThemeLink
from fonds.web.html.rendering import build_url
from fonds.wiring.collections import CollectionService

THEMES = "/themes"
API = "/api"
UNCLUSTERED = "unclustered"
"""Part of a URL path, after that of a collection, for the collection's unclustered documents; a
reason may follow.
"""

RESERVED_PARTS = frozenset({UNCLUSTERED, "document", "over-time", "excluded"})
"""Parts of URL paths that, after that of a collection, do not name a theme."""

_SPECIAL = re.compile(r"[/%~]")
_ESCAPED = re.compile(r"~([0-9A-F]{2})")


def quote_part(text: str) -> str:
    """Escape `text` so that it is one part of a URL path.

    Slashes, percent signs and tildes, and all dots of a part that has only dots, become `~` and two
    hex digits. Servers decode percent signs before they split at slashes, some twice, and browsers
    resolve dots as relative paths.
    """
    undotted_text = text if text.strip(".") else text.replace(".", "~2E")
    return quote(
        _SPECIAL.sub(_escape, undotted_text) if undotted_text == text else undotted_text, safe="~"
    )


def unquote_part(text: str) -> str:
    """Decode a part of a URL path that `quote_part` escaped and in which the server decoded percent
    signs.
    """
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _escape(match: re.Match[str] | str) -> str:
    return f"~{ord(match[0]):02X}"


def link_to_collection(name: CollectionName, **params: Any) -> str:
    """Return the URL of the page of a collection's themes."""
    return build_url(f"{THEMES}/{quote_part(name.namespace)}/{quote_part(name.key)}", **params)


def link_to_theme(name: CollectionName, theme: str, **params: Any) -> str:
    """Return the URL of the page of a theme, by its id or label.

    A theme may be called like another page of the collection, such as `unclustered`. The first
    character of such a name is escaped, so that the URLs differ.
    """
    part = f"{_escape(theme)}{theme[1:]}" if theme in RESERVED_PARTS else quote_part(theme)
    return build_url(f"{link_to_collection(name)}/{part}", **params)


def link_to_reason(name: CollectionName, reason: str = "", **params: Any) -> str:
    """Return the URL of the unclustered documents with one reason, or of all of them if `reason` is
    ''.
    """
    suffix = f"/{quote_part(reason)}" if reason else ""
    return build_url(f"{link_to_collection(name)}/{UNCLUSTERED}{suffix}", **params)


def link_to_exclusions(name: CollectionName, **params: Any) -> str:
    """Return the URL of the documents that curators excluded from themes."""
    return build_url(f"{link_to_collection(name)}/excluded", **params)


def link_to_assignment(name: CollectionName, document_id: str, **params: Any) -> str:
    """Return the URL of the page that explains why a document is in its theme."""
    return build_url(f"{link_to_collection(name)}/document", id=document_id, **params)


# Themes of documents, for search and file pages.


ROWS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class DocumentThemes:
    """Themes to which documents belong, by document id. Each collection has themes of its own.

    `looked_in`: number of collections whose themes were searched, in alphabetical order; None if
        the themes of all collections were searched.
    """

    themes: Mapping[str, Sequence[ThemeLink]]
    looked_in: int | None


def find_document_themes(
    collections: CollectionService, document_ids: Sequence[str]
) -> DocumentThemes:
    """Find the themes to which documents belong.

    The more documents, the fewer collections are searched: documents times collections is at most
    1,000.
    """
    if not document_ids:
        return DocumentThemes({}, None)
    count = ROWS_MAX // len(document_ids)
    candidates = list(islice(collections.iter_collections(), count + 1))
    names = [
        collection.name
        for collection in candidates[:count]
        if any(clustering.conf == DEFAULT for clustering in collection.served)
    ]
    links = {
        id_: [
            ThemeLink(str(tag.name), tag.label, link_to_theme(tag.name, tag.label), tag.given_name)
            for tag in tags
        ]
        for id_, tags in (
            find_tags(collections.tables, names, document_ids) if names else {}
        ).items()
    }
    return DocumentThemes(links, count if len(candidates) > count else None)
