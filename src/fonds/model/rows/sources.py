"""Rows of followed sources (feeds, sitemaps and pages): polls, refused links, fetched pages and
rate limits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from fonds.model.source import Backfill, DayCounts, ListingHints, StoredPace


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Row of `sources`: a feed, sitemap, page of links or API that is followed, and its status.

    A listing is the list of links in one response of the source. A poll is one request of the
    listing.

    - `source_id`: id computed from the URL with which the source was added.
    - `kind`: `feed` (feeds, sitemaps and lists, distinguished by their content), `page` or
      `rss-fetcher`.
    - `state`: `active`, `paused` or `gone`; only a person changes `gone`.
    - `polls`: number of polls that began.
    - `polling`: whether a poll is in progress or was interrupted.
    - `lease_holder`: process that polls the source now; None for none.
    - `lease_version`: number that changes with every write of the lease.
    - `etag`, `last_modified`, `digest`: ETag, Last-Modified and SHA-1 of the body of the last
      listing that was read.
    - `mark`: id of the last link read from an API; for a sitemap index, the position of the next
      sitemap to read.
    - `rate_day`: number of new links per day; None before the first listing.
    - `listed`: number of links in the last listing that had any.
    - `links`: number of links of all polls that entered the pipeline.
    - `failures`: number of failed polls since `last_well`, the time of the last successful poll.
    - `status`: HTTP status of the last poll; None without a response.
    - `error`: error of the last poll; None if it succeeded.
    - `failing_since`: time of the first of the failures counted in `failures`; None if there is
      none or its time was not recorded.
    - `moved_from`: earlier URL of a source that moved permanently; None if it did not move.
    - `refused`: reasons for the refused links in the last listing, by id of the link.
    - `hints`: what the listing states about polling.
    - `silent_polls`, `silent_since`: number of listings without links since the last listing with
      links, and the time of the first of them.
    - `refused_tally`: number of refused links of all polls by reason.
    - `days`: polls, failed polls, new links and refused links by day (YYYY-MM-DD in UTC), for the
      last days with polls.
    - `health`: health of the source after the last poll (`following/health.py`), regardless of
      `state`.
    - `muted_at`, `muted_until`, `mute_note`: when a person muted the source's alerts, until when,
      and why.
    - `form`: format of its listings (`following/listings/listing.py`); None before a listing with
      links was read.
    - `form_before`, `form_changed`: previous format, and when it changed.
    - `backfill`: last requested backfill with its progress (`following/backfill.py`); None without
      one.
    - `backfill_changes`: number of requests of people about the backfill.
    """

    TABLE: ClassVar[str] = "sources"
    KEY: ClassVar[tuple[str, ...]] = ("source_id",)
    SEALED: ClassVar[bool] = True
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
    health: str = "waiting"
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
    """Row of `refused_links`: a link that a source listed and that was refused before it entered
    the pipeline.

    At most 1,000 links per poll have a row.
    """

    TABLE: ClassVar[str] = "refused_links"
    KEY: ClassVar[tuple[str, ...]] = ("url_sha1", "source_id")
    SEALED: ClassVar[bool] = True
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
    """Row of `fetched`: a link whose request was answered with a page.

    - `capture_id`: id of the link and of its capture.
    - `url`: requested URL.
    - `final_url`: URL that returned the page, after redirects.
    - `mime`: declared media type.
    - `address`: IP address of the server.
    - `tls`, `tls_check`: TLS version and cipher, and how strictly the connection was checked.
    - `redirects`: number of redirects.
    - `in_spool`: whether the exchange is still in the spool, the storage for pages that are not
      archived yet.
    - `etag`, `last_modified`: response headers with which a later request can be conditional.
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
    """Row of `paces`: rate limits of a registered domain and its hosts, and the process that may
    use them.

    - `lease_holder`: process that has the lease on the domain; None for none.
    - `lease_version`: number that changes with every write of the lease.
    - `paces`: rate limit by host, with "" for the whole domain: time of the next allowed request in
      Unix seconds, the slowdown, and other values.
    - `requested_by`, `requested_at`: process that waits to poll a source of the domain, and since
      when.
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
    """Row of `address_uses`: a process that sends requests to an IP address, as reported at
    `updated`.

    Processes that share an address share its rate limit.
    """

    TABLE: ClassVar[str] = "address_uses"
    KEY: ClassVar[tuple[str, ...]] = ("address", "used_by")
    address: str
    used_by: str
    updated: dt.datetime
