"""`fonds sources`: check, backfill, import, export, mute and unmute sources (feeds, sitemaps,
pages).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta

from fonds.cli.acts import find_local_user, record_act
from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.inputs import open_named_file
from fonds.cli.link_options import (
    AddedSourcesAnswer,
    add_source_options,
    build_source_options,
    report_added,
)
from fonds.cli.names import DAY, SuggestingChoice
from fonds.following import backfill_requests, health
from fonds.following.listings.listing import FeedOutline
from fonds.following.source_check import SourceCheck
from fonds.following.source_edits import (
    KINDS,
    SourceOptions,
    add_sources,
    build_outlines,
    build_source,
    build_sources,
    find_source,
)
from fonds.model.encoding import pluralize
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    PermanentError,
    TransientError,
    cause_of,
)
from fonds.model.rows import SourceRow
from fonds.stores.home_lock import create_home

URLS_MAX = 5


class FailedCheckAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a source that cannot be read."""

    source: Annotated[str, Meta(description="requested URL")]
    error: Annotated[str, Meta(description="why the source cannot be read")]


@command(
    "check",
    answers={
        "one for each source that can be read": SourceCheck,
        "one for each source that cannot be read": FailedCheckAnswer,
    },
)
@click.argument("names", nargs=-1, required=True, metavar="SOURCE|URL…")
@click.option("--kind", type=SuggestingChoice("kind", KINDS), default="feed", show_default=True)
def check(app: App, names: tuple[str, ...], kind: str) -> int:
    """Fetch sources now and show what they list. Nothing is stored.

    Any URL may be given. The exit code is 1 if a source cannot be read.

    \b
    fonds sources check https://example.org/feed.xml
    fonds sources check --kind page https://example.org/politics/
    """
    failed_count = 0
    with _open_checker(app) as look:
        for name in names:
            try:
                result: SourceCheck | FailedCheckAnswer = look(name, kind)
            except (TransientError, PermanentError) as error:
                result, failed_count = FailedCheckAnswer(name, str(error)), failed_count + 1
            if app.is_json:
                echo_json(result)
            else:
                _print_check(result)
    return int(bool(failed_count))


@contextmanager
def _open_checker(app: App) -> Iterator[Callable[[str, str], SourceCheck]]:
    """Context manager that yields a function which fetches one source and checks it.

    The function has two arguments: the URL or id of the source, and the kind of source that an
    unknown URL is. It parses the source in a process with limits, as a poll does.
    """
    # Imported here because the poller is slow to import.
    from fonds.isolation.pool import ChildPool
    from fonds.wiring.following import check_source, open_temporary_records

    settings = app.load_settings()
    rows = app.open_stores(settings).records if app.home.is_dir() else None
    pool = ChildPool(1, required=settings.isolation == "required")

    def look(name: str, kind: str) -> SourceCheck:
        try:
            row = find_source(rows, name) if rows is not None else None
        except ConfigurationError:
            if "://" not in name:
                raise
            row = None
        row = row or build_source(name, SourceOptions(kind), datetime.now(UTC))
        return check_source(row, pool, settings, rows or passing)

    with open_temporary_records() as passing:
        try:
            yield look
        finally:
            pool.close()


def _print_check(result: SourceCheck | FailedCheckAnswer) -> None:
    screen = open_console()
    if isinstance(result, FailedCheckAnswer):
        screen.print(f"{result.source}: {result.error}", markup=False)
        return
    refusals = "".join(f", {count} {reason}" for reason, count in result.refused.items())
    screen.print(
        f"{result.source}: {result.kind}, {pluralize(result.listed, 'link')}{refusals}",
        markup=False,
    )
    for link in result.links[:URLS_MAX]:
        screen.print(f"  {link.link}  {link.title or ''}".rstrip(), markup=False)
    if len(result.links) > URLS_MAX:
        screen.print(f"  and {len(result.links) - URLS_MAX:,} more")
    hints = [
        f"{field.name} {value}"
        for field in fields(result.hints)
        if (value := getattr(result.hints, field.name))
    ]
    details = {
        "moved to": result.moved_to,
        "problem": result.problem,
        "polling hints": ", ".join(hints),
        "older": _describe_older_pages(result),
    }
    for name, value in details.items():
        if value:
            screen.print(f"  {name}: {value}", markup=False)


