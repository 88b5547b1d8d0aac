"""Rows of followed sources: polls, refused links, fetched pages and rate limits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from fonds.model.source import Backfill, DayCounts, ListingHints, StoredPace


@dataclass(frozen=True, slots=True)
class SourceRow:
    """`sources`: one feed, sitemap, page of links or API that is followed, and what is known of it.

    `kind` is `feed` (feeds, sitemaps and lists, told by their content), `page` or `rss-fetcher`; `state`
    `active`, `paused` or `gone`, which it stays until a person changes it. `source_id` follows from the URL
    it was added with. `polls` counts polls begun; one is under way, or was broken off, while `polling`.
    `lease_holder` names the process that polls it now, None for nobody; `lease_version` changes with every
    write of the lease. `etag`, `last_modified` and `digest` (SHA-1
    of the body) are those of the last listing read; `mark` is the id after which an API is asked. `rate_day`
    is how many new links it has a day, None before the first listing. `failures` counts polls that failed
    since `last_well`; `error` and `status` are the last one's. `refused` holds ids of links the last listing
    had and that were refused. `hints` is what the listing says of being polled. `listed` is how many links
    the last listing that had any had;
    `silent_polls` counts those read since that had none, the first at `silent_since`. `refused_tally` counts
    links that were refused, by reason, in all polls; `days` has for each of the last days it was polled on
    (YYYY-MM-DD, UTC) the polls, those that failed, the new links and the refused ones. `standing` is how the
    last poll left it (`following/health.py`), whatever `state` says. `failing_since` is when the
    first of `failures` was, None also where that was before it was noted. A person said at `muted_at`, with
    `mute_note`, that until `muted_until` what ails it needs nobody. `form` is that of its listings
    (`following/listings/listing.py`), None before one with links was read; it was `form_before` until
    `form_changed`. `backfill` is the last one somebody asked for and how it stands
    (`sources/following/backfill/`), None for none ever; `backfill_changes` counts what people said of it.
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

    `url_sha1` is the SHA-1 in hex of the address that would have been fetched. `url` is cut to
    2,000 characters. `refused_at` is when a poll last found it new in the listing, `input_id` that
    poll. At most 1,000 links per poll have a row.
    """

    TABLE: ClassVar[str] = "refused_links"
    KEY: ClassVar[tuple[str, ...]] = ("url_sha1", "source_id")
    url_sha1: str
    source_id: str
    url: str
    source_url: str
    pipeline: str
    input_id: str
    reason: str
    detail: str
    refused_at: dt.datetime


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
    """`paces`: how soon a registered domain and its hosts may be asked again, and which process asks them.

    `lease_holder` names the process, None for nobody; `lease_version` changes with every write of the lease.
    `paces` has by host, "" for the domain, when it may be asked next
    (Unix seconds), the slowdown and what else the pace remembers. `wanted_by` names a process that wants to
    poll a source of the domain, since `wanted_at`.
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
    """`address_uses`: a process that sends requests to an IP address, as reported at `updated`."""

    TABLE: ClassVar[str] = "address_uses"
    KEY: ClassVar[tuple[str, ...]] = ("address", "used_by")
    address: str
    used_by: str
    updated: dt.datetime
