"""Rows of followed sources: polls, refused links, fetched pages and rate limits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from fonds.model.source import Backfill, DayCounts, ListingHints, StoredPace


@dataclass(frozen=True, slots=True)
class SourceRow:
    """`sources`: a feed, sitemap, page of links or API that is followed, and its status.

    - `source_id`: derived from the URL it was added with.
    - `kind`: `feed` (feeds, sitemaps and lists, distinguished by their content), `page` or
      `rss-fetcher`.
    - `state`: `active`, `paused` or `gone`; only a person changes `gone`.
    - `polls`: polls begun; `polling` while one is in progress or was interrupted.
    - `lease_holder`: the process that polls it now, None for none; `lease_version` changes with every
      write of the lease.
    - `etag`, `last_modified`, `digest` (SHA-1 of the body): those of the last listing read.
    - `mark`: id after which an API is queried.
    - `rate_day`: new links per day, None before the first listing.
    - `failures`: failed polls since `last_well`; `error` and `status` are those of the last.
    - `failing_since`: time of the first of `failures`, None also if it was not recorded then.
    - `refused`: ids of refused links in the last listing.
    - `hints`: what the listing says about polling.
    - `listed`: number of links in the last listing that had any.
    - `silent_polls`: listings without links read since then, the first at `silent_since`.
    - `refused_tally`: refused links of all polls, by reason.
    - `days`: for each of the last days with polls (YYYY-MM-DD, UTC) the polls, failed polls, new
      links and refused links.
    - `standing`: health after the last poll (`following/health.py`), regardless of `state`.
    - `muted_at`, `muted_until`, `mute_note`: when a person muted its alerts, until when, and why.
    - `form`: format of its listings (`following/listings/listing.py`), None before one with links
      was read; `form_before` is the previous one, until `form_changed`.
    - `backfill`: last backfill requested, with its progress (`following/backfill.py`), None without
      one; `backfill_changes` counts the requests of people about it.
    """

    TABLE: ClassVar[str] = "sources"
    KEY: ClassVar[tuple[str, ...]] = ("source_id",)
    source_id: str
    url: str
    kind: str
    state: str
    title: str
    folder: str
    collection: str
    pipeline: str
    tls: str
    added_at: dt.datetime
    next_poll: dt.datetime
    polls: int = 0
    polling: bool = False
    lease_holder: str | None = None
    lease_version: int = 0
    etag: str | None = None
    last_modified: str | None = None
    digest: str | None = None
    mark: int = 0
    rate_day: float | None = None
    listed: int = 0
    links: int = 0
    last_polled: dt.datetime | None = None
    last_well: dt.datetime | None = None
    last_new: dt.datetime | None = None
    failures: int = 0
    status: int | None = None
    error: str | None = None
    moved_from: str | None = None
    refused: Mapping[str, str] | None = None
    hints: ListingHints | None = None
    silent_polls: int = 0
    silent_since: dt.datetime | None = None
    refused_tally: Mapping[str, int] | None = None
    days: Mapping[str, DayCounts] | None = None
    standing: str = "waiting"
    failing_since: dt.datetime | None = None
    muted_at: dt.datetime | None = None
    muted_until: dt.datetime | None = None
    mute_note: str = ""
    form: str | None = None
    form_before: str | None = None
    form_changed: dt.datetime | None = None
    backfill: Backfill | None = None
    backfill_changes: int = 0


@dataclass(frozen=True, slots=True)
class RefusedLinkRow:
    """`refused_links`: a link that a source listed and that was refused before it entered, with the
    reason.

    At most 1,000 links per poll have a row.
    """

    TABLE: ClassVar[str] = "refused_links"
    KEY: ClassVar[tuple[str, ...]] = ("url_sha1", "source_id")
    url_sha1: Annotated[str, Meta(description="SHA-1 of the URL that would have been fetched")]
    source_id: Annotated[str, Meta(description="id of the source")]
    url: Annotated[str, Meta(description="URL of the link, cut to 2,000 characters")]
    source_url: Annotated[str, Meta(description="URL of the source")]
    pipeline: Annotated[str, Meta(description="pipeline of the source")]
    input_id: Annotated[
        str, Meta(description="id of the poll that last found the link new in the listing")
    ]
    reason: Annotated[str, Meta(description="reason; see docs/reasons.md")]
    detail: Annotated[str, Meta(description="details of the reason")]
    refused_at: Annotated[dt.datetime, Meta(description="when that poll refused the link")]


# Fetched pages, rate limits per domain, and the processes that use an address.


@dataclass(frozen=True, slots=True)
class FetchedPageRow:
    """`fetched`: a link that was answered with a page.

    `capture_id` is that of the link and its capture. `url` is the requested address, `final_url`
    the one that answered. `mime` is the declared type. `in_spool` says that its exchange is still
    in the spool. `etag` and `last_modified` can make a later request conditional.
    """

    TABLE: ClassVar[str] = "fetched"
    KEY: ClassVar[tuple[str, ...]] = ("capture_id",)
    capture_id: str
    url: str
    final_url: str
    fetched: dt.datetime
    status: int
    mime: str | None
    address: str
    tls: str | None
    tls_check: str
    redirects: int
    in_spool: bool
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class PaceRow:
    """`paces`: rate limits of a registered domain and its hosts, and the process that holds its
    lease.

    - `lease_holder`: the process, None for none; `lease_version` changes with every write of the lease.
    - `paces`: by host, "" for the domain: the next allowed request (Unix seconds), the slowdown and
      other state of the rate limit.
    - `requested_by`, `requested_at`: a process that waits to poll a source of the domain, and since when.
    """

    TABLE: ClassVar[str] = "paces"
    KEY: ClassVar[tuple[str, ...]] = ("domain",)
    domain: str
    lease_holder: str | None
    lease_version: int
    paces: Mapping[str, StoredPace]
    updated: dt.datetime
    requested_by: str | None = None
    requested_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class AddressUseRow:
    """`address_uses`: a process that sends requests to an IP address, as reported at `updated`."""

    TABLE: ClassVar[str] = "address_uses"
    KEY: ClassVar[tuple[str, ...]] = ("address", "used_by")
    address: str
    used_by: str
    updated: dt.datetime