def _describe_older_pages(result: SourceCheck) -> str:
    """Return a description of the older pages that `fonds sources backfill` would read from a
    source.
    """
    if result.sitemaps:
        return f"the {result.sitemaps:,} sitemaps of its index"
    return result.older or "none listed"


class BackfillAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a backfill (reading of older entries) that was requested for a source."""

    source: Annotated[str, Meta(description="URL of the source")]
    first: Annotated[date, Meta(description="first day")]
    last: Annotated[date, Meta(description="last day")]
    undated: Annotated[bool, Meta(description="whether entries without a date are read")]


class StoppedBackfillAnswer(msgspec.Struct, frozen=True):
    """JSON answer: whether a source's backfill (reading of older entries) was stopped."""

    source: Annotated[str, Meta(description="URL of the source")]
    stopped: Annotated[bool, Meta(description="whether a backfill was running")]


@command(
    "backfill",
    answers={"one": BackfillAnswer, "one, with --stop": StoppedBackfillAnswer},
)
@click.argument("name", metavar="SOURCE")
@click.option("--from", "first", type=DAY, metavar="DATE", help="First day, in UTC.")
@click.option("--to", "last", type=DAY, metavar="DATE", help="Last day, in UTC [today].")
@click.option("--undated", is_flag=True, help="Include entries without a date.")
@click.option("--stop", is_flag=True, help="Stop the current backfill.")
def backfill(
    app: App,
    name: str,
    first: datetime | None,
    last: datetime | None,
    undated: bool,
    stop: bool,
) -> int:
    """Read older entries of a source, as far as it offers them.

    Entries published between --from and --to are read. Older pages are the archives or further
    pages of a feed, and the sitemaps of an index. `fonds run` reads them page by page between its
    polls. `fonds sources show` shows the progress.

    \b
    fonds sources backfill https://example.org/feed.xml --from 2025-01-01 --to 2025-06-30
    fonds sources backfill https://example.org/feed.xml --stop
    """
    if stop is (first is not None) or (stop and (last is not None or undated)):
        raise click.UsageError("Give the first day with --from DATE, or use --stop alone.")
    records = app.open_stores().records
    row, now = find_source(records, name), datetime.now(UTC)
    if first is None:
        with record_act(records, f"fonds sources backfill --stop {row.url}"):
            was_active = backfill_requests.stop_backfill(records, row, now)
        if app.is_json:
            echo_json(StoppedBackfillAnswer(row.url, was_active))
        else:
            message = "stopped" if was_active else "no backfill was running"
            open_console().print(f"{message}: {row.url}", markup=False)
        return 0
    try:
        days = backfill_requests.validate_days(first.date(), last.date() if last else None, now)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    with record_act(records, f"fonds sources backfill {row.url} {days[0]} to {days[1]}"):
        backfill_requests.request_backfill(
            records, row, days, find_local_user(), now, takes_undated=undated
        )
    if app.is_json:
        echo_json(BackfillAnswer(row.url, *days, undated))
    else:
        open_console().print(
            f"backfill requested from {days[0]} to {days[1]}: {row.url}", markup=False
        )
    return 0


OPML_MAX_BYTES = 50 * 1024 * 1024


@command("import", answers={"one": AddedSourcesAnswer})
@click.argument("path", metavar="FILE|URL|-")
@add_source_options
def import_(app: App, path: str, **flags: Any) -> int:
    """Follow the feeds of an OPML file or URL.

    `-` is standard input. The exit code is 1 if some entries are not valid sources.

    \b
    fonds sources import feeds.opml --collection elections
    """
    try:
        outlines = _read_outlines(app, path)
    except (OSError, FondsError) as error:
        raise click.UsageError(f"Cannot read {path} as OPML: {cause_of(error)}") from error
    now = datetime.now(UTC)
    rows, refusals = build_sources(outlines, build_source_options(app, flags), now)
    create_home(app.home)
    records = app.open_stores(create=True).records
    with record_act(records, f"fonds sources import {path}: {pluralize(len(rows), 'source')}"):
        new_rows = add_sources(records, rows)
    report_added(app, new_rows, len(rows) - len(new_rows), refusals)
    return int(bool(refusals))


