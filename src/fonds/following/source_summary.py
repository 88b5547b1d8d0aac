"""Summaries of a source and of one poll, as commands and the API write them as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from fonds.following.backfill import BackfillStatus, build_backfill_status, find_next_poll
from fonds.following.funnel import Funnel, LinkEnding, build_funnel, get_refused_counts
from fonds.following.health import Mute, compute_health, get_mute
from fonds.following.poll_notes import parse_poll_notes
from fonds.model.rows import InputRow, SourceRow
from fonds.model.secrets import redact_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSummary:
    """Source with its health, its polls and the outcomes of its links."""

    source_id: Annotated[str, Meta(description="id of the source")]
    url: Annotated[str, Meta(description="URL of the source")]
    kind: Annotated[str, Meta(description="feed, page or rss-fetcher")]
    health: Annotated[
        str,
        Meta(
            description="health: waiting, active, silent, quiet, failing, dead, muted, paused or gone"
        ),
    ]
    title: Annotated[str, Meta(description="title of the source")]
    folder: Annotated[str, Meta(description="folder in OPML")]
    collection: Annotated[str, Meta(description="collection of future links")]
    pipeline: Annotated[str, Meta(description="pipeline that receives the links")]
    tls: Annotated[str, Meta(description="how TLS certificates are checked")]
    added_at: Annotated[datetime, Meta(description="when the source was added")]
    polled_last: Annotated[datetime | None, Meta(description="when it was last polled")]
    polled_next: Annotated[datetime | None, Meta(description="when it is polled next")]
    well_last: Annotated[datetime | None, Meta(description="last poll without errors")]
    new_last: Annotated[datetime | None, Meta(description="last poll with new links")]
    polls: Annotated[int, Meta(description="number of polls")]
    links: Annotated[int, Meta(description="number of links that entered")]
    listed: Annotated[int, Meta(description="number of links in the last listing that had any")]
    links_a_day: Annotated[float | None, Meta(description="estimated new links per day")]
    failures: Annotated[int, Meta(description="number of consecutive failed polls")]
    failing_since: Annotated[
        datetime | None, Meta(description="first of the failed polls; null if unknown")
    ]
    silent_since: Annotated[datetime | None, Meta(description="when it stopped listing new links")]
    status: Annotated[int | None, Meta(description="last HTTP status")]
    error: Annotated[str | None, Meta(description="last error")]
    muted: Annotated[
        Mute | None,
        Meta(description="the current mute; `until` is null until the source works again"),
    ]
    moved_from: Annotated[str | None, Meta(description="URL before it moved")]
    form: Annotated[
        str | None, Meta(description="format of the listings, and the metadata of their links")
    ]
    form_before: Annotated[str | None, Meta(description="previous form")]
    form_changed: Annotated[datetime | None, Meta(description="when the form changed")]
    refused: Annotated[
        Mapping[str, int],
        Meta(description="number of links refused before they entered, by reason"),
    ]
    funnel: Annotated[
        Funnel,
        Meta(description="number of links by stage reached; coverage is kept / announced, 0 to 1"),
    ]
    backfill: Annotated[
        BackfillStatus | None, Meta(description="the last backfill that was requested")
    ]


@dataclass(frozen=True, slots=True)
class BackfillPollSummary:
    """What one poll of a source's backfill read and skipped.

    - `pages`: URLs of the pages that were read.
    - `unread`: number of pages that could not be read.
    - `outside`: number of links outside the requested dates.
    - `undated`: number of skipped links without a date.
    """

    pages: Sequence[str]
    unread: int
    outside: int
    undated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSummary:
    """Links that one poll of a source found, entered and refused."""

    input_id: Annotated[str, Meta(description="id of the poll")]
    pipeline: Annotated[str, Meta(description="pipeline that received the links")]
    url: Annotated[str, Meta(description="URL that was requested")]
    at: Annotated[datetime, Meta(description="when the source was polled")]
    status: Annotated[int | None, Meta(description="HTTP status; null without a response")]
    bytes: Annotated[int | None, Meta(description="size of the response in bytes")]
    kind: Annotated[str | None, Meta(description="format of the listing")]
    listed: Annotated[
        int | None,
        Meta(description="number of links in the listing; null if it was unchanged or unreadable"),
    ]
    new: Annotated[int, Meta(description="number of links that entered")]
    known: Annotated[int | None, Meta(description="number of links that had entered before")]
    refused: Annotated[int | None, Meta(description="number of refused links in the listing")]
    newly_refused: Annotated[
        Mapping[str, int], Meta(description="number of links newly refused, by reason")
    ]
    cut: Annotated[int, Meta(description="number of entries beyond the limit")]
    finished: Annotated[bool, Meta(description="whether the listing was read to the end")]
    error: Annotated[str | None, Meta(description="why the poll failed")]
    problem: Annotated[str | None, Meta(description="what could not be read of the listing")]
    backfill: Annotated[
        BackfillPollSummary | None, Meta(description="result of a poll of a backfill")
    ]


def build_source_summary(
    row: SourceRow, now: datetime, endings: Sequence[LinkEnding], stages: Sequence[str]
) -> SourceSummary:
    """Build the summary of a source.

    - `endings`: numbers of its links by outcome.
    - `stages`: names of the stages of its pipeline, in order.
    """
    return SourceSummary(
        source_id=row.source_id,
        url=row.url,
        kind=row.kind,
        health=str(compute_health(row, now)),
        title=row.title,
        folder=row.folder,
        collection=row.collection,
        pipeline=row.pipeline,
        tls=row.tls,
        added_at=row.added_at,
        polled_last=row.last_polled,
        polled_next=find_next_poll(row),
        well_last=row.last_well,
        new_last=row.last_new,
        polls=row.polls,
        links=row.links,
        listed=row.listed,
        links_a_day=None if row.rate_day is None else round(row.rate_day, 2),
        failures=row.failures,
        failing_since=row.failing_since,
        silent_since=row.silent_since,
        status=row.status,
        error=row.error,
        muted=get_mute(row, now),
        moved_from=row.moved_from,
        form=row.form,
        form_before=row.form_before,
        form_changed=row.form_changed,
        refused=get_refused_counts(row),
        funnel=build_funnel(row, endings, stages),
        backfill=build_backfill_status(row),
    )


def build_poll_summary(row: InputRow) -> PollSummary:
    """Build the summary of one poll of a source from the poll's row in `inputs`."""
    notes = parse_poll_notes(row)
    poll = notes.backfill
    return PollSummary(
        input_id=row.input_id,
        pipeline=row.pipeline,
        url=row.path,
        at=row.updated,
        status=notes.status,
        bytes=notes.bytes,
        kind=notes.kind,
        listed=notes.listed,
        new=row.entries,
        known=notes.known,
        refused=notes.refused,
        newly_refused=dict(row.tally),
        cut=notes.cut,
        finished=row.finished,
        error=row.error,
        problem=notes.problem or None,
        backfill=None
        if poll is None
        else BackfillPollSummary(
            [redact_secrets(page) for page in poll.pages], poll.unread, poll.outside, poll.undated
        ),
    )
