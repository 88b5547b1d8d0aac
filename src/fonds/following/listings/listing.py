"""Listing: the links in one response of a feed, sitemap or page, with hints for polling.

Limits: at most 50,000 entries, 50,000 URLs of further listings and 10 hubs are kept; texts are cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import msgspec

from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.text.entities import decode_entities

ENTRIES_MAX = 50_000
FURTHER_MAX = 50_000
HUBS_MAX = 10
URL_MAX_CHARS = 8_192
TITLE_MAX_CHARS = 1_000
PROBLEM_MAX_CHARS = 500

_TAG = re.compile(r"<[^<>]{0,2000}>")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]+")
_EDGES = "".join(map(chr, range(0x21)))
_BREAKS = str.maketrans("", "", "\t\r\n")
_JSON_DECODER = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class PollHints:
    """Hints in a feed about how to poll it.

    - `ttl_s`: seconds for which a copy is valid (`ttl`); None if not stated.
    - `update_s`: seconds between two updates of the feed; None if not stated.
    - `hubs`: URLs of WebSub hubs, which announce updates.
    - `cloud`: URL of the rssCloud server, which announces updates; "" if there is none.
    - `self_url`: URL of the feed as it states it; "" if not stated.
    """

    ttl_s: int | None = None
    update_s: int | None = None
    hubs: tuple[str, ...] = ()
    cloud: str = ""
    self_url: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Listing of links, parsed from one response of a source.

    - `kind`: format (`rss`, `rdf`, `atom`, `json-feed`, `sitemap`, `sitemap-index`, `url-list`,
      `page`, `rss-fetcher`).
    - `entries`: entries in the order of the response. An entry without a URL has `link` None.
    - `title`: title of the source; "" if not stated.
    - `further_urls`: URLs of other listings: the sitemaps of an index, the next page of a feed, or
      the feeds that a page names.
    - `hints`: hints about how to poll the source.
    - `problem`: description of an error despite which the response was parsed; "" for none.
    - `omitted_count`: number of entries omitted because they exceed the limit.
    - `older_url`: URL of the page with older entries; "" if there is none.
    - `is_complete`: whether the feed states that it lists all its entries, so that there is no
      older page.
    - `change_times`: stated time of the last change (`lastmod`) of pages or sitemaps, by URL, in
      the format of RFC 2822.
    """

    kind: str
    entries: tuple[RssEntry, ...] = ()
    title: str = ""
    further_urls: tuple[str, ...] = ()
    hints: PollHints = field(default_factory=PollHints)
    problem: str = ""
    omitted_count: int = 0
    older_url: str = ""
    is_complete: bool = False
    change_times: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FeedOutline:
    """Feed in a list in the format OPML.

    - `url`, `title`: URL and title of the feed.
    - `folder`: path of the folders that contain the feed, such as `news/europe`; "" for none.
    - `site_url`: URL of the site to which the feed belongs; "" if not stated.
    """

    url: str
    title: str = ""
    folder: str = ""
    site_url: str = ""


def build_listing(
    kind: str,
    entries: Sequence[RssEntry],
    *,
    title: str | None = "",
    further_urls: Iterable[str] = (),
    hints: PollHints | None = None,
    problem: str = "",
    older_url: str = "",
    is_complete: bool = False,
    change_times: Mapping[str, str] | None = None,
) -> Listing:
    """Build a listing from parsed values.

    Entries and URLs beyond the limits are omitted, and the omitted entries are counted.
    """
    return Listing(
        kind=kind,
        entries=tuple(entries[:ENTRIES_MAX]),
        title=clean_title(title) or "",
        further_urls=tuple(dict.fromkeys(further_urls))[:FURTHER_MAX],
        hints=hints or PollHints(),
        problem=_CONTROLS.sub(" ", problem)[:PROBLEM_MAX_CHARS],
        omitted_count=max(0, len(entries) - ENTRIES_MAX),
        older_url="" if is_complete else older_url,
        is_complete=is_complete,
        change_times=change_times or {},
    )


def decode_json_listing(body: bytes) -> Any:
    """Decode a listing in JSON, with or without a byte order mark.

    The decoder limits nesting. Raises DamagedInputError if the body is not JSON.
    """
    try:
        return _JSON_DECODER.decode(body.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.BAD_LISTING, f"not JSON: {error}") from error


def clean_url(text: str | None, base: str = "") -> str | None:
    """Clean a URL: strip blanks, remove line breaks and tabs, and resolve it against the URL
    `base`.

    Returns None if nothing is left. A URL that is too long is cut to one character over the limit,
    so that the link rules refuse it.
    """
    stripped_text = (text or "").translate(_BREAKS).strip(_EDGES)
    if not stripped_text:
        return None
    try:
        joined_url = urljoin(base, stripped_text) if base else stripped_text
    except ValueError:
        joined_url = stripped_text
    return _CONTROLS.sub("", joined_url)[: URL_MAX_CHARS + 1] or None


def clean_title(text: str | None) -> str | None:
    """Clean a title: remove markup and line breaks, decode entities once, and cut it to 1,000
    characters.

    Returns None if nothing is left.
    """
    if not text:
        return None
    text_without_tags = _TAG.sub(" ", text[: 20 * TITLE_MAX_CHARS])
    line = " ".join(_CONTROLS.sub(" ", decode_entities(text_without_tags)).split())
    return line[:TITLE_MAX_CHARS] or None


# Form of a listing: its format and the fields that its links have. A field that half of the links
# have is part of the form, and a field that no link has is not. In between the form stays
# unchanged, so that it does not change each time a few links lack a title.


ENTRIES_MIN = 3
"""Minimum number of links from which the fields of a listing's links are detected. With fewer, the
fields stay as described for the source's last listing, if there was one.
"""
SHARE_MIN = 0.5
DESCRIBED_FIELDS = ("title", "pub_date")
FIELD_LABELS = {"title": "titles", "pub_date": "dates"}


def describe_form(listing: Listing, previous: str | None) -> str | None:
    """Return a description of the format of a listing and the fields of its links, such as `rss
    with titles, dates`.

    `previous` is the description of the source's last listing; None if there is none. It is
    returned unchanged if the listing has no links.
    """
    if not listing.entries:
        return previous
    previous_labels = set(_split_form(previous)[1])
    labels = [
        FIELD_LABELS[name]
        for name in DESCRIBED_FIELDS
        if _is_mentioned(listing, name, FIELD_LABELS[name] in previous_labels)
    ]
    if len(listing.entries) < ENTRIES_MIN and previous is not None:
        labels = [word for word in FIELD_LABELS.values() if word in previous_labels]
    return f"{listing.kind} with {', '.join(labels)}" if labels else listing.kind


def _is_mentioned(listing: Listing, name: str, was_mentioned: bool) -> bool:
    count = sum(bool(getattr(entry, name)) for entry in listing.entries)
    share = count / len(listing.entries)
    return share >= SHARE_MIN or (was_mentioned and count > 0)


def _split_form(form: str | None) -> tuple[str, list[str]]:
    kind, _, words = (form or "").partition(" with ")
    return kind, words.split(", ") if words else []
