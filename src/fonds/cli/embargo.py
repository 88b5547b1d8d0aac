"""`fonds embargo`: hide files from readers until a date, and list hidden files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Annotated

import click
import msgspec
from msgspec import Meta

from fonds.cli.acts import (
    FILES_MAX,
    parse_sha1s,
    record_act,
    validate_note,
)
from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.json_answers import build_answer
from fonds.cli.names import SuggestingChoice
from fonds.isolation.process_identity import find_login_name
from fonds.model.restrictions import EmbargoReason
from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.model.search import SearchQuery
from fonds.search.query.parser import has_all_versions
from fonds.search.scan import count_matches, iter_documents
from fonds.stores.home_lock import HomeLock
from fonds.wiring.backends import are_stores_shared
from fonds.wiring.stores import get_utc_now

if TYPE_CHECKING:
    from fonds.config import Settings
    from fonds.ports import Stores
    from fonds.restrictions.embargo import EmbargoService


class HidingAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a file that an embargo would hide."""

    sha1hex: Annotated[str, Meta(description="SHA-1 of the file")]
    title: Annotated[str | None, Meta(description="title of the document")]
    captures: Annotated[int, Meta(description="number of captures that would be hidden")]
    documents: Annotated[
        Sequence[str], Meta(description="ids of the documents that would leave the index")
    ]
    collections: Annotated[Sequence[str], Meta(description="collections that the file would leave")]


@command(
    "embargo",
    answers={
        "one for each file, with --dry-run": HidingAnswer,
        "one for each file that was hidden or made visible again": EmbargoRow,
    },
)
@click.argument("keys", nargs=-1, metavar="[SHA1]…")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help="End of the embargo, in UTC: the start of a day, or a time.",
)
@click.option(
    "--reason",
    type=SuggestingChoice("reason", map(str, EmbargoReason)),
    metavar="CLASS",
    help=f"Published reason: {', '.join(map(str, EmbargoReason))}.",
)
@click.option(
    "--note", default="", help="Who requested it and how; shown by this command and to curators."
)
@click.option(
    "--query",
    metavar="QUERY",
    help=f"Hide all files that a search finds, at most {FILES_MAX:,}.",
)
@click.option("--lift", is_flag=True, help="Lift the embargo on these files now.")
@click.option(
    "--dry-run", is_flag=True, help="Show which files would be hidden, and change nothing."
)
def embargo(
    app: App,
    keys: tuple[str, ...],
    until: datetime | None,
    reason: str | None,
    note: str,
    query: str | None,
    lift: bool,
    dry_run: bool,
) -> int:
    """Hide files from readers until a date. Without SHA-1s, list hidden files.

    Hidden files are kept and processed, but appear in no search, list, count, theme or feed. Their
    addresses respond with the reason class and the date. `fonds run` shows them again after the
    date.

    \b
    fonds embargo 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b --until 2027-05-01 --reason publication
    fonds embargo --query 'site:press.example' --until 2027-05-01 --reason rights --dry-run
    fonds embargo --lift 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
    """
    if not keys and query is None:
        if until or reason or note or lift or dry_run:
            raise click.UsageError("Name the files by their SHA-1s or with --query.")
        return _list_embargoes(app)
    if lift and (until or reason or note or dry_run or query is not None):
        raise click.UsageError("--lift takes only SHA-1s.")
    if not (lift or dry_run) and (until is None or reason is None):
        raise click.UsageError("Give the end and the reason: --until DATE --reason CLASS.")
    validate_note(note)
    end_at = None if until is None else until.replace(tzinfo=UTC)
    if end_at is not None and end_at <= datetime.now(UTC):
        raise click.UsageError(f"--until {_format_end(end_at)} is in the past.")
    named_sha1s = parse_sha1s(keys)
    settings = app.load_settings()
    stores = app.open_stores(settings)
    sha1s = list(dict.fromkeys([*named_sha1s, *_find_sha1s(stores, query)]))
    if len(sha1s) > FILES_MAX:
        raise click.UsageError(f"At most {FILES_MAX:,} files per command.")
    if dry_run:
        return _preview_hiding(app, stores, settings, sha1s)
    if lift:
        return _lift(app, stores, settings, sha1s)
    user_name, made_at = find_login_name(), datetime.now(UTC)
    embargoes = [
        EmbargoRow(sha1hex, reason or "", note, end_at or made_at, user_name, made_at)
        for sha1hex in sha1s
    ]
    return _hide(app, stores, settings, embargoes)


def _find_sha1s(stores: Stores, query: str | None) -> list[str]:
    """Return the SHA-1s of the files that a search finds; an empty list for None.

    Raises click.UsageError for an invalid query, and if the query finds more than 1,000 documents.
    Also raises it for a query with `version:all`. Such a query finds a story that matches only in
    an earlier version, and returns the file of its current version.
    """
    if query is None:
        return []

    if has_all_versions(query):
        raise click.UsageError(
            "version:all also finds stories whose current version does not match. "
            "Name the files by their SHA-1s."
        )

    try:
        matches = count_matches(stores.index, SearchQuery(query))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if matches.total > FILES_MAX:
        raise click.UsageError(
            f"The query finds {matches.total:,} documents. At most {FILES_MAX:,} can be hidden at once."
        )
    return [document.sha1hex for document in iter_documents(stores.index, matches.query, FILES_MAX)]


