"""`fonds sources`: manage the followed feeds, sitemaps and pages of links."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta

from fonds.cli.acts import record_act
from fonds.cli.context import (
    App,
    build_global_options,
    command,
    echo_json,
    open_console,
    print_note,
)
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.link_options import (
    AddedSourcesAnswer,
    add_source_options,
    build_source_options,
    report_added,
)
from fonds.cli.names import DAY, CommandGroup, SuggestingChoice
from fonds.cli.source_actions import backfill, check, export, import_, mute, unmute
from fonds.cli.source_report import (
    SourceAnswer,
    build_source_answer,
    build_source_table,
    print_poll,
    print_source,
)
from fonds.following.funnel import count_link_endings
from fonds.following.health import SourceHealth, build_health_filter, build_health_since_filter
from fonds.following.source_edits import (
    KINDS,
    add_sources,
    build_source,
    edit_source,
    find_source,
    poll_soon,
    set_state,
)
from fonds.following.source_list import count_sources, load_source_details
from fonds.following.source_summary import PollSummary, build_poll_summary
from fonds.model.errors import ConfigurationError
from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.ports import Records
from fonds.stores.home_lock import create_home

POLLS_MAX = 10
LIST_WIDTH = 1000
ENTRIES_MAX = 50


@click.group("sources", cls=CommandGroup)
@click.pass_context
def sources(ctx: click.Context, /, **flags: Any) -> None:
    """Manage followed feeds, sitemaps and pages of links.

    SOURCE is the URL of a source, its id, or the beginning of its id. `fonds run` polls the sources
    of its pipeline.

    \b
    fonds sources add https://example.org/feed.xml
    fonds sources check https://example.org/feed.xml
    fonds sources list
    fonds sources import feeds.opml
    """
    ctx.obj = ctx.obj.with_flags(**flags)


sources.params += build_global_options()


class PolledLink(msgspec.Struct, frozen=True):
    """Link that a poll of a source entered, with its outcome, in a JSON answer.

    - `entry_id`: id of its ledger entry.
    - `reason`, `step`: why and at which step it ended; null if it has not ended or succeeded.
    """

    entry_id: str
    url: str
    outcome: str
    reason: str | None
    step: str | None


SourceDetailAnswer = define_answer(
    "SourceDetailAnswer",
    SourceAnswer,
    last_polls=Annotated[Sequence[PollSummary], Meta(description="last polls, newest first")],
)
"""JSON answer: a source with its last polls."""

PollDetailAnswer = define_answer(
    "PollDetailAnswer",
    PollSummary,
    links=Annotated[
        Sequence[PolledLink],
        Meta(description=f"links that entered, with their outcomes, at most {ENTRIES_MAX + 1}"),
    ],
)
"""JSON answer: a poll of a source with the links that it entered."""


class ChangedStateAnswer(msgspec.Struct, frozen=True):
    """JSON answer: sources (feeds, sitemaps, pages) whose polling was paused or resumed."""

    state: Annotated[str, Meta(description="new state: paused or active")]
    sources: Annotated[Sequence[str], Meta(description="URLs of the sources")]


class NextPollsAnswer(msgspec.Struct, frozen=True):
    """JSON answer: sources that will be polled as soon as possible."""

    next: Annotated[Sequence[str], Meta(description="URLs of the sources")]


class RemovedSourcesAnswer(msgspec.Struct, frozen=True):
    """JSON answer: sources (feeds, sitemaps, pages) that Fonds no longer follows."""

    removed: Annotated[Sequence[str], Meta(description="URLs of the sources")]


@command("add", answers={"one": AddedSourcesAnswer})
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@click.option(
    "--kind",
    type=SuggestingChoice("kind", KINDS),
    default="feed",
    show_default=True,
    help=(
        "Feed (feeds, sitemaps and lists, detected by content), page (of links) or "
        "rss-fetcher (API)."
    ),
)
@click.option("--title", default="", help="Title of the source [its own title].")
@click.option("--folder", default="", help="Folder in OPML, such as news/europe.")
@add_source_options
def add_(app: App, urls: tuple[str, ...], kind: str, title: str, folder: str, **flags: Any) -> int:
    """Add sources to follow.

    Sources that are already followed are not changed. Nothing is fetched yet.

    \b
    fonds sources add https://example.org/feed.xml https://example.com/sitemap.xml
    fonds sources add --kind page https://example.org/politics/
    fonds sources add --kind rss-fetcher https://rss.example.org/api/rss_entries
    """
    now = datetime.now(UTC)
    options = build_source_options(app, flags, kind, title, folder)
    rows = [build_source(url, options, now) for url in urls]
    create_home(app.home)
    records = app.open_stores(create=True).records
    with record_act(records, f"fonds sources add {' '.join(row.url for row in rows)}"):
        new_rows = add_sources(records, rows)
    report_added(app, new_rows, len(rows) - len(new_rows), {})
    return 0


@command("list", answers={"one for each source": SourceAnswer})
@click.option(
    "--health",
    "stands",
    type=SuggestingChoice("health", [str(health) for health in SourceHealth]),
    help="Only sources with this state.",
)
@click.option(
    "--since",
    type=DAY,
    metavar="DATE",
    help="With --health dead, failing or silent: in this state since this day (UTC) or later.",
)
def list_(app: App, stands: str | None, since: datetime | None) -> int:
    """List followed sources with health, polls and results.

    \b
    fonds sources list
    fonds sources list --health failing
    fonds sources list --health silent --since 2026-11-01
    fonds sources list --json
    """
    now = datetime.now(UTC)
    records = app.open_stores().records
    total = count_sources(records, now).total
    condition = _build_condition(stands, since, now)
    rows = sorted(records.find(SourceRow, condition), key=lambda row: (row.folder, row.url))
    endings = count_link_endings(records, rows, [*PIPELINES])
    if app.is_json:
        for row in rows:
            echo_json(build_source_answer(row, now, endings[row.source_id]))
        return 0
    if not total:
        open_console().print("No sources yet. Run `fonds sources add URL` to follow one.")
        return 0
    screen = open_console()
    screen.width = max(screen.width, LIST_WIDTH)
    screen.print(build_source_table(rows, endings, now))
    if len(rows) < total:
        print_note(f"{len(rows):,} of {total:,} sources")
    return 0


def _build_condition(
    health: str | None, since: datetime | None, now: datetime
) -> dict[str, object] | None:
    """Return the database filter for sources with this health, such as `dead`; None for all
    sources.

    `since`: only sources that got this health on that day or later; None for all. With `since`,
        click.UsageError is raised if no health is given, or if the library does not record when
        this health began.
    """
    if since is None:
        return build_health_filter(SourceHealth(health), now) if health else None
    try:
        if health is None:
            raise ValueError("needs --health dead, failing or silent")
        return build_health_since_filter(SourceHealth(health), since.replace(tzinfo=UTC), now)
    except ValueError as error:
        raise click.UsageError(f"--since: {error}.") from None


@command(
    "show", answers={"one for a source": SourceDetailAnswer, "one for a poll": PollDetailAnswer}
)
@click.argument("name", metavar="SOURCE|POLL")
def show(app: App, name: str) -> int:
    """Show a source or a poll.

    A source is shown with its last polls, and a poll with the links it entered.

    POLL is SOURCE.NUMBER, as in the field `via` of a story.

    \b
    fonds sources show https://example.org/feed.xml
    fonds sources show 0123456789ab.000017
    """
    records = app.open_stores().records
    if "." in name and (polls := list(records.find(InputRow, {"input_id": name}))):
        entries = list(records.find(EntryRow, {"input_id": name}, count_max=ENTRIES_MAX + 1))
        poll_summary = build_poll_summary(polls[0])
        if app.is_json:
            links = [build_answer(PolledLink, entry) for entry in entries]
            echo_json(build_answer(PollDetailAnswer, poll_summary, links=links))
            return 0
        print_poll(open_console(), poll_summary, entries, ENTRIES_MAX)
        return 0
    return _print_details(app, records, find_source(records, name).source_id)


def _print_details(app: App, records: Records, source_id: str) -> int:
    """Print a source and its last polls. Return the exit code, 0."""
    now = datetime.now(UTC)
    details = load_source_details(records, source_id, now, [*PIPELINES], polls_max=POLLS_MAX)
    if details is None:
        raise ConfigurationError(f"The source {source_id} was removed meanwhile.")
    row, endings, polls = details.source, details.endings, details.polls
    if app.is_json:
        answer = build_source_answer(row, now, endings)
        echo_json(build_answer(SourceDetailAnswer, answer, last_polls=polls))
        return 0
    print_source(open_console(), row, endings, polls, now)
    return 0


@command("pause", answers={"one": ChangedStateAnswer})
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
def pause(app: App, names: tuple[str, ...]) -> int:
    """Stop polling sources until they are resumed.

    \b
    fonds sources pause https://example.org/feed.xml
    """
    return _change_state(app, names, "paused", "paused")


@command("resume", answers={"one": ChangedStateAnswer})
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
def resume(app: App, names: tuple[str, ...]) -> int:
    """Resume sources, including gone or dead ones. They are polled at once.

    \b
    fonds sources resume https://example.org/feed.xml
    """
    return _change_state(app, names, "active", "resumed")


@command("poll", answers={"one": NextPollsAnswer})
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
def poll(app: App, names: tuple[str, ...]) -> int:
    """Poll sources as soon as possible.

    The `fonds run` that is running, or the next one, polls them.

    \b
    fonds sources poll https://example.org/feed.xml
    """
    records = app.open_stores().records
    rows = [find_source(records, name) for name in names]
    for row in rows:
        with record_act(records, f"fonds sources poll {row.url}"):
            poll_soon(records, row, datetime.now(UTC))
        if not app.is_json:
            open_console().print(f"polled next: {row.url}", markup=False)
    if app.is_json:
        echo_json(NextPollsAnswer([row.url for row in rows]))
    return 0


@command("edit", answers={"one": SourceDetailAnswer})
@click.argument("name", metavar="SOURCE")
@click.option("--title", help="Title of the source.")
@click.option("--folder", help="Folder in OPML, such as news/europe; '' for none.")
@click.option("--collection", metavar="NAME", help="Collection for future links.")
def edit(app: App, name: str, **options: str | None) -> int:
    """Change the title, folder or collection of a source.

    \b
    fonds sources edit https://example.org/feed.xml --title "The Example" --folder news
    """
    records = app.open_stores().records
    row = find_source(records, name)
    changes = {key: value for key, value in options.items() if value is not None}
    if not changes:
        raise click.UsageError("Give --title, --folder or --collection.")
    current = {"title": row.title, "folder": row.folder, "collection": row.collection}
    with record_act(records, f"fonds sources edit {row.url}"):
        edit_source(records, row, **{**current, **changes})
    return _print_details(app, records, row.source_id)


def _change_state(app: App, names: tuple[str, ...], state: str, message: str) -> int:
    records = app.open_stores().records
    rows = [find_source(records, name) for name in names]
    for row in rows:
        act = "pause" if state == "paused" else "resume"
        with record_act(records, f"fonds sources {act} {row.url}"):
            set_state(records, row, state, datetime.now(UTC))
        if not app.is_json:
            open_console().print(f"{message}: {row.url}", markup=False)
    if app.is_json:
        echo_json(ChangedStateAnswer(state, [row.url for row in rows]))
    return 0


@command("remove", answers={"one": RemovedSourcesAnswer})
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
def remove(app: App, names: tuple[str, ...]) -> int:
    """Stop following sources and delete what was learned about them.

    Their stories and polls are kept.

    \b
    fonds sources remove https://example.org/feed.xml
    """
    records = app.open_stores().records
    rows = [find_source(records, name) for name in names]
    with record_act(records, f"fonds sources remove {' '.join(row.url for row in rows)}"):
        records.delete(SourceRow, [row.source_id for row in rows])
    if app.is_json:
        echo_json(RemovedSourcesAnswer([row.url for row in rows]))
    else:
        for row in rows:
            open_console().print(f"removed: {row.url}", markup=False)
    return 0


for _made in (
    *(add_, list_, show, poll, backfill, edit, pause, resume, mute, unmute),
    *(remove, check, import_, export),
):
    sources.add_command(_made)
