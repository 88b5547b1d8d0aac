"""What a feed and its entries state about the use of what they list.

Source: RSS 2.0.11 (`copyright`); RFC 4287, 4.2.10 (`rights`); RFC 4946 (links to licences); the modules
creativeCommons and `cc` of RSS; Dublin Core.
Bound: `STATED_MAX` statements of a feed, and as many of an entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from lxml import etree

from fonds.formats.listings.markup import local_name, text_of
from fonds.model.rights import StatedIn, Statement
from fonds.rights.licenses import license_stated, rights_stated

STATED_MAX = 10
_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
_LINES, _LICENSES = frozenset({"copyright", "rights"}), "license"


def stated_by(parts: Iterable[etree._Element], where: StatedIn, base: str) -> tuple[Statement, ...]:
    """Return what these elements of a feed or of an entry state."""
    found: list[Statement] = []
    for one in parts:
        name = local_name(one)
        if name in _LINES:
            found += rights_stated(text_of(one), where, name, base)
        elif name == _LICENSES:
            found += license_stated(one.get(_RESOURCE) or text_of(one), where, name, base)
        elif name == "link" and _LICENSES in (one.get("rel") or "").lower().split():
            found += license_stated(one.get("href") or "", where, name, base)
    return tuple(islice(dict.fromkeys(found), STATED_MAX))


def stated_in(rights: str, licenses: Iterable[str], where: StatedIn) -> tuple[Statement, ...]:
    """Return what a line about rights and links to licences state."""
    found = rights_stated(rights, where, "rights") if rights else []
    for one in islice(licenses, STATED_MAX):
        found += license_stated(one, where, _LICENSES)
    return tuple(islice(dict.fromkeys(found), STATED_MAX))
