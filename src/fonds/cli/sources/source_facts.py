"""What is told of a source and of one of its polls: as facts for JSON, and as lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from fonds.model.numbers import how_many
from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.model.secrets import without_secrets
from fonds.pipelines import stages_of
from fonds.sources.following.backfill.backfill import backfill_of, found_in, polled_next
from fonds.sources.following.backfill.told import BackfillTold, backfill_told
from fonds.sources.following.described import seen
from fonds.sources.following.funnel import Ended, Funnel, funnel
from fonds.sources.following.muting import Mute, mute_of
from fonds.sources.following.standing import standing

if TYPE_CHECKING:
    from rich.console import Console

NUMBERS = ("Links", "Kept")
_LEFT_OUT = {"outside": "of other days", "undated": "undated"}


def source_facts(row: SourceRow, now: datetime, ended: Sequence[Ended]) -> dict[str, object]:
    """All that is known of a source; `ended` is what became of its links."""
    muted, filled, asked = mute_of(row, now), backfill_told(row), backfill_of(row)
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
        "polled_next": polled_next(row),
        "well_last": row.last_well,
        "new_last": row.last_new,
        "polls": row.polls,
        "links": row.links,
        "listed": row.listed,
        "failing_since": row.failing_since,
        "silent_since": row.silent_since,
        "muted": None if muted is None else asdict(muted),
        "refused": dict(row.refused_tally or {}),
        "funnel": asdict(funnel(row, ended, stages_of(row.pipeline))),
        "links_a_day": None if row.rate_day is None else round(row.rate_day, 2),
        "failures": row.failures,
        "status": row.status,
        "error": row.error,
        "moved_from": row.moved_from,
        "form": row.form,
        "form_before": row.form_before,
        "form_changed": row.form_changed,
        "hints": {name: value for name, value in (row.hints or {}).items() if value},
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
        **seen(row),
        **_of_backfill(row),
    }


def _of_backfill(row: InputRow) -> dict[str, object]:
    """Which pages a poll of a backfill read, and what it left out; nothing of another poll."""
    found = found_in(seen(row))
    if found is None:
        return {}
    facts = {name: getattr(found, name) for name in ("unread", *_LEFT_OUT)}
    return {"backfill": {"pages": [without_secrets(one) for one in found.pages], **facts}}


def source_table(
    rows: Sequence[SourceRow], ended: Mapping[str, Sequence[Ended]], now: datetime
) -> Table:
    """Sources, one a line: addresses stay whole, to be copied; a terminal wraps them itself."""
    table = Table(box=None, pad_edge=False)
    for title in ("Id", "Standing", "Polled last", "Next", "Links", "Kept"):
        table.add_column(title, no_wrap=True, justify="right" if title in NUMBERS else "left")
    table.add_column("Source", overflow="fold")
    for row in rows:
        found = funnel(row, ended[row.source_id], stages_of(row.pipeline))
        due = polled_next(row) or "-"
        name = f"{row.title}  {row.url}" if row.title else row.url
        table.add_row(
            row.source_id,
            _stands(row, now),
            in_short(row.last_polled or "never"),
            in_short(due),
            f"{row.links:,}",
            coverage_told(found),
            escape(name),
        )
    return table


def _stands(row: SourceRow, now: datetime) -> str:
    filled = backfill_told(row)
    told = (str(standing(row, now)), filled.in_a_list if filled else "")
    return ", ".join(filter(None, told))


def print_source(
    screen: Console,
    row: SourceRow,
    ended: Sequence[Ended],
    polls: Sequence[InputRow],
    now: datetime,
) -> None:
    """A source and its last polls."""
    muted, filled = mute_of(row, now), backfill_told(row)
    said: dict[str, object] = {"muted": mute_line(muted) if muted else None}
    said |= {"backfill": backfill_lines(filled) if filled else None}
    said |= {"funnel": funnel_line(funnel(row, ended, stages_of(row.pipeline)))}
    for name, value in {**source_facts(row, now, ended), **said}.items():
        if value not in (None, "", {}):
            screen.print(f"{name.replace('_', ' '):14} {escape(in_short(value))}")
    if polls:
        screen.print(f"\nThe last {len(polls)} of {row.polls:,} polls:")
    for one in polls:
        screen.print(f"  {poll_line(one)}", markup=False)


def backfill_lines(found: BackfillTold) -> str:
    """How a backfill stands, as three or four lines."""
    told = [
        f"{found.first} to {found.last}: {found.state}{f', {found.why}' if found.why else ''}",
        f"{how_many(found.pages, 'page')}, {found.unread:,} unreadable,"
        f" {how_many(found.sitemaps, 'sitemap')} passed over",
        f"{found.listed:,} listed: {found.entered:,} entered, {found.known:,} known,"
        f" {found.refused:,} refused, {found.outside:,} of other days, {found.undated:,} undated",
    ]
    if found.next_page:
        tries = f", after {found.attempts} failed: {found.trouble}" if found.trouble else ""
        told.append(f"next {found.next_page}, {in_short(found.next_at or 'once resumed')}{tries}")
    return f"\n{'':15}".join(told)


def mute_line(found: Mute) -> str:
    """How a source is muted, as a line."""
    until = in_short(found.until) if found.until else "it is well again"
    return f"until {until}" + (f": {found.note}" if found.note else "")


def funnel_line(found: Funnel) -> str:
    """How far the links of a source came, as a line; "" where nothing was announced."""
    if found.coverage is None:
        return ""
    waiting = f", {found.waiting:,} on the way" if found.waiting else ""
    return (
        f"{found.announced:,} announced, {found.entered:,} entered, {found.fetched:,} fetched,"
        f" {found.kept:,} kept ({coverage_told(found)}){waiting}"
    )


def coverage_told(found: Funnel) -> str:
    """The share that was kept, for people; "-" where nothing was announced."""
    if found.coverage is None:
        return "-"
    # Never 100 % of not all, nor 0 % of something.
    percent = min(max(100 * found.coverage, 0.1), 99.9)
    return (
        f"{100 * found.coverage:g} %" if found.kept in (0, found.announced) else f"{percent:.1f} %"
    )


def poll_line(row: InputRow) -> str:
    """One poll as a line."""
    facts = poll_facts(row)
    told = f"{in_short(facts['at'])}  {facts['input_id']}  "
    if row.error:
        return told + f"failed: {row.error}"
    if facts.get("listed") is None:
        return told + "nothing had changed"
    refused = "".join(f", {count} {why}" for why, count in row.tally.items())
    told += f"{facts['listed']} listed, {row.entries} new, {facts['known']} known{refused}"
    of_backfill = facts.get("backfill")
    if isinstance(of_backfill, dict):
        left_out = ", ".join(f"{of_backfill[name]} {word}" for name, word in _LEFT_OUT.items())
        told += f", {left_out}, on {how_many(len(of_backfill['pages']), 'page')} of its backfill"
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