def _read_outlines(app: App, path: str) -> list[FeedOutline]:
    """Parse an OPML file, URL or standard input in an isolated process."""
    # Imported here because lxml is slow to import.
    from fonds.following.listings.opml import read_opml
    from fonds.isolation.pool import ChildPool

    body = _read_body(app, path)
    with ChildPool(1, required=app.load_settings().isolation == "required") as isolate:
        return isolate(read_opml, body)


def _read_body(app: App, name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(OPML_MAX_BYTES + 1)
    with open_named_file(name, app) as path, path.open("rb") as stream:
        body = stream.read(OPML_MAX_BYTES + 1)
    if len(body) > OPML_MAX_BYTES:
        raise click.UsageError(f"{name}: OPML can have at most {OPML_MAX_BYTES} bytes")
    return body


@command("export", output="OPML")
@click.argument("path", required=False, metavar="[FILE]")
def export(app: App, path: str | None) -> int:
    """Write the followed feeds as OPML to a file or standard output.

    \b
    fonds sources export feeds.opml
    """
    # Imported here because lxml is slow to import.
    from fonds.following.listings.opml import write_opml

    rows = sorted(app.open_stores().records.find(SourceRow), key=lambda row: (row.folder, row.url))
    body = write_opml(build_outlines(rows), "Sources", datetime.now(UTC))
    if path is None or path == "-":
        sys.stdout.buffer.write(body)
    else:
        Path(path).write_bytes(body)
    omitted_count = sum(row.kind != "feed" for row in rows)
    if omitted_count:
        print_note(f"{pluralize(omitted_count, 'source')} left out: OPML can only contain feeds")
    return 0


class MutedSourcesAnswer(msgspec.Struct, frozen=True):
    """JSON answer: sources whose alerts were muted."""

    muted: Annotated[Sequence[str], Meta(description="URLs of the sources")]
    until: Annotated[
        datetime | None,
        Meta(description="when the mute ends; null if it ends when the source works again"),
    ]


class UnmutedSourcesAnswer(msgspec.Struct, frozen=True):
    """JSON answer: sources whose alerts were unmuted."""

    unmuted: Annotated[Sequence[str], Meta(description="URLs of the sources")]


@command("mute", answers={"one": MutedSourcesAnswer})
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help=(
        "When the mute ends, in UTC: the start of a day, or a time [when the source works again]."
    ),
)
@click.option("--note", default="", help="Reason; shown with the source.")
def mute(app: App, names: tuple[str, ...], until: datetime | None, note: str) -> int:
    """Mute alerts for sources.

    Muted sources are polled as before. They are listed last with a mark, and do not count as
    needing attention.

    \b
    fonds sources mute https://example.org/feed.xml --note "they move house"
    fonds sources mute https://example.org/feed.xml --until 2027-01-31
    """
    now = datetime.now(UTC)
    ends_at = until.replace(tzinfo=UTC) if until else None
    records = app.open_stores().records
    rows = [find_source(records, name) for name in names]
    for row in rows:
        with record_act(records, f"fonds sources mute {row.url}"):
            health.mute(records, row, ends_at, note, now)
        if not app.is_json:
            duration = f"until {ends_at:%Y-%m-%d %H:%M}" if ends_at else "until it works again"
            open_console().print(f"muted {duration}: {row.url}", markup=False)
    if app.is_json:
        echo_json(MutedSourcesAnswer([row.url for row in rows], ends_at))
    return 0


@command("unmute", answers={"one": UnmutedSourcesAnswer})
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
def unmute(app: App, names: tuple[str, ...]) -> int:
    """Unmute alerts for sources.

    They count again as needing attention when they fail.

    \b
    fonds sources unmute https://example.org/feed.xml
    """
    records = app.open_stores().records
    rows = [find_source(records, name) for name in names]
    for row in rows:
        with record_act(records, f"fonds sources unmute {row.url}"):
            health.unmute(records, row)
        if not app.is_json:
            open_console().print(f"unmuted: {row.url}", markup=False)
    if app.is_json:
        echo_json(UnmutedSourcesAnswer([row.url for row in rows]))
    return 0
