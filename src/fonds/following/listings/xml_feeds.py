"""Parse RSS 0.9 to 2.0, RDF and Atom: well-formed feeds strictly, broken ones with feedparser.

Source: RSS 2.0.11 (also `ttl` in minutes, `cloud`); RSS 1.0 (RDF) with its modules `syndication`
(`updatePeriod`, `updateFrequency`) and `content`; RFC 4287 (Atom 1.0) and Atom 0.3; RFC 5005,
sections 2 to 4 (complete, paged and archived feeds); WebSub, section 4 (hubs); feedburner's
`origLink`; feedparser's documentation, "Bozo Detection" and "Date Parsing".
Limits: linear in the document. feedparser runs in a child process with limits.
"""

from __future__ import annotations

import io
import re
from calendar import timegm
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import feedparser
from lxml import etree

from fonds.following.listings.dates import format_rfc2822
from fonds.following.listings.feed_rights import read_element_rights, read_line_rights
from fonds.following.listings.listing import (
    HUBS_MAX,
    Listing,
    PollHints,
    build_listing,
    clean_title,
    clean_url,
)
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.rights import Statement, StatementSource
from fonds.text.xml import XLINK_BASE, get_local_name, get_namespace, get_text, parse_strictly

DAY_S = 86_400
YEAR_S = 365 * DAY_S
PERIODS_S = {
    "hourly": 3_600,
    "daily": DAY_S,
    "weekly": 7 * DAY_S,
    "monthly": 30 * DAY_S,
    "yearly": YEAR_S,
}


def parse_ttl_s(minutes: str) -> int | None:
    """Convert a `ttl` in minutes to seconds, at most a year; None if it is not a number above 0."""
    number = _parse_int(minutes)
    return min(60 * number, YEAR_S) if number else None


def compute_update_s(period: str, frequency: str) -> int | None:
    """Return the seconds between two updates of a feed: the length of `period` (such as `daily`)
    divided by `frequency`, the number of updates in it.

    Return None if the period is unknown.
    """
    period_s = PERIODS_S.get(period.strip().lower())
    return period_s // max(1, _parse_int(frequency)) or 1 if period_s else None


def build_cloud_url(attributes: Mapping[str, str]) -> str:
    """Return the URL of the rssCloud server that a feed names; "" if it names no host."""
    host = attributes.get("domain", "").strip()
    if not host or any(char.isspace() or char in "/@?#" for char in host):
        return ""
    port, path = attributes.get("port", "80").strip(), attributes.get("path", "/").strip()
    scheme = "https" if port == "443" else "http"
    return f"{scheme}://{host}:{port}/{path.lstrip('/')}"[:2_000]


def _parse_int(text: str) -> int:
    bare = text.strip().partition(".")[0]
    return int(bare[:9]) if bare.isascii() and bare.isdigit() else 0


ATOM_NAMESPACES = ("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#")
_KINDS = {"rss": "rss", "rdf": "rdf", "feed": "atom"}
HISTORY_NAMESPACE = "http://purl.org/syndication/history/1.0"
OLDER_RELATIONS = ("prev-archive", "next")
"""Link relations that lead to older entries, the most reliable first."""
_DATE_ELEMENTS = ("pubdate", "published", "issued", "date", "created")
_CHANGE_ELEMENTS = ("updated", "modified")
_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})


