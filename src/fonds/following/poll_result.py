"""Compute the changed columns of a source's database row after a poll. All functions are pure."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import msgspec

from fonds.following.backfill import add_poll as with_backfill_poll
from fonds.following.backfill_poll import BackfillPollResult
from fonds.following.daily_counts import add_poll
from fonds.following.health import (
    NEEDS_ATTENTION,
    UNMUTED_COLUMNS,
    UNTIL_RECOVERED,
    compute_health_after_poll,
)
from fonds.following.listings.dates import read_moment
from fonds.following.listings.listing import Listing, describe_form
from fonds.following.poll_interval import estimate_first_rate, update_rate
from fonds.following.poll_links import SiftedLinks
from fonds.following.poll_notes import PollNotes, parse_poll_notes
from fonds.following.poll_request import ERROR_CHARS, PolledListing
from fonds.model.rows import InputRow, SourceRow
from fonds.model.source import ListingHints


def build_poll_notes(listing: PolledListing, sifted_links: SiftedLinks) -> PollNotes:
    """Build the notes of a poll about its response and listing."""
    notes = PollNotes(status=listing.response.status, bytes=len(listing.response.body))
    if listing.listing is None:
        return notes
    return msgspec.structs.replace(
        notes,
        kind=listing.listing.kind,
        listed=len(listing.listing.entries),
        known=sifted_links.known_count,
        refused=len(sifted_links.refused),
        cut=listing.listing.omitted_count,
        problem=listing.listing.problem[:ERROR_CHARS],
    )


def build_backfill_notes(
    backfill_result: BackfillPollResult, sifted_links: SiftedLinks
) -> PollNotes:
    """Build the notes of a backfill poll. They include the result of the poll, which says where the
    next poll of the backfill continues.
    """
    return PollNotes(
        status=backfill_result.status,
        bytes=backfill_result.bytes,
        kind=backfill_result.kind,
        listed=backfill_result.listed,
        known=sifted_links.known_count,
        refused=len(backfill_result.entries) - len(sifted_links.links) - sifted_links.known_count,
        backfill=backfill_result.backfill_poll,
        problem=backfill_result.problem,
    )


def add_entered_counts(row: SourceRow, poll: InputRow) -> dict[str, Any]:
    """Return the changed columns with counts of a source's row after one more recorded poll.

    Total counts include all polls. Daily counts do not include polls of a backfill, which changes
    the column `backfill` instead.
    """
    refusal_counts = Counter(row.refused_tally or {}) + Counter(poll.tally)
    counts = {"links": row.links + poll.entries, "refused_tally": dict(refusal_counts)}
    notes = parse_poll_notes(poll)
    if notes.backfill is None:
        return {**counts, "days": add_poll(row.days, poll)}
    return {**counts, **with_backfill_poll(row, notes.backfill, poll, notes)}


def _record_link_count(
    row: SourceRow, polled_listing: PolledListing, listing: Listing, now: datetime
) -> dict[str, object]:
    """Return the changed columns of a source's row for the number of links in its listing, and for
    how long listings have been empty.

    An empty listing is recorded only if the source's listing had links before.
    """
    count = len(listing.entries)
    # An empty listing is normal if it is read in parts, or only from a last id.
    if count or _is_part(row, polled_listing) or not row.listed:
        return {"listed": count, "silent_polls": 0, "silent_since": None}
    return {"silent_polls": row.silent_polls + 1, "silent_since": row.silent_since or now}


def _record_form(
    row: SourceRow, polled_listing: PolledListing, listing: Listing, now: datetime
) -> dict[str, object]:
    """Return the changed columns of a source's row if the format of its listing or the fields of
    its links have changed; otherwise {}.

    Listings that are read in parts are ignored.
    """
    form = row.form if _is_part(row, polled_listing) else describe_form(listing, row.form)
    if form == row.form:
        return {}
    change_columns = {"form_before": row.form, "form_changed": now} if row.form is not None else {}
    return {"form": form, **change_columns}


def _is_part(row: SourceRow, listing: PolledListing) -> bool:
    return row.kind == "rss-fetcher" or listing.has_more or row.mark > 0


def build_success_columns(
    row: SourceRow, listing: PolledListing, sifted_links: SiftedLinks, new_count: int, now: datetime
) -> dict[str, object]:
    """Return the changed columns of a source's row after a successful poll. `new_count` is the
    number of new links.
    """
    response = listing.response
    values: dict[str, object] = {
        "last_polled": now,
        "last_well": now,
        "failures": 0,
        "failing_since": None,
        "error": None,
        "status": response.status,
        "rate_day": _compute_rate(row, listing.listing, new_count, now),
    }
    if response.permanent_url and response.permanent_url != row.url:
        values |= {"url": response.permanent_url, "moved_from": row.url}
    if response.status == 200:
        values |= {
            "etag": response.headers.get("etag"),
            "last_modified": response.headers.get("last-modified"),
            "digest": listing.digest,
            "mark": row.mark if listing.mark is None else listing.mark,
        }
    if listing.listing is not None:
        hints = listing.listing.hints
        values |= {
            "title": row.title or listing.listing.title,
            **_record_link_count(row, listing, listing.listing, now),
            **_record_form(row, listing, listing.listing, now),
            "refused": sifted_links.refused,
            "hints": ListingHints(
                ttl_s=hints.ttl_s,
                update_s=hints.update_s,
                hubs=hints.hubs,
                cloud=hints.cloud,
                self_url=hints.self_url,
                children=listing.children,
                older=listing.listing.older_url,
                is_complete=listing.listing.is_complete,
            ),
        }
    return values | ({"last_new": now} if new_count else {})


def _compute_rate(
    row: SourceRow, listing: Listing | None, new_count: int, now: datetime
) -> float | None:
    """Return the average number of new links per day, including this poll; None if it is
    unknown.
    """
    if row.last_well is None or row.rate_day is None:
        dates = [read_moment(entry.pub_date)[0] for entry in listing.entries] if listing else []
        first_rate = estimate_first_rate(
            [published_at for published_at in dates if published_at], now
        )
        if first_rate is not None or row.last_well is None:
            return first_rate
    return update_rate(
        row.rate_day, new_count, (now - (row.last_well or row.added_at)).total_seconds()
    )


def build_health_columns(new_row: SourceRow, now: datetime) -> dict[str, object]:
    """Return the changed columns of a source's row for its health after a poll. `new_row` is the
    row with the poll's other changes.

    If the source was muted until it recovers, and has recovered, the columns also end the mute.
    """
    new_health = compute_health_after_poll(new_row, now)
    is_over = new_row.muted_until == UNTIL_RECOVERED and new_health not in NEEDS_ATTENTION
    return {"health": str(new_health), **(UNMUTED_COLUMNS if is_over else {})}
