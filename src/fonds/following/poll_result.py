"""What becomes known of a source by one poll: pure functions of its row, what was seen and what entered."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import msgspec

from fonds.following.backfill import add_poll as with_backfill_poll
from fonds.following.backfill import parse_backfill_poll
from fonds.following.backfill_poll import BackfillPollResult
from fonds.following.daily_counts import add_poll
from fonds.following.health import NEEDS_SOMEONE, UNMUTED, UNTIL_RECOVERED, health_after_poll
from fonds.following.listings.dates import read_moment
from fonds.following.listings.listing import Listing, describe_form
from fonds.following.poll_interval import estimate_first_rate, update_rate
from fonds.following.poll_links import SiftedLinks
from fonds.following.poll_request import ERROR_CHARS, PolledListing
from fonds.following.source_list import get_poll_notes as noted
from fonds.model.rows import InputRow, SourceRow


def build_poll_notes(listing: Listing, sifted_links: SiftedLinks) -> dict[str, object]:
    """What a poll notes of the listing it read."""
    told: dict[str, object] = {
        "kind": listing.kind,
        "listed": len(listing.entries),
        "known": sifted_links.known_count,
        "refused": len(sifted_links.refused),
    }
    extra = {"cut": listing.cut, "problem": listing.problem[:ERROR_CHARS]}
    return told | {name: value for name, value in extra.items() if value}


def build_backfill_notes(older: BackfillPollResult, sifted_links: SiftedLinks) -> dict[str, object]:
    """What a poll of a backfill notes of the pages it read; what it found is read out of it again."""
    told: dict[str, object] = {
        "status": older.status,
        "bytes": older.bytes,
        "kind": older.kind,
        "listed": older.listed,
        "known": sifted_links.known_count,
        "refused": len(older.entries) - len(sifted_links.links) - sifted_links.known_count,
        "backfill": msgspec.to_builtins(older.backfill_poll),
    }
    return told | ({"problem": older.problem} if older.problem else {})


def add_entered_counts(row: SourceRow, poll: InputRow) -> dict[str, Any]:
    """What is counted over all polls of a source, with one more that is on the books. What is usual a day is
    told by the polls for what is new alone."""
    refused = Counter(row.refused_tally or {}) + Counter(poll.tally)
    counted = {"links": row.links + poll.entries, "refused_tally": dict(refused)}
    told = noted(poll)
    found = parse_backfill_poll(told)
    if found is None:
        return {**counted, "days": add_poll(row.days, poll)}
    return {**counted, **with_backfill_poll(row, found, poll, told)}


def _record_link_count(
    row: SourceRow, polled_listing: PolledListing, listing: Listing, now: datetime
) -> dict[str, object]:
    """How many links stood in a listing; of one that has none, where there used to be some, since when."""
    count = len(listing.entries)
    # Of what is read in parts, or only for what is newer, none is nothing to wonder at.
    if count or _is_part(row, polled_listing) or not row.listed:
        return {"listed": count, "silent_polls": 0, "silent_since": None}
    return {"silent_polls": row.silent_polls + 1, "silent_since": row.silent_since or now}


def _record_form(
    row: SourceRow, polled_listing: PolledListing, listing: Listing, now: datetime
) -> dict[str, object]:
    """The form of a listing, where it has another than the last; parts of an index may have each its own."""
    form = row.form if _is_part(row, polled_listing) else describe_form(listing, row.form)
    if form == row.form:
        return {}
    changed = {"form_before": row.form, "form_changed": now} if row.form is not None else {}
    return {"form": form, **changed}


def _is_part(row: SourceRow, listing: PolledListing) -> bool:
    return row.kind == "rss-fetcher" or listing.has_more or row.mark > 0


def build_success_columns(
    row: SourceRow, listing: PolledListing, sifted_links: SiftedLinks, new: int, now: datetime
) -> dict[str, object]:
    """What is known of a source after a poll that went well."""
    answer = listing.answer
    values: dict[str, object] = {
        "last_polled": now,
        "last_well": now,
        "failures": 0,
        "failing_since": None,
        "error": None,
        "status": answer.status,
        "rate_day": _compute_rate(row, listing.listing, new, now),
    }
    if answer.permanent_url and answer.permanent_url != row.url:
        values |= {"url": answer.permanent_url, "moved_from": row.url}
    if answer.status == 200:
        values |= {
            "etag": answer.headers.get("etag"),
            "last_modified": answer.headers.get("last-modified"),
            "digest": listing.digest,
            "mark": row.mark if listing.mark is None else listing.mark,
        }
    if listing.listing is not None:
        told = listing.listing.hints
        values |= {
            "title": row.title or listing.listing.title,
            **_record_link_count(row, listing, listing.listing, now),
            **_record_form(row, listing, listing.listing, now),
            "refused": sifted_links.refused,
            "hints": {
                "ttl_s": told.ttl_s,
                "update_s": told.update_s,
                "hubs": list(told.hubs),
                "cloud": told.cloud,
                "self_url": told.self_url,
                "children": listing.children,
                "older": listing.listing.older,
                "complete": listing.listing.is_complete,
            },
        }
    return values | ({"last_new": now} if new else {})


def _compute_rate(row: SourceRow, listing: Listing | None, new: int, now: datetime) -> float | None:
    """How many new links a day it has, with what this poll told."""
    if row.last_well is None or row.rate_day is None:
        told = [read_moment(one.pub_date)[0] for one in listing.entries] if listing else []
        first = estimate_first_rate([moment for moment in told if moment], now)
        if first is not None or row.last_well is None:
            return first
    return update_rate(row.rate_day, new, (now - (row.last_well or row.added_at)).total_seconds())


def build_health_columns(after: SourceRow, now: datetime) -> dict[str, object]:
    """How the poll left the source; one that was muted until it is well is muted no more once it is."""
    stands = health_after_poll(after, now)
    is_over = after.muted_until == UNTIL_RECOVERED and stands not in NEEDS_SOMEONE
    return {"standing": str(stands), **(UNMUTED if is_over else {})}