def _open_embargo_service(stores: Stores, settings: Settings) -> EmbargoService:
    # Imported here because the restrictions and the collections are slow to import.
    from fonds.restrictions.embargo import EmbargoService
    from fonds.wiring.collections import find_collection_writer

    return EmbargoService(stores, find_collection_writer(stores, settings), get_utc_now)


def _hide(app: App, stores: Stores, settings: Settings, embargoes: Sequence[EmbargoRow]) -> int:
    """Hide files, except those that were taken down. Return the exit code: 1 if there were any."""
    sha1s = [embargo_row.sha1hex for embargo_row in embargoes]
    removed_sha1s = {row.sha1hex for row in stores.records.get(TakedownRow, sha1s)}
    with HomeLock(app.home, is_shared=are_stores_shared(settings)):
        service = _open_embargo_service(stores, settings)
        for new_row in embargoes:
            if new_row.sha1hex in removed_sha1s:
                print_note(f"{new_row.sha1hex} was taken down, so it cannot be hidden")
                continue
            with record_act(stores.records, _describe_embargo_act(new_row)):
                row = service.hide(new_row)
            if app.is_json:
                echo_json(row)
            else:
                open_console().print(
                    f"{row.sha1hex} is hidden until {row.until:%Y-%m-%d %H:%M} UTC."
                )
    return 1 if removed_sha1s else 0


def _describe_embargo_act(row: EmbargoRow) -> str:
    return (
        f"fonds embargo {row.sha1hex} --until {_format_end(row.until)} --reason {row.reason_class}"
    )


def _format_end(end_at: datetime) -> str:
    """Return the end of an embargo as `--until` accepts it: a day, or a time within a day."""
    is_midnight = end_at.time() == time()
    return f"{end_at:%Y-%m-%d}" if is_midnight else f"{end_at:%Y-%m-%dT%H:%M:%S}"


def _lift(app: App, stores: Stores, settings: Settings, sha1s: Sequence[str]) -> int:
    """Lift embargoes. Return the exit code: 1 if a file was not under embargo."""
    exit_code = 0
    with HomeLock(app.home, is_shared=are_stores_shared(settings)):
        service = _open_embargo_service(stores, settings)
        for sha1hex in sha1s:
            with record_act(stores.records, f"fonds embargo --lift {sha1hex}"):
                is_lifted = service.lift(sha1hex)
            if not is_lifted:
                print_note(f"{sha1hex} is not under embargo")
                exit_code = 1
            elif app.is_json:
                echo_json(stores.records.get(EmbargoRow, [sha1hex])[0])
            else:
                open_console().print(f"{sha1hex} is visible again.")
    return exit_code


def _preview_hiding(app: App, stores: Stores, settings: Settings, sha1s: Sequence[str]) -> int:
    # Imported here because the restrictions and the collections are slow to import.
    from fonds.restrictions.traces import find_traces
    from fonds.wiring.collections import find_tables

    tables = find_tables(stores, settings)
    for sha1hex in sha1s:
        traces = find_traces(stores, tables, sha1hex)
        documents = stores.index.get(traces.documents).values()
        title = next((document.article_title for document in documents), None)
        if app.is_json:
            echo_json(build_answer(HidingAnswer, traces, title=title))
            continue
        lines = [
            f"{sha1hex}  {title or 'no title'}",
            f"   captures: {traces.captures:,}; documents in the index: {len(traces.documents):,};"
            f" collections: {', '.join(traces.collections) or 'none'}",
        ]
        open_console().print("\n".join(lines), markup=False)
    if not app.is_json:
        open_console().print(f"{len(sha1s):,} would be hidden." if sha1s else "Nothing found.")
    return 0


def _list_embargoes(app: App) -> int:
    # Imported here because the restrictions are slow to import.
    from fonds.restrictions.embargo import iter_active_embargoes

    embargo_count, now = 0, datetime.now(UTC)
    for row in iter_active_embargoes(app.open_stores()):
        embargo_count += 1
        if app.is_json:
            echo_json(row)
            continue
        state = "  DUE: lift it with `fonds run` or --lift" if row.until <= now else ""
        state = "  NOT FULLY LIFTED: run --lift again" if row.lifting else state
        details = f"until {row.until:%Y-%m-%d %H:%M}  {row.reason_class}  by {row.made_by}"
        open_console().print(f"{row.sha1hex}  {details}  {row.note}{state}", markup=False)
    if not embargo_count and not app.is_json:
        open_console().print("No embargoes.")
    return 0
