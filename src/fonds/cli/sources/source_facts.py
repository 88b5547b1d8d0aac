"""What is told of a source and of one of its polls: as facts for JSON, and as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.markup import escape

from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.sources.following.described import seen
from fonds.sources.following.rhythm import standing

if TYPE_CHECKING:
    from rich.console import Console


def source_facts(row: SourceRow, now: datetime) -> dict[str, object]:
    """All that is known of a source."""
    return {
        "source_id": row.source_id,
        "url": row.url,
        "kind": row.kind,
        "standing": str(standing(row, now)),
        "title": row.title,
        "folder": row.folder,
        "collection": row.collection,
        "pipeline": row.pipeline,
        "tls": row.tls,
        "added_at": row.added_at,
        "polled_last": row.last_polled,
        "polled_next": row.next_poll if row.state == "active" else None,
        "well_last": row.last_well,
        "new_last": row.last_new,
        "polls": row.polls,
        "links": row.links,
        "listed": row.listed,
        "silent_since": row.silent_since,
        "refused": dict(row.refused_tally or {}),
        "links_a_day": None if row.rate_day is None else round(row.rate_day, 2),
        "failures": row.failures,
        "status": row.status,
        "error": row.error,
        "moved_from": row.moved_from,
        "hints": {name: value for name, value in (row.hints or {}).items() if value},
    }


def poll_facts(row: InputRow) -> dict[str, object]:
    """What one poll saw, what it entered and what it refused."""
    return {
        "poll": row.input_id,
        "pipeline": row.pipeline,
        "url": row.path,
        "at": row.updated,
        "new": row.entries,
        "refused_anew": dict(row.tally),
        "error": row.error,
        "finished": row.finished,
        **seen(row),
    }


def print_source(screen: Console, row: SourceRow, polls: Sequence[InputRow], now: datetime) -> None:
    """A source and its last polls."""
    for name, value in source_facts(row, now).items():
        if value not in (None, "", {}):
            screen.print(f"{name.replace('_', ' '):14} {escape(in_short(value))}")
    if polls:
        screen.print(f"\nThe last {len(polls)} of {row.polls:,} polls:")
    for one in polls:
        screen.print(f"  {poll_line(one)}", markup=False)


def poll_line(row: InputRow) -> str:
    """One poll as a line."""
    facts = poll_facts(row)
    told = f"{in_short(facts['at'])}  {facts['poll']}  "
    if row.error:
        return told + f"failed: {row.error}"
    if facts.get("listed") is None:
        return told + "nothing had changed"
    refused = "".join(f", {count} {why}" for why, count in row.tally.items())
    told += f"{facts['listed']} listed, {row.entries} new, {facts['known']} known{refused}"
    return told + (f"; {facts['problem']}" if facts.get("problem") else "")


def print_poll(screen: Console, row: InputRow, entries: Sequence[EntryRow], count_max: int) -> None:
    """A poll and what became of the links it entered."""
    screen.print(f"{row.path}\n{poll_line(row)}", markup=False)
    for one in entries[:count_max]:
        reason = f" ({one.reason})" if one.reason else ""
        screen.print(f"  {one.outcome}{reason}  {one.entry_id}  {one.url}", markup=False)
    if len(entries) > count_max:
        screen.print(f"  and {row.entries - count_max:,} more")


def in_short(value: object) -> str:
    """A fact as text; a time without what people do not need."""
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
