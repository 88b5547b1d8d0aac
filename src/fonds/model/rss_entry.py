"""Where a story was found. Field names and types of seed 004."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.model.rights import Statement


@dataclass(frozen=True, slots=True)
class RssEntry:
    """Where the story was found; forensic but for `link` and `pub_date` (RFC 2822).

    `rights`, which is ours, is what the entry and its feed state about the use of the story.
    """

    link: str | None = None
    title: str | None = None
    domain: str | None = None
    pub_date: str | None = None
    fetch_date: str | None = None
    source_url: str | None = None
    source_feed_id: int | None = None
    source_source_id: int | None = None
    via: str | None = None
    rights: tuple[Statement, ...] = ()
