"""What is told of a source and of one of its polls: as facts for JSON, and as lines for people."""

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
from fonds.following.health import Mute, get_mute, health
from fonds.following.poll_notes import parse_poll_notes
from fonds.model.encoding import pluralize
from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.model.secrets import redact_secrets
from fonds.model.stored_json import encode_stored
from fonds.pipelines.flavours.registry import list_stages

if TYPE_CHECKING:
    from rich.console import Console

NUMBERS = ("Links", "Kept")
_SKIPPED_LABELS = {"outside": "of other days", "undated": "undated"}


def build_source_facts(
    row: SourceRow, now: datetime, endings: Sequence[LinkEnding]
) -> dict[str, object]:
    """All that is known of a source; `endings` is what became of its links."""
    muted, filled, asked = get_mute(row, now), build_backfill_status(row), row.backfill
    return {
        "source_id": row.source_id,
        "url": row.url,
        "kind": row.kind,
        "standing": str(health(row, now)),
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
        "backfill": {**asdict(filled), "asked_by": asked.asked_by} if filled and asked else None,
    }


def poll_facts(row: InputRow) -> dict[str, object]:
    """What one poll saw, what it entered and what it refused."""
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
    """Which pages a poll of a backfill read, and what it left out; nothing of another poll."""
    found = parse_poll_notes(row).backfill
    if found is None:
        return {}
    facts = {name: getattr(found, name) for name in ("unread", *_SKIPPED_LABELS)}
    return {"backfill": {"pages": [redact_secrets(one) for one in found.pages], **facts}}


def build_source_table(
    rows: Sequence[SourceRow], endings_by_source: Mapping[str, Sequence[LinkEnding]], now: datetime
) -> Table:
    """Sources, one a line: addresses stay whole, to be copied; a terminal wraps them itself."""
    table = Table(box=None, pad_edge=False)
    for title in ("Id", "Standing", "Polled last", "Next", "Links", "Kept"):
        table.add_column(title, no_wrap=True, justify="right" if title in NUMBERS else "left")
    table.add_column("Source", overflow="fold")
    for row in rows:
        found = build_funnel(row, endings_by_source[row.source_id], list_stages(row.pipeline))
        due = find_next_poll(row) or "-"
        name = f"{row.title}  {row.url}" if row.title else row.url
        table.add_row(
            row.source_id,
            _format_health(row, now),
            format_value(row.last_polled or "never"),
            format_value(due),
            f"{row.links:,}",
            format_coverage(found),
            escape(name),
        )
    return table


def _format_health(row: SourceRow, now: datetime) -> str:
    filled = build_backfill_status(row)
    told = (str(health(row, now)), filled.short_text if filled else "")
    return ", ".join(filter(None, told))


def print_source(
    screen: Console,
    row: SourceRow,
    endings: Sequence[LinkEnding],
    polls: Sequence[InputRow],
    now: datetime,
) -> None:
    """A source and its last polls."""
    muted, filled = get_mute(row, now), build_backfill_status(row)
    said: dict[str, object] = {"muted": mute_line(muted) if muted else None}
    said |= {"backfill": format_backfill(filled) if filled else None}
    said |= {"funnel": format_funnel(build_funnel(row, endings, list_stages(row.pipeline)))}
    for name, value in {**build_source_facts(row, now, endings), **said}.items():
        if value not in (None, "", {}):
            screen.print(f"{name.replace('_', ' '):14} {escape(format_value(value))}")
    if polls:
        screen.print(f"\nThe last {len(polls)} of {row.polls:,} polls:")
    for one in polls:
        screen.print(f"  {poll_line(one)}", markup=False)


def format_backfill(status: BackfillStatus) -> str:
    """How a backfill stands, as three or four lines."""
    told = [
        f"{status.first} to {status.last}: {status.state}{f', {status.why}' if status.why else ''}",
        f"{pluralize(status.pages, 'page')}, {status.unread:,} unreadable,"
        f" {pluralize(status.sitemaps, 'sitemap')} passed over",
        f"{status.listed:,} listed: {status.entered:,} entered, {status.known:,} known,"
        f" {status.refused:,} refused, {status.outside:,} of other days, {status.undated:,} undated",
    ]
    if status.next_page:
        tries = f", after {status.attempts} failed: {status.trouble}" if status.trouble else ""
        told.append(
            f"next {status.next_page}, {format_value(status.next_at or 'once resumed')}{tries}"
        )
    return f"\n{'':15}".join(told)


def mute_line(mute: Mute) -> str:
    """How a source is muted, as a line."""
    until = format_value(mute.until) if mute.until else "it is well again"
    return f"until {until}" + (f": {mute.note}" if mute.note else "")


def format_funnel(funnel: Funnel) -> str:
    """How far the links of a source came, as a line; "" where nothing was announced."""
    if funnel.coverage is None:
        return ""
    waiting = f", {funnel.waiting:,} on the way" if funnel.waiting else ""
    return (
        f"{funnel.announced:,} announced, {funnel.entered:,} entered, {funnel.fetched:,} fetched,"
        f" {funnel.kept:,} kept ({format_coverage(funnel)}){waiting}"
    )


def format_coverage(funnel: Funnel) -> str:
    """The share that was kept, for people; "-" where nothing was announced."""
    if funnel.coverage is None:
        return "-"
    # Never 100 % of not all, nor 0 % of something.
    percent = min(max(100 * funnel.coverage, 0.1), 99.9)
    return (
        f"{100 * funnel.coverage:g} %"
        if funnel.kept in (0, funnel.announced)
        else f"{percent:.1f} %"
    )


def poll_line(row: InputRow) -> str:
    """One poll as a line."""
    facts = poll_facts(row)
    told = f"{format_value(facts['at'])}  {facts['input_id']}  "
    if row.error:
        return told + f"failed: {row.error}"
    if facts.get("listed") is None:
        return told + "nothing had changed"
    refused = "".join(f", {count} {why}" for why, count in row.tally.items())
    told += f"{facts['listed']} listed, {row.entries} new, {facts['known']} known{refused}"
    of_backfill = facts.get("backfill")
    if isinstance(of_backfill, dict):
        left_out = ", ".join(
            f"{of_backfill[name]} {word}" for name, word in _SKIPPED_LABELS.items()
        )
        told += f", {left_out}, on {pluralize(len(of_backfill['pages']), 'page')} of its backfill"
    return told + (f"; {facts['problem']}" if facts.get("problem") else "")


def print_poll(screen: Console, row: InputRow, entries: Sequence[EntryRow], count_max: int) -> None:
    """A poll and what became of the links it entered."""
    screen.print(f"{row.path}\n{poll_line(row)}", markup=False)
    for one in entries[:count_max]:
        reason = f" ({one.reason})" if one.reason else ""
        screen.print(f"  {one.outcome}{reason}  {one.entry_id}  {one.url}", markup=False)
    if len(entries) > count_max:
        screen.print(f"  and {row.entries - count_max:,} more")


def format_value(value: object) -> str:
    """A fact as text; a time without what people do not need."""
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
