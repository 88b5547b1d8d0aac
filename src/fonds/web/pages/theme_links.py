"""URLs of theme pages, safe for any character in namespaces, keys and labels."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from fonds.grouping.names import CollectionName
from fonds.web.html.rendering import build_url

THEMES = "/themes"
API = "/api"
UNCLUSTERED = "unclustered"
"""Last part of the URL path of a collection's unclustered documents, unless a reason follows."""
DOCUMENT = "document"
EXCLUDED = "excluded"

RESERVED_PARTS = frozenset({UNCLUSTERED, DOCUMENT, "over-time", EXCLUDED})
"""Parts of a URL path that name no theme, although they follow the name of a collection."""

_SPECIAL_CHAR = re.compile(r"[/%~]")
_ESCAPED_CHAR = re.compile(r"~([0-9A-F]{2})")


def quote_part(text: str) -> str:
    """Escape `text` so that it is one part of a URL path.

    Slashes, percent signs and tildes become `~` and two hex digits, and so do all dots of a text
    that has only dots. All other special characters are percent-encoded. Servers decode
    percent-encoding before they split at slashes, some twice, and browsers resolve dots as relative
    paths.
    """
    if not text.strip("."):
        return text.replace(".", "~2E")
    return quote(_SPECIAL_CHAR.sub(lambda match: _escape(match[0]), text), safe="~")


def unquote_part(text: str) -> str:
    """Return the text that `quote_part` escaped. The server has already decoded
    percent-encoding."""
    return _ESCAPED_CHAR.sub(lambda match: chr(int(match[1], 16)), text)


def _escape(character: str) -> str:
    return f"~{ord(character):02X}"


def link_to_collection(name: CollectionName, **params: Any) -> str:
    """Return the URL of the page of a collection's themes."""
    return build_url(f"{THEMES}/{quote_part(name.namespace)}/{quote_part(name.key)}", **params)


def link_to_theme(name: CollectionName, theme: str, **params: Any) -> str:
    """Return the URL of the page of a theme, by its id or label.

    A theme can have the name of another page of the collection, such as `unclustered`. The first
    character of such a name is escaped, so that the URLs differ.
    """
    part = f"{_escape(theme[0])}{theme[1:]}" if theme in RESERVED_PARTS else quote_part(theme)
    return build_url(f"{link_to_collection(name)}/{part}", **params)


def link_to_reason(name: CollectionName, reason: str = "", **params: Any) -> str:
    """Return the URL of the unclustered documents with one reason, or of all of them without a
    reason.
    """
    suffix = f"/{quote_part(reason)}" if reason else ""
    return build_url(f"{link_to_collection(name)}/{UNCLUSTERED}{suffix}", **params)


def link_to_exclusions(name: CollectionName, **params: Any) -> str:
    """Return the URL of the documents that curators excluded from themes."""
    return build_url(f"{link_to_collection(name)}/{EXCLUDED}", **params)


def link_to_assignment(name: CollectionName, document_id: str, **params: Any) -> str:
    """Return the URL of the page that explains why a document is in its theme."""
    return build_url(f"{link_to_collection(name)}/{DOCUMENT}", id=document_id, **params)
