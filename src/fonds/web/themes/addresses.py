"""The addresses of the pages of themes, whatever characters namespaces, keys and labels have."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from fonds.collections.names import Name
from fonds.web.rendering import link

THEMES = "/themes"
API = "/api"
APART = "apart"
"""Behind a collection's address stand the documents in no theme, and behind that the reasons."""

OWN = frozenset({APART, "document", "over-time", "excluded"})
"""What stands behind a collection's address and is no theme."""

_SPECIAL = re.compile(r"[/%~]")
_ESCAPED = re.compile(r"~([0-9A-F]{2})")


def part(text: str) -> str:
    """`text` as one part of a path. Slashes, percent signs and tildes, and the dots of a part of dots alone,
    are written `~` and their two hex digits: servers undo percent signs before they look for slashes, some
    twice, and browsers take dots for a way up."""
    kept = text if text.strip(".") else text.replace(".", "~2E")
    return quote(_SPECIAL.sub(_escaped, kept) if kept == text else kept, safe="~")


def unpart(text: str) -> str:
    """What a part of a path stands for, as the server hands it on."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _escaped(found: re.Match[str] | str) -> str:
    return f"~{ord(found[0]):02X}"


def collection_href(name: Name, **params: Any) -> str:
    """The page of a collection."""
    return link(f"{THEMES}/{part(name.namespace)}/{part(name.key)}", **params)


def theme_href(name: Name, theme: str, **params: Any) -> str:
    """The page of a theme by its id or label. Of one that is called as a page of the collection's own, the
    first character is written as its digits, so that neither hides the other."""
    written = f"{_escaped(theme)}{theme[1:]}" if theme in OWN else part(theme)
    return link(f"{collection_href(name)}/{written}", **params)


def reason_href(name: Name, reason: str = "", **params: Any) -> str:
    """The page of the documents in no theme for a reason, or for any."""
    behind = f"/{part(reason)}" if reason else ""
    return link(f"{collection_href(name)}/{APART}{behind}", **params)


def excluded_href(name: Name, **params: Any) -> str:
    """The page of the documents that were taken out of themes."""
    return link(f"{collection_href(name)}/excluded", **params)


def placed_href(name: Name, document_id: str, **params: Any) -> str:
    """The page that says why a document is where it is."""
    return link(f"{collection_href(name)}/document", id=document_id, **params)
