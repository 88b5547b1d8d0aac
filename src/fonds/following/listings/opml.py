"""OPML: lists of feeds as readers exchange them, in and out.

Source: OPML 2.0, "Subscription lists".
Bound: 100,000 outlines; depth is libxml2's 256.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from email.utils import format_datetime

from lxml import etree

from fonds.following.listings.listing import FeedOutline, clean_title, clean_url
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError
from fonds.text.xml import get_local_name, parse_strictly

OUTLINES_MAX = 100_000


def read_opml(body: bytes) -> list[FeedOutline]:
    """The feeds of a list, each address once. Raises DamagedInputError and LimitError."""
    root = parse_strictly(body)
    if get_local_name(root) != "opml":
        raise DamagedInputError(Reason.BAD_LISTING, f"<{get_local_name(root)}> is no OPML")
    found: dict[str, FeedOutline] = {}
    for number, element in enumerate(root.iter("{*}outline")):
        if number >= OUTLINES_MAX:
            raise LimitError(Reason.TOO_LARGE, f"over {OUTLINES_MAX} outlines")
        told = {str(name).lower(): str(value) for name, value in element.attrib.items()}
        if url := clean_url(told.get("xmlurl")):
            outline = FeedOutline(
                url,
                _choose_name(told),
                _build_folder_path(element),
                clean_url(told.get("htmlurl")) or "",
            )
            found.setdefault(url, outline)
    return list(found.values())


def write_opml(outlines: Iterable[FeedOutline], title: str, created_at: datetime) -> bytes:
    """A list of feeds, its folders as outlines around them."""
    root = etree.Element("opml", version="2.0")
    head = etree.SubElement(root, "head")
    etree.SubElement(head, "title").text = title
    etree.SubElement(head, "dateCreated").text = format_datetime(created_at)
    body = etree.SubElement(root, "body")
    folders: dict[str, etree._Element] = {"": body}
    for one in outlines:
        told = {"type": "rss", "text": one.title or one.url, "xmlUrl": one.url}
        told |= {"title": one.title} if one.title else {}
        told |= {"htmlUrl": one.site_url} if one.site_url else {}
        etree.SubElement(_find_or_create_folder(folders, one.folder), "outline", told)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def _find_or_create_folder(folders: dict[str, etree._Element], folder: str) -> etree._Element:
    """The element of a folder, made with those above it where it is not there yet."""
    path, above = "", folders[""]
    for name in filter(None, folder.split("/")):
        path += f"/{name}"
        if path not in folders:
            folders[path] = etree.SubElement(above, "outline", text=name)
        above = folders[path]
    return above


def _build_folder_path(element: etree._Element) -> str:
    names = [
        _choose_name({str(name).lower(): str(value) for name, value in above.attrib.items()})
        for above in element.iterancestors("{*}outline")
    ]
    return "/".join(name.replace("/", " ") for name in reversed(names) if name)[:1_000]


def _choose_name(attributes: dict[str, str]) -> str:
    return clean_title(attributes.get("title") or attributes.get("text")) or ""
