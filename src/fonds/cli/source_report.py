"""Report on sources and their polls: facts for JSON, and lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

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

NUMBERS = ("Links", "Kept")
_SKIPPED_LABELS = {"outside": "outside the dates", "undated": "undated"}


def build_source_facts(
    row: SourceRow, now: datetime, endings: Sequence[LinkEnding]
) -> dict[str, object]:
    """Return all facts about a source. `endings` are the outcomes of its links."""
    muted, backfill, backfill_request = get_mute(row, now), build_backfill_status(row), row.backfill
    return {
        "source_id": row.source_id,
        "url": row.url,
        "kind": row.kind,
        "standing": str(compute_health(row, now)),
        "title": row.title,
        "folder": row.folder,
        "collection": row.collection,
        "pipeline": row.pipeline,
        "tls": row.tls,
        "added_at": row.added_at,
        "polled_last": row.last_polled,
        "polled_next": find_next_poll(row),
        "well_last": row.last_well,
        "new_last": row.last_new,
        "polls": row.polls,
        "links": row.links,
        "listed": row.listed,
        "failing_since": row.failing_since,
        "silent_since": row.silent_since,
        "muted": None if muted is None else asdict(muted),
        "refused": dict(row.refused_tally or {}),
        "funnel": asdict(build_funnel(row, endings, list_stages(row.pipeline))),
        "links_a_day": None if row.rate_day is None else round(row.rate_day, 2),
        "failures": row.failures,
        "status": row.status,
        "error": row.error,
        "moved_from": row.moved_from,
        "form": row.form,
        "form_before": row.form_before,
        "form_changed": row.form_changed,
        "hints": {name: value for name, value in (encode_stored(row.hints) or {}).items() if value},
        "backfill": {**asdict(backfill), "asked_by": backfill_request.asked_by}
        if backfill and backfill_request
        else None,
    }


def poll_facts(row: InputRow) -> dict[str, object]:
    """Return what one poll saw, entered and refused."""
    return {
        "input_id": row.input_id,
        "pipeline": row.pipeline,
        "url": row.path,
        "at": row.updated,
        "new": row.entries,
        "refused_anew": dict(row.tally),
        "error": row.error,
        "finished": row.finished,
        **encode_stored(parse_poll_notes(row)),
        **_build_backfill_facts(row),
    }


def _build_backfill_facts(row: InputRow) -> dict[str, object]:
    """Return the pages that a backfill poll read and what it skipped; empty for other polls."""
    backfill_poll = parse_poll_notes(row).backfill
    if backfill_poll is None:
        return {}
    facts = {name: getattr(backfill_poll, name) for name in ("unread", *_SKIPPED_LABELS)}
    return {"backfill": {"pages": [redact_secrets(page) for page in backfill_poll.pages], **facts}}


def build_source_table(
    rows: Sequence[SourceRow], endings_by_source: Mapping[str, Sequence[LinkEnding]], now: datetime
) -> Table:
    """Build a table of sources, one per line. URLs are never cut, so that they can be copied."""
    table = Table(box=None, pad_edge=False)
    for title in ("Id", "Standing", "Polled last", "Next", "Links", "Kept"):
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
    """Print a source and its last polls."""
    muted, backfill = get_mute(row, now), build_backfill_status(row)
    overrides: dict[str, object] = {"muted": mute_line(muted) if muted else None}
    overrides |= {"backfill": format_backfill(backfill) if backfill else None}
    overrides |= {"funnel": format_funnel(build_funnel(row, endings, list_stages(row.pipeline)))}
    for name, value in {**build_source_facts(row, now, endings), **overrides}.items():
        if value not in (None, "", {}):
            screen.print(f"{name.replace('_', ' '):14} {escape(format_value(value))}")
    if polls:
        screen.print(f"\nThe last {len(polls)} of {row.polls:,} polls:")
    for poll in polls:
        screen.print(f"  {poll_line(poll)}", markup=False)


def format_backfill(status: BackfillStatus) -> str:
    """Format the state of a backfill in three or four lines."""
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
    """Format a mute in one line."""
    until = format_value(mute.until) if mute.until else "it works again"
    return f"until {until}" + (f": {mute.note}" if mute.note else "")


def format_funnel(funnel: Funnel) -> str:
    """Format how far the links of a source came, in one line; "" if none were announced."""
    if funnel.coverage is None:
        return ""
    waiting = f", {funnel.waiting:,} in flight" if funnel.waiting else ""
    return (
        f"{funnel.announced:,} announced, {funnel.entered:,} entered, {funnel.fetched:,} fetched,"
        f" {funnel.kept:,} kept ({format_coverage(funnel)}){waiting}"
    )


def format_coverage(funnel: Funnel) -> str:
    """Format the share of links that were kept; "-" if none were announced."""
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
    """Format a poll in one line."""
    facts = poll_facts(row)
    line = f"{format_value(facts['at'])}  {facts['input_id']}  "
    if row.error:
        return line + f"failed: {row.error}"
    if facts.get("listed") is None:
        return line + "unchanged"
    refusals = "".join(f", {count} {why}" for why, count in row.tally.items())
    line += f"{facts['listed']} listed, {row.entries} new, {facts['known']} known{refusals}"
    backfill_facts = facts.get("backfill")
    if isinstance(backfill_facts, dict):
        skipped = ", ".join(
            f"{backfill_facts[name]} {word}" for name, word in _SKIPPED_LABELS.items()
        )
        line += f", {skipped}, on {pluralize(len(backfill_facts['pages']), 'page')} of its backfill"
    return line + (f"; {facts['problem']}" if facts.get("problem") else "")


def print_poll(screen: Console, row: InputRow, entries: Sequence[EntryRow], count_max: int) -> None:
    """Print a poll and the outcomes of the links it entered."""
    screen.print(f"{row.path}\n{poll_line(row)}", markup=False)
    for entry in entries[:count_max]:
        reason = f" ({entry.reason})" if entry.reason else ""
        screen.print(f"  {entry.outcome}{reason}  {entry.entry_id}  {entry.url}", markup=False)
    if len(entries) > count_max:
        screen.print(f"  and {row.entries - count_max:,} more")


def format_value(value: object) -> str:
    """Format a fact; times without microseconds and zone."""
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
