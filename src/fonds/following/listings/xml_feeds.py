"""RSS 0.9 to 2.0, RDF and Atom that are well-formed, read at once.

Source: RSS 2.0.11; RSS 1.0 (RDF); RFC 4287 (Atom 1.0) and Atom 0.3; RFC 5005, sections 2 to 4 (complete,
paged and archived feeds); the modules `syndication` and `content` of RSS 1.0; WebSub, section 4 (hubs);
feedburner's `origLink`.
Bound: linear in the document.
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

# How long a feed asks to be left alone, as seconds.
#
# Source: RSS 2.0.11 (`ttl` in minutes, `cloud`); RSS 1.0, module `syndication` (`updatePeriod`,
# `updateFrequency`).


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
    """What `ttl` says, a year at most; None where it says no number above 0."""
    number = _parse_int(minutes)
    return min(60 * number, YEAR_S) if number else None


def update_seconds(period: str, frequency: str) -> int | None:
    """The period over how often in it the feed changes; None without a period."""
    whole_s = PERIODS_S.get(period.strip().lower())
    return whole_s // max(1, _parse_int(frequency)) or 1 if whole_s else None


def build_cloud_url(attributes: Mapping[str, str]) -> str:
    """The rssCloud server as one URL; "" where it names no host."""
    host = attributes.get("domain", "").strip()
    if not host or any(one.isspace() or one in "/@?#" for one in host):
        return ""
    port, path = attributes.get("port", "80").strip(), attributes.get("path", "/").strip()
    scheme = "https" if port == "443" else "http"
    return f"{scheme}://{host}:{port}/{path.lstrip('/')}"[:2_000]


def _parse_int(text: str) -> int:
    bare = text.strip().partition(".")[0]
    return int(bare[:9]) if bare.isascii() and bare.isdigit() else 0


ATOM = ("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#")
_KINDS = {"rss": "rss", "rdf": "rdf", "feed": "atom"}
HISTORY = "http://purl.org/syndication/history/1.0"
OLDER = ("prev-archive", "next")
"""Where a feed lists what came before, by relation, the surest first."""
_DATES = ("pubdate", "published", "issued", "date", "created")
_CHANGES = ("updated", "modified")
_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})


def read_strictly(body: bytes, url: str, charset: str | None = None) -> Listing:
    """A feed at `url`. Raises DamagedInputError for what is not well-formed, or no feed."""
    root = parse_strictly(body, charset)
    kind = _KINDS.get(get_local_name(root))
    if kind is None or (kind == "atom" and get_namespace(root) not in ATOM):
        raise DamagedInputError(Reason.BAD_LISTING, f"<{get_local_name(root)}> is no feed")
    head, items = _split_parts(root, kind)
    base = _resolve_base(head, url)
    read = _build_atom_entry if kind == "atom" else _build_rss_entry
    heads = list(head)
    rights = read_element_rights(heads, StatementSource.FEED, base)
    entries = [read(item, url, rights) for item in items]
    links = [(rel, href) for rel, _, href in _iter_links(heads, base)]
    return build_listing(
        kind,
        entries,
        title=get_text(_find_first(heads, "title")),
        further=[href for rel, href in links if rel == "next"],
        hints=_parse_hints(heads, base, url),
        older=find_older_page(links),
        is_complete=any(
            get_local_name(one) == "complete" and get_namespace(one) == HISTORY for one in heads
        ),
    )


def find_older_page(links: Sequence[tuple[str, str]]) -> str:
    """Where what came before is listed, by relation and address of a feed's links: the archive before it, or
    else the next page; "" for nowhere."""
    for wanted in OLDER:
        for relation, href in links:
            if relation == wanted:
                return href
    return ""


def _split_parts(root: etree._Element, kind: str) -> tuple[etree._Element, list[etree._Element]]:
    """The element that speaks of the feed, and those of its entries; in RDF these stand beside it."""
    if kind == "atom":
        return root, [one for one in root if get_local_name(one) in ("entry", "item")]
    head = next((one for one in root if get_local_name(one) == "channel"), root)
    beside = list(head) if head is root else [*head, *root]
    return head, [one for one in beside if get_local_name(one) == "item"]


def _build_rss_entry(item: etree._Element, url: str, rights: tuple[Statement, ...]) -> RssEntry:
    parts = list(item)
    base = _resolve_base(item, url)
    link = _find_rss_link(parts, base)
    told = _find_first(parts, "source")
    # Media Cloud's whole-day feeds write the ids of feed and source there.
    source = {} if told is None else told.attrib
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
    """What an item leads to: the address before feedburner's, its link, or its guid if that is one."""
    for name in ("origlink", "link"):
        for one in parts:
            if get_local_name(one) == name and get_namespace(one) not in ATOM:
                # Some write Atom's link without saying that it is Atom's.
                is_page = one.get("rel", "alternate") == "alternate"
                told = clean_url(get_text(one) or (one.get("href") if is_page else None), base)
                if told:
                    return told
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
    links = [one for one in _iter_links(parts, base) if one[0] == "alternate"]
    if links:
        return min(links, key=lambda one: (one[1] not in _HTML_TYPES, not one[1]))[2]
    named = clean_url(get_text(_find_first(parts, "id")))
    return named if named and named.lower().startswith(("http://", "https://")) else None


def _iter_links(parts: Iterable[etree._Element], base: str) -> Iterator[tuple[str, str, str]]:
    """Relation, type and address of Atom's links, those in other feeds too."""
    for one in parts:
        if get_local_name(one) == "link" and get_namespace(one) in ATOM:
            told = one.get("href") or get_text(one)
            href = clean_url(told, clean_url(one.get(XLINK_BASE), base) or base)
            if href:
                relation = (one.get("rel") or "alternate").strip().lower()
                yield relation, (one.get("type") or "").partition(";")[0].strip().lower(), href


