"""A listing: the links a feed, sitemap or page names, and what it says of how it wants to be asked.

Bound: at most 50,000 entries, 50,000 further listings and 10 hubs are kept of one listing, its texts cut.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin

from fonds.model.capture import RssEntry

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


@dataclass(frozen=True, slots=True)
class PollHints:
    """What a listing says of polling it. `ttl_s` and `update_s` are seconds to leave between two polls, None
    where it says nothing; `hubs` are WebSub hubs, `cloud` the rssCloud server as a URL, "" for none;
    `self_url` is the address it calls its own.
    """

    ttl_s: int | None = None
    update_s: int | None = None
    hubs: tuple[str, ...] = ()
    cloud: str = ""
    self_url: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """What one answer of a source held.

    `kind` is what it is (`rss`, `rdf`, `atom`, `json-feed`, `sitemap`, `sitemap-index`, `url-list`, `page`,
    `rss-fetcher`). `entries` are its links in its order; one without an address has no `link`. `further`
    are addresses of listings it leads to: sitemaps of an index, the next page, a page's feeds. `problem`
    says what was wrong with it and was put up with, "" for nothing. `cut` counts entries beyond the limit.
    `older` is where a feed lists what came before, "" for nowhere; `is_complete` that it says to list all
    there is. `changed` is what a sitemap or an index says of when pages or sitemaps changed last (`lastmod`),
    as RFC 2822, by their addresses.
    """

    kind: str
    entries: tuple[RssEntry, ...] = ()
    title: str = ""
    further: tuple[str, ...] = ()
    hints: PollHints = field(default_factory=PollHints)
    problem: str = ""
    cut: int = 0
    older: str = ""
    is_complete: bool = False
    changed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FeedOutline:
    """One feed of a list: its address, what it is called, the folders it stands in (`news/europe`)."""

    url: str
    title: str = ""
    folder: str = ""
    site_url: str = ""


def build_listing(
    kind: str,
    entries: Sequence[RssEntry],
    *,
    title: str | None = "",
    further: Iterable[str] = (),
    hints: PollHints | None = None,
    problem: str = "",
    older: str = "",
    is_complete: bool = False,
    changed: Mapping[str, str] | None = None,
) -> Listing:
    """A listing within the limits; what was cut off is counted."""
    return Listing(
        kind=kind,
        entries=tuple(entries[:ENTRIES_MAX]),
        title=clean_title(title) or "",
        further=tuple(dict.fromkeys(further))[:FURTHER_MAX],
        hints=hints or PollHints(),
        problem=_CONTROLS.sub(" ", problem)[:PROBLEM_MAX_CHARS],
        cut=max(0, len(entries) - ENTRIES_MAX),
        older="" if is_complete else older,
        is_complete=is_complete,
        changed=changed or {},
    )


def clean_url(text: str | None, base: str = "") -> str | None:
    """An address as it is meant: blanks around and breaks within are no part of it; relative ones are led
    from `base`. None for nothing. What is longer than any address is cut, and is no address then."""
    bare = (text or "").translate(_BREAKS).strip(_EDGES)
    if not bare:
        return None
    try:
        joined = urljoin(base, bare) if base else bare
    except ValueError:
        joined = bare
    return _CONTROLS.sub("", joined)[: URL_MAX_CHARS + 1] or None


def clean_title(text: str | None) -> str | None:
    """A title as one line of text: markup left out, entities resolved once, cut. None for nothing."""
    if not text:
        return None
    bare = _TAG.sub(" ", text[: 20 * TITLE_MAX_CHARS])
    line = " ".join(_CONTROLS.sub(" ", html.unescape(bare)).split())
    return line[:TITLE_MAX_CHARS] or None


# The form of a listing: its format and what its links are told with, and whether that changed.
#
# A feed of which some links have a title and some have none has not changed its form each time their number
# does: what is told of half of the links counts as told, what is told of none as not, and between the two it
# stays as it was.


ENTRIES_MIN = 3
"""Of fewer links only the format is told."""
SHARE_MIN = 0.5
DESCRIBED_FIELDS = ("title", "pub_date")
FIELD_LABELS = {"title": "titles", "pub_date": "dates"}


def describe_form(listing: Listing, previous: str | None) -> str | None:
    """The form of a listing in words, as `rss with titles, dates`; `previous` is the last that was noted.
    None for a listing without links, which has none."""
    if not listing.entries:
        return previous
    last = set(_split_form(previous)[1])
    told = [
        FIELD_LABELS[name]
        for name in DESCRIBED_FIELDS
        if _is_mentioned(listing, name, FIELD_LABELS[name] in last)
    ]
    if len(listing.entries) < ENTRIES_MIN and previous is not None:
        told = [word for word in FIELD_LABELS.values() if word in last]
    return f"{listing.kind} with {', '.join(told)}" if told else listing.kind


def _is_mentioned(listing: Listing, name: str, was_mentioned: bool) -> bool:
    count = sum(bool(getattr(one, name)) for one in listing.entries)
    share = count / len(listing.entries)
    return share >= SHARE_MIN or (was_mentioned and count > 0)


def _split_form(form: str | None) -> tuple[str, list[str]]:
    kind, _, words = (form or "").partition(" with ")
    return kind, words.split(", ") if words else []
