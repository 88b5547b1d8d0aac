"""Report on sources (feeds, sitemaps, pages) and their polls: JSON answers, and lines for
people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import fields
from rich.markup import escape
from rich.table import Table

from fonds.cli.json_answers import build_answer, define_answer
from fonds.following.backfill import BackfillStatus, build_backfill_status, find_next_poll
from fonds.following.funnel import Funnel, LinkEnding, build_funnel
from fonds.following.health import Mute, compute_health
from fonds.following.source_summary import PollSummary, SourceSummary, build_source_summary
from fonds.model.encoding import pluralize
from fonds.model.rows import EntryRow, SourceRow
from fonds.model.source import ListingHints
from fonds.pipelines.flavours.registry import list_stages

if TYPE_CHECKING:
    from rich.console import Console

NUMBERS = ("Links", "Stored")


SourceAnswer = define_answer(
    "SourceAnswer",
    SourceSummary,
    backfill_requested_by=Annotated[str | None, Meta(description="who requested the backfill")],
    hints=Annotated[
        ListingHints | None,
        Meta(description="what the last listing says about polling and about older entries"),
    ],
)
"""JSON answer: everything known about a source."""


def build_source_answer(
    row: SourceRow, now: datetime, endings: Sequence[LinkEnding]
) -> msgspec.Struct:
    """Return the JSON answer with everything known about a source. `endings` are its links'
    outcomes.
    """
    return build_answer(
        SourceAnswer,
        build_source_summary(row, now, endings, list_stages(row.pipeline)),
        backfill_requested_by=row.backfill.requested_by if row.backfill else None,
        hints=row.hints,
    )


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
    polls: Sequence[PollSummary],
    now: datetime,
) -> None:
    """Print everything known about a source, and its last polls. `endings` are its links'
    outcomes.
    """
    summary = build_source_summary(row, now, endings, list_stages(row.pipeline))
    overrides = {
        "muted": mute_line(summary.muted) if summary.muted else None,
        "backfill": format_backfill(summary.backfill) if summary.backfill else None,
        "funnel": format_funnel(summary.funnel),
        "hints": _format_hints(row.hints),
    }
    answer = build_source_answer(row, now, endings)
    for name in answer.__struct_fields__:
        value = overrides[name] if name in overrides else getattr(answer, name)
        if value not in (None, "", {}):
            screen.print(f"{name.replace('_', ' '):14} {escape(format_value(value))}")
    if polls:
        screen.print(f"\nThe last {len(polls)} of {row.polls:,} polls:")
    for poll in polls:
        screen.print(f"  {poll_line(poll)}", markup=False)


def _format_hints(hints: ListingHints | None) -> dict[str, object]:
    """Return what a listing states about polling, by name."""
    names = {} if hints is None else {field.name: field.encode_name for field in fields(hints)}
    return {
        shown_name: getattr(hints, name)
        for name, shown_name in names.items()
        if getattr(hints, name)
    }


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


def poll_line(poll: PollSummary) -> str:
    """Return the outcome of one poll of a source in one line."""
    line = f"{format_value(poll.at)}  {poll.input_id}  "
    if poll.error:
        return line + f"failed: {poll.error}"
    if poll.listed is None:
        return line + "unchanged"
    refusals = "".join(f", {count} {why}" for why, count in poll.newly_refused.items())
    line += f"{poll.listed} listed, {poll.new} new, {poll.known} known{refusals}"
    if poll.backfill is not None:
        backfill = poll.backfill
        skipped_text = f"{backfill.outside} outside the dates, {backfill.undated} undated"
        line += f", {skipped_text}, on {pluralize(len(backfill.pages), 'page')} of its backfill"
    return line + (f"; {poll.problem}" if poll.problem else "")


def print_poll(
    screen: Console, poll: PollSummary, entries: Sequence[EntryRow], count_max: int
) -> None:
    """Print a poll of a source, and the outcomes of the links it entered, at most `count_max` of
    them.
    """
    screen.print(f"{poll.url}\n{poll_line(poll)}", markup=False)
    for entry in entries[:count_max]:
        reason = f" ({entry.reason})" if entry.reason else ""
        screen.print(f"  {entry.outcome}{reason}  {entry.entry_id}  {entry.url}", markup=False)
    if len(entries) > count_max:
        screen.print(f"  and {poll.new - count_max:,} more")


def format_value(value: object) -> str:
    """Return a value as text for display. Times have no microseconds and no time zone."""
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