def read_strictly(body: bytes, url: str, charset: str | None = None) -> Listing:
    """Parse a well-formed feed at `url`.

    Raises DamagedInputError if it is malformed or not a feed.
    """
    root = parse_strictly(body, charset)
    kind = _KINDS.get(get_local_name(root))
    if kind is None or (kind == "atom" and get_namespace(root) not in ATOM_NAMESPACES):
        raise DamagedInputError(Reason.BAD_LISTING, f"<{get_local_name(root)}> is not a feed")
    head, items = _split_parts(root, kind)
    base = _resolve_base(head, url)
    build_entry = _build_atom_entry if kind == "atom" else _build_rss_entry
    heads = list(head)
    rights = read_element_rights(heads, StatementSource.FEED, base)
    entries = [build_entry(item, url, rights) for item in items]
    links = [(rel, href) for rel, _, href in _iter_links(heads, base)]
    return build_listing(
        kind,
        entries,
        title=get_text(_find_first(heads, "title")),
        further_urls=[href for rel, href in links if rel == "next"],
        hints=_parse_hints(heads, base, url),
        older_url=find_older_page(links),
        is_complete=any(
            get_local_name(element) == "complete" and get_namespace(element) == HISTORY_NAMESPACE
            for element in heads
        ),
    )


def find_older_page(links: Sequence[tuple[str, str]]) -> str:
    """Return the URL of the page with older entries; "" if there is none.

    `links` are the links of a feed as pairs of relation and URL.
    """
    for older_relation in OLDER_RELATIONS:
        for relation, href in links:
            if relation == older_relation:
                return href
    return ""


def _split_parts(root: etree._Element, kind: str) -> tuple[etree._Element, list[etree._Element]]:
    """Return the XML element that contains the metadata of a feed, and the elements of its items.

    In RDF, items are siblings of the element with the metadata.
    """
    if kind == "atom":
        return root, [element for element in root if get_local_name(element) in ("entry", "item")]
    head = next((element for element in root if get_local_name(element) == "channel"), root)
    candidates = list(head) if head is root else [*head, *root]
    return head, [element for element in candidates if get_local_name(element) == "item"]


def _build_rss_entry(item: etree._Element, url: str, rights: tuple[Statement, ...]) -> RssEntry:
    parts = list(item)
    base = _resolve_base(item, url)
    link = _find_rss_link(parts, base)
    source_element = _find_first(parts, "source")
    # Media Cloud's whole-day feeds put the ids of feed and source there.
    source = {} if source_element is None else source_element.attrib
    return RssEntry(
        link=link,
        title=clean_title(get_text(_find_first(parts, "title"))),
        pub_date=_parse_date(parts),
        domain=clean_title(get_text(_find_first(parts, "domain"))),
        source_url=url or None,
        source_feed_id=_parse_number(source.get("mcFeedId")),
        source_source_id=_parse_number(source.get("mcSourceId")),
        rights=(*read_element_rights(parts, StatementSource.FEED_ENTRY, base), *rights),
    )


def _find_rss_link(parts: list[etree._Element], base: str) -> str | None:
    """Return the link of an RSS item: feedburner's original link, its link, or a guid that is a
    URL.

    Returns None if the item has none of these.
    """
    for name in ("origlink", "link"):
        for element in parts:
            if get_local_name(element) == name and get_namespace(element) not in ATOM_NAMESPACES:
                # Some feeds use Atom's link without its namespace.
                is_page = element.get("rel", "alternate") == "alternate"
                link_url = clean_url(
                    get_text(element) or (element.get("href") if is_page else None), base
                )
                if link_url:
                    return link_url
    links = [href for rel, _, href in _iter_links(parts, base) if rel == "alternate"]
    if links:
        return links[0]
    guid = _find_first(parts, "guid")
    if guid is None or guid.get("isPermaLink", "true").lower() == "false":
        return None
    return clean_url(get_text(guid), base)


def _parse_number(text: str | None) -> int | None:
    bare = (text or "").strip()
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) <= 18 else None


def _build_atom_entry(entry: etree._Element, url: str, rights: tuple[Statement, ...]) -> RssEntry:
    parts = list(entry)
    base = _resolve_base(entry, url)
    return RssEntry(
        link=_find_atom_link(parts, base),
        title=clean_title(get_text(_find_first(parts, "title"))),
        pub_date=_parse_date(parts),
        source_url=url or None,
        rights=(*read_element_rights(parts, StatementSource.FEED_ENTRY, base), *rights),
    )


