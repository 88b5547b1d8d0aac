"""Result of checking a source: the links that it lists now, without following it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from fonds.following.listings.listing import PollHints


class ListedLink(msgspec.Struct, frozen=True):
    """Link in a listing, with the title and date that the listing states."""

    link: str | None
    title: str | None
    pub_date: str | None


class SourceCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Response and links of a source that was checked without following it."""

    source: Annotated[str, Meta(description="requested URL")]
    url: Annotated[str, Meta(description="URL that responded")]
    moved_to: Annotated[
        str | None, Meta(description="URL of a permanent redirect; empty without one")
    ]
    kind: Annotated[str, Meta(description="format of the listing: rss, atom, sitemap, …")]
    title: Annotated[str | None, Meta(description="title that the source states")]
    listed: Annotated[int, Meta(description="number of links in the listing")]
    cut: Annotated[int, Meta(description="number of entries beyond the limit")]
    refused: Annotated[
        Mapping[str, int], Meta(description="number of links that would be refused, by reason")
    ]
    links: Annotated[Sequence[ListedLink], Meta(description="the other links")]
    problem: Annotated[
        str | None, Meta(description="what could not be read of the listing; empty for nothing")
    ]
    hints: Annotated[PollHints, Meta(description="what the listing says about polling")]
    older: Annotated[str | None, Meta(description="URL of the page with older entries")]
    sitemaps: Annotated[int, Meta(description="number of sitemaps of an index; 0 for others")]
