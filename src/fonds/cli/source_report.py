"""Report on sources (feeds, sitemaps, pages) and their polls: JSON answers, and lines for
people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from rich.markup import escape
from rich.table import Table

from fonds.cli.json_answers import build_answer, define_answer
from fonds.following.backfill import (
    BackfillStatus,
    build_backfill_status,
    find_next_poll,
)
from fonds.following.funnel import Funnel, LinkEnding, build_funnel
from fonds.following.health import Mute, compute_health, get_mute
from fonds.following.poll_notes import parse_poll_notes
from fonds.model.encoding import pluralize
from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.model.secrets import redact_secrets
from fonds.model.stored_json import encode_stored
from fonds.pipelines.flavours.registry import list_stages

if TYPE_CHECKING:
    from rich.console import Console

NUMBERS = ("Links", "Stored")


RequestedBackfill = define_answer("RequestedBackfill", BackfillStatus, requested_by=str)
"""Progress of a source's backfill (reading of older entries), with the user who requested it."""


class SourceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """JSON answer: a source with its health and the outcomes of its links."""

    source_id: Annotated[str, Meta(description="id of the source")]
    url: Annotated[str, Meta(description="URL of the source")]
    kind: Annotated[str, Meta(description="feed, page or rss-fetcher")]
    standing: Annotated[
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
    listed: Annotated[
        int | None, Meta(description="number of links in the last listing that had any")
    ]
    failing_since: Annotated[
        datetime | None, Meta(description="first of the failed polls; null if unknown")
    ]
    silent_since: Annotated[datetime | None, Meta(description="when it stopped listing new links")]
    muted: Annotated[
        Mute | None,
        Meta(description="the current mute; `until` is null until the source works again"),
    ]
    refused: Annotated[
        Mapping[str, int],
        Meta(description="number of links refused before they entered, by reason"),
    ]
    funnel: Annotated[
        Funnel,
        Meta(description="number of links by stage reached; coverage is kept / announced, 0 to 1"),
    ]
    links_a_day: Annotated[float | None, Meta(description="estimated new links per day")]
    failures: Annotated[int, Meta(description="number of consecutive failed polls")]
    status: Annotated[int | None, Meta(description="last HTTP status")]
    error: Annotated[str | None, Meta(description="last error")]
    moved_from: Annotated[str | None, Meta(description="URL before it moved")]
    form: Annotated[
        str | None, Meta(description="format of the listings, and the metadata of their links")
    ]
    form_before: Annotated[str | None, Meta(description="previous form")]
    form_changed: Annotated[datetime | None, Meta(description="when the form changed")]
    hints: Annotated[
        Mapping[str, object],
        Meta(description="what the last listing says about polling, such as `ttl_s`"),
    ]


SourceAnswer = define_answer(
    "SourceAnswer",
    SourceSummary,
    backfill=Annotated[
        RequestedBackfill | None, Meta(description="the last backfill that was requested")
    ],
)
"""JSON answer: everything known about a source."""


class BackfillPollReport(msgspec.Struct, frozen=True):
    """What one poll of a source's backfill read and skipped, in a JSON answer.

    - `pages`: URLs of the pages that were read.
    - `unread`: number of pages that could not be read.
    - `outside`: number of links outside the requested dates.
    - `undated`: number of skipped links without a date.
    """

    pages: Sequence[str]
    unread: int
    outside: int
    undated: int


class PollAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """JSON answer: the links that one poll of a source found, entered and refused."""

    input_id: Annotated[str, Meta(description="id of the poll")]
    pipeline: Annotated[str, Meta(description="pipeline that received the links")]
    url: Annotated[str, Meta(description="URL that was requested")]
    at: Annotated[datetime, Meta(description="when the source was polled")]
    new: Annotated[int, Meta(description="number of links that entered")]
    newly_refused: Annotated[
        Mapping[str, int], Meta(description="number of links newly refused, by reason")
    ]
    error: Annotated[str | None, Meta(description="why the poll failed")]
    finished: Annotated[bool, Meta(description="whether the listing was read to the end")]
    status: Annotated[int | UnsetType, Meta(description="HTTP status")] = UNSET
    bytes: Annotated[int | UnsetType, Meta(description="size of the response in bytes")] = UNSET
    kind: Annotated[str | UnsetType, Meta(description="format of the listing")] = UNSET
    listed: Annotated[int | UnsetType, Meta(description="number of links in the listing")] = UNSET
    known: Annotated[
        int | UnsetType, Meta(description="number of links that had entered before")
    ] = UNSET
    refused: Annotated[
        int | UnsetType, Meta(description="number of refused links in the listing")
    ] = UNSET
    backfill: Annotated[
        BackfillPollReport | UnsetType, Meta(description="result of a poll of a backfill")
    ] = UNSET
    cut: Annotated[int | UnsetType, Meta(description="number of entries beyond the limit")] = UNSET
    problem: Annotated[
        str | UnsetType, Meta(description="what could not be read of the listing")
    ] = UNSET


def build_source_answer(
    row: SourceRow, now: datetime, endings: Sequence[LinkEnding]
) -> msgspec.Struct:
    """Return the JSON answer with everything known about a source. `endings` are its links'
    outcomes.
    """
    backfill, request = build_backfill_status(row), row.backfill
    return build_answer(
        SourceAnswer,
        row,
        standing=str(compute_health(row, now)),
        polled_last=row.last_polled,
        polled_next=find_next_poll(row),
        well_last=row.last_well,
        new_last=row.last_new,
        muted=get_mute(row, now),
        refused=dict(row.refused_tally or {}),
        funnel=build_funnel(row, endings, list_stages(row.pipeline)),
        links_a_day=None if row.rate_day is None else round(row.rate_day, 2),
        hints={name: value for name, value in (encode_stored(row.hints) or {}).items() if value},
        backfill=build_answer(RequestedBackfill, backfill, requested_by=request.requested_by)
        if backfill and request
        else None,
    )


def build_poll_answer(row: InputRow) -> PollAnswer:
    """Return the JSON answer for one poll of a source."""
    notes: dict[str, Any] = encode_stored(parse_poll_notes(row))
    return PollAnswer(
        input_id=row.input_id,
        pipeline=row.pipeline,
        url=row.path,
        at=row.updated,
        new=row.entries,
        newly_refused=dict(row.tally),
        error=row.error,
        finished=row.finished,
        **{**notes, "backfill": _build_backfill_report(row)},
    )


def _build_backfill_report(row: InputRow) -> BackfillPollReport | UnsetType:
    """Return the part of a JSON answer that says what a poll of a backfill (reading of older
    entries) read and skipped.

    Returns UNSET for other polls.
    """
    poll = parse_poll_notes(row).backfill
    if poll is None:
        return UNSET
    pages = [redact_secrets(page) for page in poll.pages]
    return BackfillPollReport(pages, poll.unread, poll.outside, poll.undated)


def build_source_table(
    rows: Sequence[SourceRow], endings_by_source: Mapping[str, Sequence[LinkEnding]], now: datetime
) -> Table:
    """Return a table of sources for display, one per line. `endings_by_source` are their links'
    outcomes.

    URLs are never cut, so that they can be copied.
    """
    table = Table(box=None, pad_edge=False)
    for title in ("Id", "Health", "Last poll", "Next poll", "Links", "Stored"):
        table.add_column(title, no_wrap=True, justify="right" if title in NUMBERS else "left")
    table.add_column("Source", overflow="fold")
    for row in rows:
        funnel = build_funnel(row, endings_by_source[row.source_id], list_stages(row.pipeline))
        next_poll = find_next_poll(row) or "-"
        name = f"{row.title}  {row.url}" if row.title else row.url
        table.add_row(
            row.source_id,
            _format_health(row, now),
            format_value(row.last_polled or "never"),
            format_value(next_poll),
            f"{row.links:,}",
            format_coverage(funnel),
            escape(name),
        )
    return table


def _format_health(row: SourceRow, now: datetime) -> str:
    backfill = build_backfill_status(row)
    states = (str(compute_health(row, now)), backfill.short_text if backfill else "")
    return ", ".join(filter(None, states))


def print_source(
    screen: Console,
    row: SourceRow,
    endings: Sequence[LinkEnding],
    polls: Sequence[InputRow],
    now: datetime,
) -> None:
    """Print everything known about a source, and its last polls. `endings` are its links'
    outcomes.
    """
    muted, backfill = get_mute(row, now), build_backfill_status(row)
    overrides: dict[str, object] = {"muted": mute_line(muted) if muted else None}
    overrides |= {"backfill": format_backfill(backfill) if backfill else None}
    overrides |= {"funnel": format_funnel(build_funnel(row, endings, list_stages(row.pipeline)))}
    facts = msgspec.structs.asdict(build_source_answer(row, now, endings))
    for name, value in {**facts, **overrides}.items():
        if value not in (None, "", {}):
            screen.print(f"{name.replace('_', ' '):14} {escape(format_value(value))}")
    if polls:
        screen.print(f"\nThe last {len(polls)} of {row.polls:,} polls:")
    for poll in polls:
        screen.print(f"  {poll_line(poll)}", markup=False)


def format_backfill(status: BackfillStatus) -> str:
    """Return the progress of a source's backfill (reading of older entries) in three or four
    lines.
    """
    lines = [
        f"{status.first} to {status.last}: {status.state}{f', {status.why}' if status.why else ''}",
        (
            f"{pluralize(status.pages, 'page')}, {status.unread:,} unreadable, "
            f"{pluralize(status.sitemaps, 'sitemap')} skipped"
        ),
        (
            f"{status.listed:,} listed: {status.entered:,} entered, {status.known:,} known, "
            f"{status.refused:,} refused, {status.outside:,} outside the dates, "
            f"{status.undated:,} undated"
        ),
    ]
    if status.next_page:
        tries = f", after {status.attempts} failed: {status.trouble}" if status.trouble else ""
        lines.append(
            f"next {status.next_page}, {format_value(status.next_at or 'once resumed')}{tries}"
        )
    return f"\n{'':15}".join(lines)


def mute_line(mute: Mute) -> str:
    """Return how long and why the alerts of a source are muted, in one line."""
    until = format_value(mute.until) if mute.until else "it works again"
    return f"until {until}" + (f": {mute.note}" if mute.note else "")


def format_funnel(funnel: Funnel) -> str:
    """Return how many links of a source were announced, entered, fetched and stored, in one line.

    Returns "" if no links were announced.
    """
    if funnel.coverage is None:
        return ""
    waiting = f", {funnel.waiting:,} in progress" if funnel.waiting else ""
    return (
        f"{funnel.announced:,} announced, {funnel.entered:,} entered, {funnel.fetched:,} fetched,"
        f" {funnel.kept:,} stored ({format_coverage(funnel)}){waiting}"
    )


def format_coverage(funnel: Funnel) -> str:
    """Return the share of a source's links that were kept, in percent; "-" if none were
    announced.
    """
    if funnel.coverage is None:
        return "-"
    # Never show 100 % if some are missing, or 0 % if some were kept.
    percent = min(max(100 * funnel.coverage, 0.1), 99.9)
    return (
        f"{100 * funnel.coverage:g} %"
        if funnel.kept in (0, funnel.announced)
        else f"{percent:.1f} %"
    )


def poll_line(row: InputRow) -> str:
    """Return the outcome of one poll of a source in one line."""
    poll = build_poll_answer(row)
    line = f"{format_value(poll.at)}  {poll.input_id}  "
    if row.error:
        return line + f"failed: {row.error}"
    if poll.listed is UNSET:
        return line + "unchanged"
    refusals = "".join(f", {count} {why}" for why, count in row.tally.items())
    line += f"{poll.listed} listed, {row.entries} new, {poll.known} known{refusals}"
    if poll.backfill is not UNSET:
        backfill = poll.backfill
        skipped = f"{backfill.outside} outside the dates, {backfill.undated} undated"
        line += f", {skipped}, on {pluralize(len(backfill.pages), 'page')} of its backfill"
    return line + (f"; {poll.problem}" if poll.problem is not UNSET else "")


def print_poll(screen: Console, row: InputRow, entries: Sequence[EntryRow], count_max: int) -> None:
    """Print a poll of a source, and the outcomes of the links it entered, at most `count_max` of
    them.
    """
    screen.print(f"{row.path}\n{poll_line(row)}", markup=False)
    for entry in entries[:count_max]:
        reason = f" ({entry.reason})" if entry.reason else ""
        screen.print(f"  {entry.outcome}{reason}  {entry.entry_id}  {entry.url}", markup=False)
    if len(entries) > count_max:
        screen.print(f"  and {row.entries - count_max:,} more")


def format_value(value: object) -> str:
    """Return a value as text for display. Times have no microseconds and no time zone."""
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