def _find_atom_link(parts: list[etree._Element], base: str) -> str | None:
    original = _find_first(parts, "origlink")
    if original is not None and get_text(original).strip():
        return clean_url(get_text(original), base)
    links = [link for link in _iter_links(parts, base) if link[0] == "alternate"]
    if links:
        return min(links, key=lambda link: (link[1] not in _HTML_TYPES, not link[1]))[2]
    id_url = clean_url(get_text(_find_first(parts, "id")))
    return id_url if id_url and id_url.lower().startswith(("http://", "https://")) else None


def _iter_links(parts: Iterable[etree._Element], base: str) -> Iterator[tuple[str, str, str]]:
    """Yield relation, media type and URL of each Atom link among XML elements. Feeds of any format
    may have such links.
    """
    for element in parts:
        if get_local_name(element) == "link" and get_namespace(element) in ATOM_NAMESPACES:
            href_text = element.get("href") or get_text(element)
            href = clean_url(href_text, clean_url(element.get(XLINK_BASE), base) or base)
            if href:
                relation = (element.get("rel") or "alternate").strip().lower()
                yield relation, (element.get("type") or "").partition(";")[0].strip().lower(), href


def _parse_date(parts: list[etree._Element]) -> str | None:
    """Return the publication date of a feed item in the format of RFC 2822, or its date of last
    change if it has no other; None without a date.

    `parts` are the child elements of the item.
    """
    for names in (_DATE_ELEMENTS, _CHANGE_ELEMENTS):
        for name in names:
            for element in parts:
                if get_local_name(element) == name and (date := format_rfc2822(get_text(element))):
                    return date
    return None


def _parse_hints(parts: list[etree._Element], base: str, url: str) -> PollHints:
    def find_text(name: str) -> str:
        return get_text(_find_first(parts, name)).strip()

    links = list(_iter_links(parts, base))
    cloud = _find_first(parts, "cloud")
    return PollHints(
        ttl_s=parse_ttl_s(find_text("ttl")),
        update_s=compute_update_s(find_text("updateperiod"), find_text("updatefrequency")),
        hubs=tuple(dict.fromkeys(href for rel, _, href in links if rel == "hub"))[:HUBS_MAX],
        cloud=build_cloud_url(dict(cloud.attrib)) if cloud is not None else "",
        self_url=next((href for rel, _, href in links if rel == "self"), ""),
    )


def _find_first(parts: Iterable[etree._Element], name: str) -> etree._Element | None:
    """Return the first of the elements `parts` with this name; None if there is none.

    Elements of the feed format itself precede those of extensions.
    """
    matches = [part for part in parts if get_local_name(part) == name]
    matches.sort(key=lambda element: not _is_own_part(get_namespace(element)))
    return matches[0] if matches else None


def _is_own_part(space: str) -> bool:
    return space in ("", *ATOM_NAMESPACES) or space.startswith(
        ("http://purl.org/rss/", "http://my.netscape")
    )


def _resolve_base(element: etree._Element, url: str) -> str:
    """Return the base URL for relative links in an element: the values of `xml:base` of the element
    and its ancestors, resolved from the outermost on against `url`.
    """
    bases = [node.get(XLINK_BASE) for node in (element, *element.iterancestors())]
    base = url
    for node in reversed([base_value for base_value in bases if base_value]):
        base = clean_url(node, base) or base
    return base


_DOCTYPE = re.compile(rb"<!doctype[^\[>]{0,2000}(?:\[.{0,1000000}?\]\s{0,100})?>", re.I | re.S)
_ENTITY = re.compile(rb"<!entity[^>]{0,100000}>", re.IGNORECASE)
_FEEDPARSER_DATES = ("published", "created", "updated")


