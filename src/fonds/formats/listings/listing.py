"""A listing: the links a feed, sitemap or page names, and what it says of how it wants to be asked.

Bound: at most 50,000 entries, 50,000 further listings and 10 hubs are kept of one listing, its texts cut.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin

from fonds.model.rss_entry import RssEntry

ENTRIES_MAX = 50_000
FURTHER_MAX = 50_000
HUBS_MAX = 10
URL_CHARS_MAX = 8_192
TITLE_CHARS_MAX = 1_000
PROBLEM_CHARS_MAX = 500

_TAG = re.compile(r"<[^<>]{0,2000}>")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]+")
_EDGES = "".join(map(chr, range(0x21)))
_BREAKS = str.maketrans("", "", "\t\r\n")


@dataclass(frozen=True, slots=True)
class Hints:
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
    hints: Hints = field(default_factory=Hints)
    problem: str = ""
    cut: int = 0
    older: str = ""
    is_complete: bool = False
    changed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outline:
    """One feed of a list: its address, what it is called, the folders it stands in (`news/europe`)."""

    url: str
    title: str = ""
    folder: str = ""
    site_url: str = ""


def listing(
    kind: str,
    entries: Sequence[RssEntry],
    *,
    title: str | None = "",
    further: Iterable[str] = (),
    hints: Hints | None = None,
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
        hints=hints or Hints(),
        problem=_CONTROLS.sub(" ", problem)[:PROBLEM_CHARS_MAX],
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
    return _CONTROLS.sub("", joined)[: URL_CHARS_MAX + 1] or None


def clean_title(text: str | None) -> str | None:
    """A title as one line of text: markup left out, entities resolved once, cut. None for nothing."""
    if not text:
        return None
    bare = _TAG.sub(" ", text[: 20 * TITLE_CHARS_MAX])
    line = " ".join(_CONTROLS.sub(" ", html.unescape(bare)).split())
    return line[:TITLE_CHARS_MAX] or None
