"""Feeds that are broken, read by feedparser as far as it goes.

Source: feedparser's documentation, "Bozo Detection" and "Date Parsing".
Bound: what feedparser takes for a document within the limit; it runs in a child process with limits.
"""

from __future__ import annotations

import io
import re
from calendar import timegm
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import feedparser

from fonds.formats.listings.dates import rfc2822
from fonds.formats.listings.feeds.hints import cloud_url, ttl_seconds, update_seconds
from fonds.formats.listings.feeds.rights import stated_in
from fonds.formats.listings.feeds.strict import OLDER, older_of
from fonds.formats.listings.listing import (
    HUBS_MAX,
    Hints,
    Listing,
    clean_title,
    clean_url,
    listing,
)
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.rights import StatedIn, Statement
from fonds.model.rss_entry import RssEntry

_DOCTYPE = re.compile(rb"<!doctype[^\[>]{0,2000}(?:\[.{0,1000000}?\]\s{0,100})?>", re.I | re.S)
_ENTITY = re.compile(rb"<!entity[^>]{0,100000}>", re.IGNORECASE)
_DATES = ("published", "created", "updated")


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
    rights = _rights(head, StatedIn.FEED, url)
    return listing(
        _kind(found.get("version") or "rss"),
        [_entry(one, url, rights) for one in found.entries],
        title=_text(head.get("title")),
        further=_related(head, "next", url),
        hints=_hints(head, url),
        problem=wrong,
        older=older_of([(name, href) for name in OLDER for href in _related(head, name, url)]),
        is_complete="fh_complete" in head,
    )


def _kind(version: str) -> str:
    if version.startswith("atom"):
        return "atom"
    return "rdf" if version in ("rss10", "rss090") else "rss"


def _rights(one: Mapping[str, Any], where: StatedIn, url: str) -> tuple[Statement, ...]:
    # As it is stored, for the reason `_date` has.
    line = _text(dict(one.items()).get("rights"))
    return stated_in(line, _related(one, "license", url), where)


def _entry(entry: Mapping[str, Any], url: str, rights: tuple[Statement, ...]) -> RssEntry:
    link = _text(entry.get("feedburner_origlink")) or _text(entry.get("link"))
    return RssEntry(
        link=clean_url(link, url),
        title=clean_title(_text(entry.get("title"))),
        pub_date=_date(entry),
        source_url=url or None,
        rights=(*_rights(entry, StatedIn.FEED_ENTRY, url), *rights),
    )


def _date(entry: Mapping[str, Any]) -> str | None:
    # As they are stored: asked for otherwise, feedparser lends one date to another, and warns of it.
    stored = dict(entry.items())
    for name in _DATES:
        if written := rfc2822(_text(stored.get(name))):
            return written
        parsed = stored.get(f"{name}_parsed")
        if parsed is not None:
            try:
                return format_datetime(datetime.fromtimestamp(timegm(parsed), UTC))
            except (ValueError, OverflowError, OSError, TypeError):
                continue
    return None


def _hints(head: Mapping[str, Any], url: str) -> Hints:
    cloud = head.get("cloud")
    return Hints(
        ttl_s=ttl_seconds(_text(head.get("ttl"))),
        update_s=update_seconds(
            _text(head.get("sy_updateperiod")), _text(head.get("sy_updatefrequency"))
        ),
        hubs=tuple(dict.fromkeys(_related(head, "hub", url)))[:HUBS_MAX],
        cloud=cloud_url(cloud) if isinstance(cloud, Mapping) else "",
        self_url=next(iter(_related(head, "self", url)), ""),
    )


def _related(head: Mapping[str, Any], relation: str, url: str) -> list[str]:
    links = head.get("links") or []
    told = [one.get("href") for one in links if one.get("rel") == relation]
    return [address for one in told if (address := clean_url(_text(one), url))]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