def read_leniently(body: bytes, url: str, charset: str | None = None, problem: str = "") -> Listing:
    """Parse a broken feed at `url` with feedparser.

    `problem` says why strict parsing failed. Entity declarations are removed first. Raises
    DamagedInputError if feedparser fails, or finds neither a feed format nor entries.
    """
    safe_body = _ENTITY.sub(b"", _DOCTYPE.sub(b"", body, count=1))
    headers = {"content-location": url}
    if charset:
        headers["content-type"] = f"application/xml; charset={charset}"
    try:
        feed = feedparser.parse(
            io.BytesIO(safe_body), response_headers=headers, sanitize_html=False
        )
    except Exception as error:
        message = f"feedparser failed: {type(error).__name__}: {error}"
        raise DamagedInputError(Reason.BAD_LISTING, message) from error
    if not feed.get("version") and not feed.entries:
        raise DamagedInputError(Reason.BAD_LISTING, problem or "neither a feed nor a sitemap")
    full_problem = problem or str(feed.get("bozo_exception", ""))
    head = feed.feed
    rights = _parse_rights(head, StatementSource.FEED, url)
    return build_listing(
        _find_kind(feed.get("version") or "rss"),
        [_build_entry(item, url, rights) for item in feed.entries],
        title=_get_text(head.get("title")),
        further_urls=_list_related(head, "next", url),
        hints=_parse_feedparser_hints(head, url),
        problem=full_problem,
        older_url=find_older_page(
            [(name, href) for name in OLDER_RELATIONS for href in _list_related(head, name, url)]
        ),
        is_complete="fh_complete" in head,
    )


def _find_kind(version: str) -> str:
    if version.startswith("atom"):
        return "atom"
    return "rdf" if version in ("rss10", "rss090") else "rss"


def _parse_rights(
    element: Mapping[str, Any], source: StatementSource, url: str
) -> tuple[Statement, ...]:
    # Read the stored value, as in `_parse_feedparser_date`.
    line = _get_text(dict(element.items()).get("rights"))
    return read_line_rights(line, _list_related(element, "license", url), source)


def _build_entry(entry: Mapping[str, Any], url: str, rights: tuple[Statement, ...]) -> RssEntry:
    link = _get_text(entry.get("feedburner_origlink")) or _get_text(entry.get("link"))
    return RssEntry(
        link=clean_url(link, url),
        title=clean_title(_get_text(entry.get("title"))),
        pub_date=_parse_feedparser_date(entry),
        source_url=url or None,
        rights=(*_parse_rights(entry, StatementSource.FEED_ENTRY, url), *rights),
    )


def _parse_feedparser_date(entry: Mapping[str, Any]) -> str | None:
    # Read stored values only. Through `get`, feedparser substitutes one date for another, with a
    # warning.
    fields = dict(entry.items())
    for name in _FEEDPARSER_DATES:
        if formatted_date := format_rfc2822(_get_text(fields.get(name))):
            return formatted_date
        parsed_time = fields.get(f"{name}_parsed")
        if parsed_time is not None:
            try:
                return format_datetime(datetime.fromtimestamp(timegm(parsed_time), UTC))
            except (ValueError, OverflowError, OSError, TypeError):
                continue
    return None


def _parse_feedparser_hints(head: Mapping[str, Any], url: str) -> PollHints:
    cloud = head.get("cloud")
    return PollHints(
        ttl_s=parse_ttl_s(_get_text(head.get("ttl"))),
        update_s=compute_update_s(
            _get_text(head.get("sy_updateperiod")), _get_text(head.get("sy_updatefrequency"))
        ),
        hubs=tuple(dict.fromkeys(_list_related(head, "hub", url)))[:HUBS_MAX],
        cloud=build_cloud_url(cloud) if isinstance(cloud, Mapping) else "",
        self_url=next(iter(_list_related(head, "self", url)), ""),
    )


def _list_related(head: Mapping[str, Any], relation: str, url: str) -> list[str]:
    links = head.get("links") or []
    hrefs = [link.get("href") for link in links if link.get("rel") == relation]
    return [link_url for link in hrefs if (link_url := clean_url(_get_text(link), url))]


def _get_text(value: object) -> str:
    return value if isinstance(value, str) else ""
