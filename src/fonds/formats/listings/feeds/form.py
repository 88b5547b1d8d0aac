"""The form of a listing: its format and what its links are told with, and whether that changed.

A feed of which some links have a title and some have none has not changed its form each time their number
does: what is told of half of the links counts as told, what is told of none as not, and between the two it
stays as it was.
"""

from __future__ import annotations

from fonds.formats.listings.listing import Listing

ENTRIES_LEAST = 3
"""Of fewer links only the format is told."""
SHARE_TOLD = 0.5
TOLD = ("title", "pub_date")
WORDS = {"title": "titles", "pub_date": "dates"}


def form_of(listing: Listing, before: str | None) -> str | None:
    """The form of a listing in words, as `rss with titles, dates`; `before` is the last that was noted. None
    for a listing without links, which has none."""
    if not listing.entries:
        return before
    last = set(_parted(before)[1])
    told = [WORDS[name] for name in TOLD if _is_told(listing, name, WORDS[name] in last)]
    if len(listing.entries) < ENTRIES_LEAST and before is not None:
        told = [word for word in WORDS.values() if word in last]
    return f"{listing.kind} with {', '.join(told)}" if told else listing.kind


def _is_told(listing: Listing, name: str, was: bool) -> bool:
    count = sum(bool(getattr(one, name)) for one in listing.entries)
    share = count / len(listing.entries)
    return share >= SHARE_TOLD or (was and count > 0)


def _parted(form: str | None) -> tuple[str, list[str]]:
    kind, _, words = (form or "").partition(" with ")
    return kind, words.split(", ") if words else []
