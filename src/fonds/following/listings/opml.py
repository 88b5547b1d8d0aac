"""Read and write OPML lists of feeds.

Source: OPML 2.0, "Subscription lists".
Limits: 100,000 outlines; libxml2 limits the depth to 256.
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
    """Read the feeds of an OPML list; each URL occurs once.

    Raises DamagedInputError if the body is not OPML, and LimitError if it has too many outlines.
    """
    root = parse_strictly(body)
    if get_local_name(root) != "opml":
        raise DamagedInputError(Reason.BAD_LISTING, f"<{get_local_name(root)}> is not OPML")
    outlines: dict[str, FeedOutline] = {}
    for number, element in enumerate(root.iter("{*}outline")):
        if number >= OUTLINES_MAX:
            raise LimitError(Reason.TOO_LARGE, f"more than {OUTLINES_MAX} outlines")
        attributes = {str(name).lower(): str(value) for name, value in element.attrib.items()}
        if url := clean_url(attributes.get("xmlurl")):
            outline = FeedOutline(
                url,
                _choose_name(attributes),
                _build_folder_path(element),
                clean_url(attributes.get("htmlurl")) or "",
            )
            outlines.setdefault(url, outline)
    return list(outlines.values())


def write_opml(outlines: Iterable[FeedOutline], title: str, created_at: datetime) -> bytes:
    """Write feeds as an OPML list.

    Folders become outlines that enclose the outlines of their feeds.
    """
    root = etree.Element("opml", version="2.0")
    head = etree.SubElement(root, "head")
    etree.SubElement(head, "title").text = title
    etree.SubElement(head, "dateCreated").text = format_datetime(created_at)
    body = etree.SubElement(root, "body")
    folders: dict[str, etree._Element] = {"": body}
    for outline in outlines:
        attributes = {"type": "rss", "text": outline.title or outline.url, "xmlUrl": outline.url}
        attributes |= {"title": outline.title} if outline.title else {}
        attributes |= {"htmlUrl": outline.site_url} if outline.site_url else {}
        etree.SubElement(_find_or_create_folder(folders, outline.folder), "outline", attributes)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def _find_or_create_folder(folders: dict[str, etree._Element], folder: str) -> etree._Element:
    """Return the OPML element of a folder. The element and those of its parent folders are created
    if needed.
    """
    path, parent = "", folders[""]
    for name in filter(None, folder.split("/")):
        path += f"/{name}"
        if path not in folders:
            folders[path] = etree.SubElement(parent, "outline", text=name)
        parent = folders[path]
    return parent


def _build_folder_path(element: etree._Element) -> str:
    names = [
        _choose_name({str(name).lower(): str(value) for name, value in ancestor.attrib.items()})
        for ancestor in element.iterancestors("{*}outline")
    ]
    return "/".join(name.replace("/", " ") for name in reversed(names) if name)[:1_000]


def _choose_name(attributes: dict[str, str]) -> str:
    return clean_title(attributes.get("title") or attributes.get("text")) or ""
