"""Rows of followed sources, refused links, fetched pages, rate limits and address use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from fonds.model.source import Backfill, DayCounts, ListingHints, StoredPace


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Row of `sources`: a feed, sitemap, page of links or API that is polled for links, and its
    status.

    - `source_id`: derived from the URL with which the source was added.
    - `kind`: type of the source: `feed` (feeds, sitemaps and lists, distinguished by their
      content), `page` or `rss-fetcher`.
    - `state`: `active`, `paused` or `gone`; only a person changes `gone`.
    - `title`, `folder`: title of the source, and folder in which people see it.
    - `collection`, `pipeline`: collection and pipeline that the links enter.
    - `polls`: number of polls begun; `polling`: whether one is in progress or was interrupted.
    - `lease_holder`: the process that polls the source now, None for none; `lease_version` changes
      with every write of the lease.
    - `etag`, `last_modified`, `digest` (SHA-1 of the body): values of the last listing read.
    - `mark`: id after which an API is queried.
    - `rate_day`: new links per day, None before the first listing.
    - `last_well`: time of the last successful poll; `last_new`: when a new link was last found.
    - `failures`: number of failed polls since `last_well`; `error` and `status` are those of the
      last one.
    - `failing_since`: time of the first failed poll since `last_well`, None also if it was not
      recorded then.
    - `refused`: ids of the refused links in the last listing.
    - `hints`: what the listing says about how often to poll.
    - `listed`: number of links in the last listing that had any.
    - `silent_polls`: number of listings without links since then, the first one at `silent_since`.
    - `refused_tally`: number of refused links of all polls, by reason.
    - `days`: for each of the last days with polls (YYYY-MM-DD, UTC) the number of polls, failed
      polls, new links and refused links.
    - `standing`: health after the last poll (`following/health.py`), regardless of `state`.
    - `muted_at`, `muted_until`, `mute_note`: when a person muted the alerts of the source, until
      when, and why.
    - `form`: format of the listings (`following/listings/listing.py`), None before one with links
      was read; `form_before` is the previous format, until `form_changed`.
    - `backfill`: last requested backfill of older pages, with its progress
      (`following/backfill.py`), None without one; `backfill_changes` counts the requests of people
      about backfills.
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
    """Row of `refused_links`: a link in the listing of a source that was not accepted into a
    pipeline, and the reason.

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
    """Row of `fetched`: a link whose request was answered with a page.

    - `capture_id`: id of the link, and of its capture.
    - `url`: requested URL; `final_url`: URL after redirects, which returned the page.
    - `fetched`: time of the last request; `status`: HTTP status; `mime`: declared media type.
    - `address`: IP address of the server.
    - `tls`: TLS version and cipher, None for http; `tls_check`: how the certificate was checked.
    - `redirects`: number of redirects.
    - `in_spool`: whether the exchange is still in the spool, so not yet archived.
    - `etag`, `last_modified`: validators that can make a later request conditional.
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
    """Row of `paces`: rate limits of a registered domain and its hosts, and the process that holds
    the lease on them.

    - `lease_holder`: the process, None for none; `lease_version` changes with every write of the
      lease.
    - `paces`: rate limit by host, "" for the whole domain: the time of the next allowed request
      (Unix seconds), the slowdown, and more.
    - `wanted_by`, `wanted_at`: a process that waits to poll a source of the domain, and since when.
    """

    TABLE: ClassVar[str] = "paces"
    KEY: ClassVar[tuple[str, ...]] = ("domain",)
    domain: str
    lease_holder: str | None
    lease_version: int
    paces: Mapping[str, StoredPace]
    updated: dt.datetime
    wanted_by: str | None = None
    wanted_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class AddressUseRow:
    """Row of `address_uses`: a process that sends requests to an IP address.

    - `used_by`: the process.
    - `updated`: when the process last reported that it uses the address.
    """

    TABLE: ClassVar[str] = "address_uses"
    KEY: ClassVar[tuple[str, ...]] = ("address", "used_by")
    address: str
    used_by: str
    updated: dt.datetime
