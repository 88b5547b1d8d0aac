"""Atom feeds: what stands at the top of each, and texts that XML takes.

Source: RFC 4287.
"""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

MEDIA_TYPE = "application/atom+xml"
_NAMESPACE = "http://www.w3.org/2005/Atom"
_ALLOWED = {9, 10, 13}
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""When a feed without entries was changed last."""


def create_feed(title: str, page: str, own: str, updated: datetime) -> Xml.Element:
    """A feed without entries; `page` is the URL of the page that lists the same, and the feed's id, `own`
    the feed's own."""
    top = Xml.Element("feed", xmlns=_NAMESPACE)
    add(top, "id", page)
    add(top, "title", title)
    add(top, "updated", updated.astimezone(UTC).isoformat())
    add(add(top, "author"), "name", "Fonds")
    Xml.SubElement(top, "link", rel="alternate", type="text/html", href=clean(page))
    Xml.SubElement(top, "link", rel="self", type=MEDIA_TYPE, href=clean(own))
    return top


def encode_feed(top: Xml.Element) -> bytes:
    """The feed as it is sent."""
    made: bytes = Xml.tostring(top, "utf-8", xml_declaration=True)
    return made


def add(parent: Xml.Element, name: str, text: str | None = None) -> Xml.Element:
    """An element within another, with this text."""
    made = Xml.SubElement(parent, name)
    made.text = None if text is None else clean(text)
    return made


def clean(text: str) -> str:
    """Without the characters XML 1.0 does not allow."""
    return "".join(
        one
        for one in text
        if ord(one) in _ALLOWED
        or 0x20 <= ord(one) <= 0xD7FF
        or 0xE000 <= ord(one) <= 0xFFFD
        or ord(one) >= 0x10000
    )
