"""Read the rights and licences that a feed and its entries state.

Source: RSS 2.0.11 (`copyright`); RFC 4287, 4.2.10 (`rights`); RFC 4946 (links to licences); the
modules creativeCommons and `cc` of RSS; Dublin Core.

Limits: at most 10 statements are read from a feed, and at most 10 from each of its entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from lxml import etree

from fonds.model.rights import Statement, StatementSource
from fonds.rights.licenses import build_license_statements, build_rights_statements
from fonds.text.xml import get_local_name, get_text

STATED_MAX = 10
_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
_LINES, _LICENSES = frozenset({"copyright", "rights"}), "license"


def read_element_rights(
    parts: Iterable[etree._Element], source: StatementSource, base: str
) -> tuple[Statement, ...]:
    """Return the statements about rights and licences in the child elements (`parts`) of a feed or
    entry.

    `base` is the URL against which relative links are resolved.
    """
    statements: list[Statement] = []
    for element in parts:
        name = get_local_name(element)
        if name in _LINES:
            statements += build_rights_statements(get_text(element), source, name, base)
        elif name == _LICENSES:
            statements += build_license_statements(
                element.get(_RESOURCE) or get_text(element), source, name, base
            )
        elif name == "link" and _LICENSES in (element.get("rel") or "").lower().split():
            statements += build_license_statements(element.get("href") or "", source, name, base)
    return tuple(islice(dict.fromkeys(statements), STATED_MAX))


def read_line_rights(
    rights: str, licenses: Iterable[str], source: StatementSource
) -> tuple[Statement, ...]:
    """Return the statements in a text about rights (`rights`) and in the URLs of licences
    (`licenses`).
    """
    statements = build_rights_statements(rights, source, "rights") if rights else []
    for licence in islice(licenses, STATED_MAX):
        statements += build_license_statements(licence, source, _LICENSES)
    return tuple(islice(dict.fromkeys(statements), STATED_MAX))
