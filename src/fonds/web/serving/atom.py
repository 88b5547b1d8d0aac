"""Atom feeds: create the elements of a feed, and remove characters that XML does not allow.

Source: RFC 4287.
"""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

MEDIA_TYPE = "application/atom+xml"
_NAMESPACE = "http://www.w3.org/2005/Atom"
_ALLOWED = {9, 10, 13}
NO_UPDATE_AT = datetime(1970, 1, 1, tzinfo=UTC)
"""Update time of a feed without entries."""


def create_feed(title: str, page_url: str, feed_url: str, updated_at: datetime) -> Xml.Element:
    """Create an Atom feed without entries.

    `page_url`: URL of the HTML page with the same list; it is also the feed's id.
    `feed_url`: URL of the feed itself.
    `updated_at`: time of the last change of the feed.
    """
    top = Xml.Element("feed", xmlns=_NAMESPACE)
    add(top, "id", page_url)
    add(top, "title", title)
    add(top, "updated", updated_at.astimezone(UTC).isoformat())
    add(add(top, "author"), "name", "Fonds")
    Xml.SubElement(top, "link", rel="alternate", type="text/html", href=clean(page_url))
    Xml.SubElement(top, "link", rel="self", type=MEDIA_TYPE, href=clean(feed_url))
    return top


def encode_feed(top: Xml.Element) -> bytes:
    """Encode an Atom feed as XML."""
    encoded_feed: bytes = Xml.tostring(top, "utf-8", xml_declaration=True)
    return encoded_feed


def add(parent: Xml.Element, name: str, text: str | None = None) -> Xml.Element:
    """Add a child element with this text to an XML element, and return the child."""
    element = Xml.SubElement(parent, name)
    element.text = None if text is None else clean(text)
    return element


def clean(text: str) -> str:
    """Remove the characters of a text that XML 1.0 does not allow."""
    return "".join(
        character
        for character in text
        if ord(character) in _ALLOWED
        or 0x20 <= ord(character) <= 0xD7FF
        or 0xE000 <= ord(character) <= 0xFFFD
        or ord(character) >= 0x10000
    )