def _parse_date(parts: list[etree._Element]) -> str | None:
    """When it was published; when it changed only where nothing else is said."""
    for names in (_DATES, _CHANGES):
        for name in names:
            for one in parts:
                if get_local_name(one) == name and (found := format_rfc2822(get_text(one))):
                    return found
    return None


def _parse_hints(parts: list[etree._Element], base: str, url: str) -> PollHints:
    def told(name: str) -> str:
        return get_text(_find_first(parts, name)).strip()

    links = list(_iter_links(parts, base))
    cloud = _find_first(parts, "cloud")
    return PollHints(
        ttl_s=parse_ttl_s(told("ttl")),
        update_s=update_seconds(told("updateperiod"), told("updatefrequency")),
        hubs=tuple(dict.fromkeys(href for rel, _, href in links if rel == "hub"))[:HUBS_MAX],
        cloud=build_cloud_url(dict(cloud.attrib)) if cloud is not None else "",
        self_url=next((href for rel, _, href in links if rel == "self"), ""),
    )


def _find_first(parts: Iterable[etree._Element], name: str) -> etree._Element | None:
    """The first of this name, those of feeds themselves before those of other vocabularies."""
    found = [one for one in parts if get_local_name(one) == name]
    found.sort(key=lambda one: not _is_own_part(get_namespace(one)))
    return found[0] if found else None


def _is_own_part(space: str) -> bool:
    return space in ("", *ATOM) or space.startswith(("http://purl.org/rss/", "http://my.netscape"))


def _resolve_base(element: etree._Element, url: str) -> str:
    """What relative addresses are led from: the bases said around it, outermost first, from `url` on."""
    said = [one.get(XLINK_BASE) for one in (element, *element.iterancestors())]
    base = url
    for one in reversed([told for told in said if told]):
        base = clean_url(one, base) or base
    return base


# Feeds that are broken, read by feedparser as far as it goes.
#
# Source: feedparser's documentation, "Bozo Detection" and "Date Parsing".
# Bound: what feedparser takes for a document within the limit; it runs in a child process with limits.


_DOCTYPE = re.compile(rb"<!doctype[^\[>]{0,2000}(?:\[.{0,1000000}?\]\s{0,100})?>", re.I | re.S)
_ENTITY = re.compile(rb"<!entity[^>]{0,100000}>", re.IGNORECASE)
_FEEDPARSER_DATES = ("published", "created", "updated")


def read_leniently(body: bytes, url: str, charset: str | None = None, problem: str = "") -> Listing:
    """A feed at `url`, whatever is wrong with it (`problem` says what). What it declares of entities is
    left out. Raises DamagedInputError for what holds no trace of a feed."""
    bare = _ENTITY.sub(b"", _DOCTYPE.sub(b"", body, count=1))
    headers = {"content-location": url}
    if charset:
        headers["content-type"] = f"application/xml; charset={charset}"
    try:
        found = feedparser.parse(io.BytesIO(bare), response_headers=headers, sanitize_html=False)
    except Exception as error:
        told = f"feedparser gives up on it: {type(error).__name__}: {error}"
        raise DamagedInputError(Reason.BAD_LISTING, told) from error
    if not found.get("version") and not found.entries:
        raise DamagedInputError(Reason.BAD_LISTING, problem or "neither a feed nor a sitemap")
    wrong = problem or str(found.get("bozo_exception", ""))
    head = found.feed
    rights = _parse_rights(head, StatementSource.FEED, url)
    return build_listing(
        _find_kind(found.get("version") or "rss"),
        [_build_entry(one, url, rights) for one in found.entries],
        title=_get_text(head.get("title")),
        further=_list_related(head, "next", url),
        hints=_parse_feedparser_hints(head, url),
        problem=wrong,
        older=find_older_page(
            [(name, href) for name in OLDER for href in _list_related(head, name, url)]
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
    # As it is stored, for the reason `_parse_feedparser_date` has.
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
    # As they are stored: asked for otherwise, feedparser lends one date to another, and warns of it.
    stored = dict(entry.items())
    for name in _FEEDPARSER_DATES:
        if written := format_rfc2822(_get_text(stored.get(name))):
            return written
        parsed = stored.get(f"{name}_parsed")
        if parsed is not None:
            try:
                return format_datetime(datetime.fromtimestamp(timegm(parsed), UTC))
            except (ValueError, OverflowError, OSError, TypeError):
                continue
    return None


def _parse_feedparser_hints(head: Mapping[str, Any], url: str) -> PollHints:
    cloud = head.get("cloud")
    return PollHints(
        ttl_s=parse_ttl_s(_get_text(head.get("ttl"))),
        update_s=update_seconds(
            _get_text(head.get("sy_updateperiod")), _get_text(head.get("sy_updatefrequency"))
        ),
        hubs=tuple(dict.fromkeys(_list_related(head, "hub", url)))[:HUBS_MAX],
        cloud=build_cloud_url(cloud) if isinstance(cloud, Mapping) else "",
        self_url=next(iter(_list_related(head, "self", url)), ""),
    )


def _list_related(head: Mapping[str, Any], relation: str, url: str) -> list[str]:
    links = head.get("links") or []
    told = [one.get("href") for one in links if one.get("rel") == relation]
    return [address for one in told if (address := clean_url(_get_text(one), url))]


def _get_text(value: object) -> str:
    return value if isinstance(value, str) else ""
