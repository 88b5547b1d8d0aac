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
FOLDER_MAX_CHARS = 1_000


def read_opml(body: bytes) -> list[FeedOutline]:
    """Read the feeds of an OPML list; each URL occurs once.

    Raises DamagedInputError if the body is not OPML, and LimitError if it has too many outlines.
    """
    root = parse_strictly(body)
    if get_local_name(root) != "opml":
        raise DamagedInputError(Reason.BAD_LISTING, f"<{get_local_name(root)}> is not OPML")
    outlines: dict[str, FeedOutline] = {}
    # Paths of the folders around the current outline; the first is the list itself.
    folder_paths = [""]
    outline_count = 0
    for event, element in etree.iterwalk(root, events=("start", "end"), tag="{*}outline"):
        if event == "end":
            folder_paths.pop()
            continue
        outline_count += 1
        if outline_count > OUTLINES_MAX:
            raise LimitError(Reason.TOO_LARGE, f"more than {OUTLINES_MAX} outlines")
        attributes = {str(name).lower(): str(value) for name, value in element.attrib.items()}
        title = _choose_name(attributes)
        if url := clean_url(attributes.get("xmlurl")):
            site_url = clean_url(attributes.get("htmlurl")) or ""
            outlines.setdefault(url, FeedOutline(url, title, folder_paths[-1], site_url))
        folder_names = (folder_paths[-1], title.replace("/", " "))
        folder_paths.append("/".join(filter(None, folder_names))[:FOLDER_MAX_CHARS])
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


def _choose_name(attributes: dict[str, str]) -> str:
    return clean_title(attributes.get("title") or attributes.get("text")) or ""
