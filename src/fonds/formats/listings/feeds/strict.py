"""RSS 0.9 to 2.0, RDF and Atom that are well-formed, read at once.

Source: RSS 2.0.11; RSS 1.0 (RDF); RFC 4287 (Atom 1.0) and Atom 0.3; RFC 5005, sections 2 to 4 (complete,
paged and archived feeds); the modules `syndication` and `content` of RSS 1.0; WebSub, section 4 (hubs);
feedburner's `origLink`.
Bound: linear in the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lxml import etree

from fonds.formats.listings.dates import rfc2822
from fonds.formats.listings.feeds.hints import cloud_url, ttl_seconds, update_seconds
from fonds.formats.listings.feeds.rights import stated_by
from fonds.formats.listings.listing import (
    HUBS_MAX,
    Hints,
    Listing,
    clean_title,
    clean_url,
    listing,
)
from fonds.formats.listings.markup import (
    XLINK_BASE,
    local_name,
    namespace,
    parse_strictly,
    text_of,
)
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.rights import StatedIn, Statement
from fonds.model.rss_entry import RssEntry

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
    kind = _KINDS.get(local_name(root))
    if kind is None or (kind == "atom" and namespace(root) not in ATOM):
        raise DamagedInputError(Reason.BAD_LISTING, f"<{local_name(root)}> is no feed")
    head, items = _parts(root, kind)
    base = _base(head, url)
    read = _atom_entry if kind == "atom" else _rss_entry
    heads = list(head)
    rights = stated_by(heads, StatedIn.FEED, base)
    entries = [read(item, url, rights) for item in items]
    links = [(rel, href) for rel, _, href in _links(heads, base)]
    return listing(
        kind,
        entries,
        title=text_of(_first(heads, "title")),
        further=[href for rel, href in links if rel == "next"],
        hints=_hints(heads, base, url),
        older=older_of(links),
        is_complete=any(
            local_name(one) == "complete" and namespace(one) == HISTORY for one in heads
        ),
    )


def older_of(links: Sequence[tuple[str, str]]) -> str:
    """Where what came before is listed, by relation and address of a feed's links: the archive before it, or
    else the next page; "" for nowhere."""
    for wanted in OLDER:
        for relation, href in links:
            if relation == wanted:
                return href
    return ""


def _parts(root: etree._Element, kind: str) -> tuple[etree._Element, list[etree._Element]]:
    """The element that speaks of the feed, and those of its entries; in RDF these stand beside it."""
    if kind == "atom":
        return root, [one for one in root if local_name(one) in ("entry", "item")]
    head = next((one for one in root if local_name(one) == "channel"), root)
    beside = list(head) if head is root else [*head, *root]
    return head, [one for one in beside if local_name(one) == "item"]


def _rss_entry(item: etree._Element, url: str, rights: tuple[Statement, ...]) -> RssEntry:
    parts = list(item)
    base = _base(item, url)
    link = _rss_link(parts, base)
    told = _first(parts, "source")
    # Media Cloud's whole-day feeds write the ids of feed and source there.
    source = {} if told is None else told.attrib
    return RssEntry(
        link=link,
        title=clean_title(text_of(_first(parts, "title"))),
        pub_date=_date(parts),
        domain=clean_title(text_of(_first(parts, "domain"))),
        source_url=url or None,
        source_feed_id=_number(source.get("mcFeedId")),
        source_source_id=_number(source.get("mcSourceId")),
        rights=(*stated_by(parts, StatedIn.FEED_ENTRY, base), *rights),
    )


def _rss_link(parts: list[etree._Element], base: str) -> str | None:
    """What an item leads to: the address before feedburner's, its link, or its guid if that is one."""
    for name in ("origlink", "link"):
        for one in parts:
            if local_name(one) == name and namespace(one) not in ATOM:
                # Some write Atom's link without saying that it is Atom's.
                is_page = one.get("rel", "alternate") == "alternate"
                told = clean_url(text_of(one) or (one.get("href") if is_page else None), base)
                if told:
                    return told
    links = [href for rel, _, href in _links(parts, base) if rel == "alternate"]
    if links:
        return links[0]
    guid = _first(parts, "guid")
    if guid is None or guid.get("isPermaLink", "true").lower() == "false":
        return None
    return clean_url(text_of(guid), base)


def _number(text: str | None) -> int | None:
    bare = (text or "").strip()
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) <= 18 else None


def _atom_entry(entry: etree._Element, url: str, rights: tuple[Statement, ...]) -> RssEntry:
    parts = list(entry)
    base = _base(entry, url)
    return RssEntry(
        link=_atom_link(parts, base),
        title=clean_title(text_of(_first(parts, "title"))),
        pub_date=_date(parts),
        source_url=url or None,
        rights=(*stated_by(parts, StatedIn.FEED_ENTRY, base), *rights),
    )


def _atom_link(parts: list[etree._Element], base: str) -> str | None:
    original = _first(parts, "origlink")
    if original is not None and text_of(original).strip():
        return clean_url(text_of(original), base)
    links = [one for one in _links(parts, base) if one[0] == "alternate"]
    if links:
        return min(links, key=lambda one: (one[1] not in _HTML_TYPES, not one[1]))[2]
    named = clean_url(text_of(_first(parts, "id")))
    return named if named and named.lower().startswith(("http://", "https://")) else None


def _links(parts: Iterable[etree._Element], base: str) -> Iterator[tuple[str, str, str]]:
    """Relation, type and address of Atom's links, those in other feeds too."""
    for one in parts:
        if local_name(one) == "link" and namespace(one) in ATOM:
            told = one.get("href") or text_of(one)
            href = clean_url(told, clean_url(one.get(XLINK_BASE), base) or base)
            if href:
                relation = (one.get("rel") or "alternate").strip().lower()
                yield relation, (one.get("type") or "").partition(";")[0].strip().lower(), href


def _date(parts: list[etree._Element]) -> str | None:
    """When it was published; when it changed only where nothing else is said."""
    for names in (_DATES, _CHANGES):
        for name in names:
            for one in parts:
                if local_name(one) == name and (found := rfc2822(text_of(one))):
                    return found
    return None


def _hints(parts: list[etree._Element], base: str, url: str) -> Hints:
    def told(name: str) -> str:
        return text_of(_first(parts, name)).strip()

    links = list(_links(parts, base))
    cloud = _first(parts, "cloud")
    return Hints(
        ttl_s=ttl_seconds(told("ttl")),
        update_s=update_seconds(told("updateperiod"), told("updatefrequency")),
        hubs=tuple(dict.fromkeys(href for rel, _, href in links if rel == "hub"))[:HUBS_MAX],
        cloud=cloud_url(dict(cloud.attrib)) if cloud is not None else "",
        self_url=next((href for rel, _, href in links if rel == "self"), ""),
    )


def _first(parts: Iterable[etree._Element], name: str) -> etree._Element | None:
    """The first of this name, those of feeds themselves before those of other vocabularies."""
    found = [one for one in parts if local_name(one) == name]
    found.sort(key=lambda one: not _is_own(namespace(one)))
    return found[0] if found else None


def _is_own(space: str) -> bool:
    return space in ("", *ATOM) or space.startswith(("http://purl.org/rss/", "http://my.netscape"))


def _base(element: etree._Element, url: str) -> str:
    """What relative addresses are led from: the bases said around it, outermost first, from `url` on."""
    said = [one.get(XLINK_BASE) for one in (element, *element.iterancestors())]
    base = url
    for one in reversed([told for told in said if told]):
        base = clean_url(one, base) or base
    return base
