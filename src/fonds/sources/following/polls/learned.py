"""What becomes known of a source by one poll: pure functions of its row, what was seen and what entered."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import msgspec

from fonds.formats.listings.dates import read_moment
from fonds.formats.listings.feeds.form import form_of
from fonds.formats.listings.listing import Listing
from fonds.model.rows import InputRow, SourceRow
from fonds.sources.following.backfill.backfill import found_in
from fonds.sources.following.backfill.backfill import with_poll as with_backfill_poll
from fonds.sources.following.days import with_poll
from fonds.sources.following.described import seen as noted
from fonds.sources.following.muting import UNMUTED
from fonds.sources.following.polls.looking import ERROR_CHARS, Seen
from fonds.sources.following.polls.older import Older
from fonds.sources.following.polls.poll_source import Sifted
from fonds.sources.following.rhythm import first_rate, learned
from fonds.sources.following.standing import NEEDS_SOMEONE, ONCE_WELL, as_polled


def told_of(listing: Listing, sifted: Sifted) -> dict[str, object]:
    """What a poll notes of the listing it read."""
    told: dict[str, object] = {
        "kind": listing.kind,
        "listed": len(listing.entries),
        "known": sifted.known,
        "refused": len(sifted.refused),
    }
    extra = {"cut": listing.cut, "problem": listing.problem[:ERROR_CHARS]}
    return told | {name: value for name, value in extra.items() if value}


def told_of_older(older: Older, sifted: Sifted) -> dict[str, object]:
    """What a poll of a backfill notes of the pages it read; what it found is read out of it again."""
    told: dict[str, object] = {
        "status": older.status,
        "bytes": older.bytes,
        "kind": older.kind,
        "listed": older.listed,
        "known": sifted.known,
        "refused": len(older.entries) - len(sifted.links) - sifted.known,
        "backfill": msgspec.to_builtins(older.found),
    }
    return told | ({"problem": older.problem} if older.problem else {})


def with_entered(row: SourceRow, poll: InputRow) -> dict[str, Any]:
    """What is counted over all polls of a source, with one more that is on the books. What is usual a day is
    told by the polls for what is new alone."""
    refused = Counter(row.refused_tally or {}) + Counter(poll.tally)
    counted = {"links": row.links + poll.entries, "refused_tally": dict(refused)}
    told = noted(poll)
    found = found_in(told)
    if found is None:
        return {**counted, "days": with_poll(row.days, poll)}
    return {**counted, **with_backfill_poll(row, found, poll, told)}


def _heard(row: SourceRow, seen: Seen, listing: Listing, now: datetime) -> dict[str, object]:
    """How many links stood in a listing; of one that has none, where there used to be some, since when."""
    count = len(listing.entries)
    # Of what is read in parts, or only for what is newer, none is nothing to wonder at.
    if count or _is_part(row, seen) or not row.listed:
        return {"listed": count, "silent_polls": 0, "silent_since": None}
    return {"silent_polls": row.silent_polls + 1, "silent_since": row.silent_since or now}


def _formed(row: SourceRow, seen: Seen, listing: Listing, now: datetime) -> dict[str, object]:
    """The form of a listing, where it has another than the last; parts of an index may have each its own."""
    form = row.form if _is_part(row, seen) else form_of(listing, row.form)
    if form == row.form:
        return {}
    changed = {"form_before": row.form, "form_changed": now} if row.form is not None else {}
    return {"form": form, **changed}


def _is_part(row: SourceRow, seen: Seen) -> bool:
    return row.kind == "rss-fetcher" or seen.more or row.mark > 0


def after_well(
    row: SourceRow, seen: Seen, sifted: Sifted, new: int, now: datetime
) -> dict[str, object]:
    """What is known of a source after a poll that went well."""
    answer = seen.answer
    values: dict[str, object] = {
        "last_polled": now,
        "last_well": now,
        "failures": 0,
        "failing_since": None,
        "error": None,
        "status": answer.status,
        "rate_day": _rate(row, seen.listing, new, now),
    }
    if answer.moved_to and answer.moved_to != row.url:
        values |= {"url": answer.moved_to, "moved_from": row.url}
    if answer.status == 200:
        values |= {
            "etag": answer.headers.get("etag"),
            "last_modified": answer.headers.get("last-modified"),
            "digest": seen.digest,
            "mark": row.mark if seen.mark is None else seen.mark,
        }
    if seen.listing is not None:
        told = seen.listing.hints
        values |= {
            "title": row.title or seen.listing.title,
            **_heard(row, seen, seen.listing, now),
            **_formed(row, seen, seen.listing, now),
            "refused": sifted.refused,
            "hints": {
                "ttl_s": told.ttl_s,
                "update_s": told.update_s,
                "hubs": list(told.hubs),
                "cloud": told.cloud,
                "self_url": told.self_url,
                "children": seen.children,
                "older": seen.listing.older,
                "complete": seen.listing.is_complete,
            },
        }
    return values | ({"last_new": now} if new else {})


def _rate(row: SourceRow, listing: Listing | None, new: int, now: datetime) -> float | None:
    """How many new links a day it has, with what this poll told."""
    if row.last_well is None or row.rate_day is None:
        told = [read_moment(one.pub_date)[0] for one in listing.entries] if listing else []
        first = first_rate([moment for moment in told if moment], now)
        if first is not None or row.last_well is None:
            return first
    return learned(row.rate_day, new, (now - (row.last_well or row.added_at)).total_seconds())


def judged(after: SourceRow, now: datetime) -> dict[str, object]:
    """How the poll left the source; one that was muted until it is well is muted no more once it is."""
    stands = as_polled(after, now)
    is_over = after.muted_until == ONCE_WELL and stands not in NEEDS_SOMEONE
    return {"standing": str(stands), **(UNMUTED if is_over else {})}
