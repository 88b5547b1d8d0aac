"""`fonds show`: print everything known about a file, URL or story."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import click
import msgspec
from msgspec import Meta
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fonds.cli.collection_arguments import NAMES_MAX
from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.time_format import format_time
from fonds.config import Settings
from fonds.derivatives.kind import DerivativeKind, RelatedFile
from fonds.derivatives.kinds import iter_kinds_with_rows
from fonds.derivatives.visibility import find_active_embargoes, find_takedowns
from fonds.following.refused_links import list_refused_links
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusterings import iter_collections
from fonds.grouping.views.documents import DocumentPlacement, iter_holders, list_placements
from fonds.model.errors import ConfigurationError
from fonds.model.keys import parse_sha1
from fonds.model.record_offset import format_record_place
from fonds.model.restrictions import ReasonClass
from fonds.model.rights import Statement
from fonds.model.rows import DispositionRow, RefusedLinkRow
from fonds.model.stored_json import encode_row
from fonds.ports import Stores
from fonds.search.direct_hits import explain_short_key, find_direct_hits
from fonds.viewer.description import (
    CitedReference,
    FileDescription,
    build_description,
    read_body,
)
from fonds.viewer.file_keys import resolve
from fonds.viewer.history import (
    EntryHistories,
    EntryHistory,
    MessageBranch,
    build_branches,
    find_entries_by_file_name,
    find_entry_histories,
    find_entry_history,
    find_files_named,
)
from fonds.viewer.rights import (
    NO_RIGHTS_MESSAGE,
    RECORDED,
    describe_robots,
    describe_source,
    describe_tdmrep,
    iter_by_subject,
)


class CollectionPlacement(msgspec.Struct, frozen=True):
    """Collection that contains a document, with the document's cluster in each clustering."""

    collection: str
    places: Sequence[DocumentPlacement]


ShownFile = define_answer(
    "ShownFile",
    FileDescription,
    collections=Annotated[
        Sequence[CollectionPlacement],
        Meta(description="collections that contain the document, with its clusters"),
    ],
)
"""JSON answer: everything that Fonds knows about one file."""


def list_cluster_placements(
    stores: Stores, settings: Settings, document_id: str
) -> list[CollectionPlacement]:
    """Return the collections that contain a document, each with the document's cluster in its
    clusterings.

    Only the first 10,000 collections are searched.
    """
    tables = Tables(stores.table, settings.collections.prefix)
    if not tables.exist():
        return []
    names = (view.name for view, _ in zip(iter_collections(tables), range(NAMES_MAX), strict=False))
    return [
        CollectionPlacement(str(name), list_placements(tables, name, document_id))
        for name in iter_holders(tables, names, document_id)
    ]


def format_placements(placements: Sequence[CollectionPlacement]) -> list[tuple[str, object]]:
    """Return pairs for display, each of a collection and a document's cluster in one of its
    clusterings.

    A collection without a clustering has one pair, which says so.
    """
    lines: list[tuple[str, object]] = []
    for placement in placements:
        if not placement.places:
            lines.append((placement.collection, "not grouped yet"))
        for place in placement.places:
            cluster = place.name or place.label or f"unclustered: {place.unclustered_reason}"
            level = f", level {place.level}" if place.level else ""
            lines.append(
                (placement.collection, f"{cluster} ({place.conf}{level}, {place.score:.2f})")
            )
    return lines


CITATIONS_MAX = 100
TEXT_MAX_CHARS = 600
RAW_MAX_CHARS = 200
OTHER_NAMES_MAX = 5


@command(
    "show",
    answers={
        "one for each file that the key names": ShownFile,
        "one for each entry without a stored file": EntryHistory,
        "one for each source that listed a refused URL": RefusedLinkRow,
    },
)
@click.argument("key")
@click.option("--body", is_flag=True, help="Write the file to standard output.")
@click.option("--text", is_flag=True, help="Write the extracted text to standard output.")
@click.option("--thumbnail", is_flag=True, help="Write the thumbnail (JPEG) to standard output.")
def show(app: App, key: str, body: bool, text: bool, thumbnail: bool) -> int:
    """Show everything known about a file or URL.

    This includes captures, metadata, derivatives and history.

    KEY is a SHA-1 in hex or base32 or its first 8 characters, a URL, a story id, a DOI, a file
    name, the path of an ingested file, or an entry id (`fonds failures --list --json`). The path of
    a ZIP, WARC, index or list shows the outcome of its records, and `pages.zip#a.html` or
    `crawl.warc.gz:85` is one of them. For a URL or entry without a stored file, its outcome is
    shown.

    \b
    fonds show 3f786850e387550fdab836ed7e6dc881de23001b
    fonds show https://example.org/paper.pdf
    fonds show 3f786850
    fonds show papers/report.pdf
    fonds show 'pages.zip#a.html'
    fonds show 3f786850e387550fdab836ed7e6dc881de23001b --body > paper.pdf
    """
    if body + text + thumbnail > 1:
        raise click.UsageError("Use only one of --body, --text and --thumbnail.")
    stores = app.open_stores()
    resolved_key = resolve(stores, key)
    if not resolved_key.complete:
        print_note(
            f"More than {len(resolved_key.files):,} captures match this key; these are the first."
        )
    descriptions = _find_descriptions(stores, resolved_key.files)
    is_written = body or text or thumbnail
    if not descriptions:
        histories = find_entry_histories(stores.records, key)
        if histories.newest and not is_written:
            _print_entries(app, histories)
            return 0
        descriptions = _find_descriptions(
            stores, [hit.sha1hex for hit in find_direct_hits(stores, key)]
        )
        descriptions = descriptions or _find_descriptions(
            stores, find_files_named(stores.records, key)
        )
        if not descriptions and histories.newest:
            print_note(
                f"{key!r} matches {_records(histories.total)}, but is not a file. "
                "Give the SHA-1 of one of its files."
            )
            return 1
    if not descriptions and not is_written and _print_unkept(app, stores, key):
        return 0
    if not descriptions:
        hint = f"; {short}" if (short := explain_short_key(key)) else ""
        print_note(_describe_takedown(stores, key) or f"No record of {key!r} in {app.home}{hint}")
        return 1
    if is_written:
        _print_other_keys(descriptions)
        sys.stdout.buffer.write(_read_bytes(stores, descriptions[0], body=body, text=text))
        sys.stdout.buffer.flush()
    else:
        _print_files(app, stores, descriptions)
    return 0


def _print_files(app: App, stores: Stores, descriptions: Sequence[FileDescription]) -> None:
    for description in descriptions:
        document_id = description.document.id if description.document else description.sha1hex
        placements = list_cluster_placements(stores, app.load_settings(), document_id)
        if app.is_json:
            echo_json(_build_answer(description, placements))
            continue
        for embargo in find_active_embargoes(stores.records, [description.sha1hex]).values():
            until = f"{embargo.until:%Y-%m-%d} ({embargo.reason_class})"
            open_console().print(f"Under embargo until {until}: readers cannot see it.")
        _print(open_console(), description)
        if placements:
            _print_section(open_console(), "Clusters", format_placements(placements))


def _describe_takedown(stores: Stores, key: str) -> str | None:
    """Return the sentence about the takedown of a file; None if the file was not taken down.

    `key`: what the user gave. Only a SHA-1 is looked up, because nothing else can name a removed
        file.
    """
    raw = parse_sha1(key)
    for row in find_takedowns(stores.records, [raw.hex()] if raw else []).values():
        why = ReasonClass(row.reason_class).explanation
        return f"{row.sha1hex} was taken down on {row.row_created:%Y-%m-%d} ({row.reason_class}): {why}"
    return None


def _find_descriptions(stores: Stores, sha1hexes: Sequence[str]) -> list[FileDescription]:
    descriptions = (build_description(stores, sha1hex) for sha1hex in sha1hexes)
    return [description for description in descriptions if description.is_known]


def _print_entries(app: App, histories: EntryHistories) -> None:
    urls = {row.url for history in histories.newest for row in history.entries}
    if len(urls) > 1 and not app.is_json:
        _list_entries(histories.newest)
    else:
        for history in histories.newest:
            _print_entry(app, history)
    if (unshown_count := histories.total - len(histories.newest)) > 0:
        print_note(f"{unshown_count:,} more entries have this URL; these are the newest.")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _list_entries(entries: Sequence[EntryHistory]) -> None:
    """Print a paragraph for each ledger entry in these histories: its outcome and URL.

    Each paragraph ends with the SHA-1 or entry id for which `fonds show` prints more.
    """
    screen = open_console()
    for row in (row for history in entries for row in history.entries):
        outcome_text = escape(f"{row.outcome} {row.reason or ''}".rstrip())
        screen.print(f"[bold]{outcome_text}[/bold] {escape(row.url)}", soft_wrap=True)
        if row.detail:
            screen.print(f"   {row.detail}", markup=False, soft_wrap=True)
        screen.print(f"   {row.about or row.entry_id}", style="dim", markup=False)


def _print_unkept(app: App, stores: Stores, key: str) -> bool:
    """Print the refused links with the URL `key`. If there are none, print the entries with the
    file name `key`.

    Return whether anything was printed.
    """
    links = list_refused_links(stores.records, key)
    for row in links:
        _print_refused_link(app, row)
    return bool(links) or _print_named_entries(app, stores, key)


def _print_refused_link(app: App, row: RefusedLinkRow) -> None:
    if app.is_json:
        echo_json(row)
        return
    screen = open_console()
    refused_at = format_time(row.refused_at)
    screen.print(f"{row.url} was not fetched: {row.reason} ({row.detail}).", markup=False)
    screen.print(f"   Listed by {row.source_url}, refused {refused_at}.", markup=False)


def _print_named_entries(app: App, stores: Stores, name: str) -> bool:
    """Print the outcomes of the ledger entries with a file name. Return whether there are any."""
    entries, is_complete = find_entries_by_file_name(stores.records, name)
    for entry_id in dict.fromkeys(row.entry_id for row in entries):
        if (entry := find_entry_history(stores.records, entry_id)) is not None:
            _print_entry(app, entry)
    if entries and not is_complete:
        print_note("These are the first entries with this file name; there may be more.")
    return bool(entries)


def _print_entry(app: App, entry: EntryHistory) -> None:
    if app.is_json:
        echo_json(entry)
        return
    screen = open_console()
    screen.print(f"[bold]{escape(entry.entry_id)}[/bold]")
    facts: list[tuple[str, object]] = [
        (item.pipeline, f"{item.kind} {item.url} {item.outcome} {item.reason or ''}".rstrip())
        for item in entry.entries
    ]
    _print_section(screen, "Entered", facts)
    heading = _format_heading("History", len(entry.branches), entry.total)
    _print_section(screen, heading, _format_branches(entry.branches))


def _format_branches(branches: Sequence[MessageBranch]) -> list[tuple[str, object]]:
    """Return the history of an entry's messages for display, as pairs of time and text.

    The texts form an indented tree: each message is below the message that caused it.
    """
    return [
        (
            f"{branch.row.settled_at or branch.row.promised_at:%Y-%m-%d %H:%M:%S}",
            f"{'  ' * branch.depth}{branch.row.step} {branch.row.verdict}"
            f" {branch.row.reason or ''} {branch.row.detail}"
            f"{_format_next_attempt(branch.row)}",
        )
        for branch in branches
    ]


def _format_next_attempt(row: DispositionRow) -> str:
    next_attempt_at = row.next_attempt_at
    return (
        f"; next attempt {format_time(next_attempt_at)}"
        if row.is_open and next_attempt_at is not None
        else ""
    )


def _print_other_keys(descriptions: Sequence[FileDescription]) -> None:
    """Print the SHA-1s of the files that match the user's key but are not shown, if there are
    any.
    """
    other_keys = [description.sha1hex for description in descriptions[1:]]
    if other_keys:
        names = ", ".join(other_keys[:OTHER_NAMES_MAX]) + (
            ", …" if other_keys[OTHER_NAMES_MAX:] else ""
        )
        print_note(
            f"{len(descriptions):,} files match this key. This is "
            f"{descriptions[0].sha1hex}; the others: {names}"
        )


def _read_bytes(stores: Stores, description: FileDescription, *, body: bool, text: bool) -> bytes:
    """Return the body, text or thumbnail of a file. Raises ConfigurationError if it has none.

    `body` and `text` choose which; if neither is true, it is the thumbnail.
    """
    if body:
        return read_body(stores, description)
    key = description.text_key if text else description.thumbnail_key
    data = stores.blobs.get(key) if key else None
    if data is None:
        raise ConfigurationError(f"{description.sha1hex} has no {'text' if text else 'thumbnail'}")
    return data


def _build_answer(
    description: FileDescription, placements: Sequence[CollectionPlacement]
) -> msgspec.Struct:
    rows = {name: encode_row(row) for name, row in description.derivatives.items()}
    return build_answer(ShownFile, description, derivatives=rows, collections=placements)


def _print(screen: Console, description: FileDescription) -> None:
    screen.print(f"[bold]{escape(description.title or description.sha1hex)}[/bold]")
    for heading, rows in _build_sections(description):
        if rows:
            _print_section(screen, heading, rows)


def _print_section(screen: Console, heading: str, rows: Sequence[tuple[str, object]]) -> None:
    screen.print(f"\n[bold]{heading}[/bold]")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, escape(str(value)))
    screen.print(table)


def _build_sections(description: FileDescription) -> list[tuple[str, list[tuple[str, object]]]]:
    return [
        (
            "File",
            _build_fields(
                description.file, ("sha1hex", "sha256hex", "md5hex", "size_bytes", "mimetype")
            ),
        ),
        *(
            (kind.title[:1].upper() + kind.title[1:], _build_facts(kind, description))
            for kind in iter_kinds_with_rows()
        ),
        ("Rights", _format_rights(description)),
        (
            _format_heading("Captures", len(description.captures), description.captures_total),
            [
                (f"{c.datetime} {c.url}", format_record_place(c.warc_path, c.warc_offset))
                for c in description.captures
            ],
        ),
        (
            "Inputs",
            [
                (entry.seen or str(entry.entered_at), entry.place or entry.url)
                for entry in description.entries
            ],
        ),
        (
            _format_heading("History", len(description.history), description.history_total),
            _format_branches(build_branches(description.history)),
        ),
        (
            "Indexed version",
            [("this version", description.searched)]
            if description.searched and not description.document
            else [],
        ),
        *_build_relatives(description),
        (
            _format_heading(
                "References",
                min(len(description.citations), CITATIONS_MAX),
                description.citations_total,
            ),
            [
                (f"{n}", _format_citation(reference))
                for n, reference in enumerate(description.citations[:CITATIONS_MAX], 1)
            ],
        ),
        ("Derivatives", [(name, key) for name, key in _build_derivatives(description) if key]),
        ("Text", _format_text(description)),
    ]


def _format_rights(description: FileDescription) -> list[tuple[str, object]]:
    """Return display rows for the statements of rights: those of the file, then those of its
    captures.

    A row says so if there are none.
    """
    if description.file is None:
        return []
    rows = list(_iter_statements(description.rights.statements))
    for group in description.rights.captures:
        first, *other_captures = group.captures
        times = f" and {len(other_captures):,} more" if other_captures else ""
        rows.append(("captured", f"{first.datetime or first.capture_id}{times}"))
        if group.robots:
            rows.append(("robots.txt", f"{group.robots.url} {describe_robots(group.robots)}"))
        if group.tdmrep:
            rows.append(("tdmrep.json", f"{group.tdmrep.url} {describe_tdmrep(group.tdmrep)}"))
        rows += _iter_statements(group.statements)
    if not description.rights.is_complete:
        rows.append(("not shown", "statements of earlier captures"))
    return [*rows, ("", NO_RIGHTS_MESSAGE if description.rights.is_silent else RECORDED)]


def _iter_statements(statements: Sequence[Statement]) -> Iterator[tuple[str, object]]:
    for title, statement in iter_by_subject(statements):
        raw = "" if statement.raw == statement.value else f": {_shorten(statement.raw)}"
        yield title.lower(), f"{statement.value} ({describe_source(statement)}{raw})"


def _format_text(description: FileDescription) -> list[tuple[str, object]]:
    """Return display rows with the beginning of a file's text, or the reasons why it has none."""
    if description.document and description.document.text_content.strip():
        return [("", _format_excerpt(description))]
    return [("none", reason.explanation) for reason in description.textless_reasons]


def _format_citation(reference: CitedReference) -> str:
    """Return a cited reference for display, with the work it was matched with."""
    return (
        f"{reference.reference} → {reference.work} ({reference.status})"
        if reference.work
        else reference.reference
    )


def _build_relatives(description: FileDescription) -> list[tuple[str, list[tuple[str, object]]]]:
    """Return two sections for display: the other versions of a story, and its near-duplicates."""
    relatives = description.relatives
    return [
        (
            _format_heading(name, len(files), total),
            [
                (f"{file.captured} {_format_relation(file)}", f"{file.sha1hex} {file.url}")
                for file in files
            ],
        )
        for name, files, total in (
            ("Versions", relatives.versions, relatives.versions_total),
            ("Near-duplicates", relatives.near_duplicates, relatives.near_duplicates_total),
        )
    ]


def _format_relation(related_file: RelatedFile) -> str:
    """Return how the text of a related file differs from that of the file shown."""
    if related_file.same_text:
        return "same text"
    return (
        "changed text"
        if related_file.resemblance is None
        else f"{related_file.resemblance:.2f} alike"
    )


def _format_heading(name: str, shown_count: int, total: int) -> str:
    return name if shown_count == total else f"{name} (the first {shown_count:,} of {total:,})"


def _build_facts(kind: DerivativeKind, description: FileDescription) -> list[tuple[str, object]]:
    """Return the facts of a derivative for display. Facts stated by the file or its server are
    marked.
    """
    row = description.derivatives.get(kind.name)
    facts = kind.build_facts(row) if row is not None else ()
    return [
        (f"{fact.name} (claimed)" if fact.claimed else fact.name, fact.value)
        for fact in facts
        if fact.value is not None
    ]


def _build_fields(row: object | None, names: tuple[str, ...]) -> list[tuple[str, object]]:
    return [] if row is None else [(name, getattr(row, name)) for name in names]


def _build_derivatives(description: FileDescription) -> list[tuple[str, str | None]]:
    return [("text", description.text_key), ("thumbnail", description.thumbnail_key)]


def _shorten(raw: str) -> str:
    return raw if len(raw) <= RAW_MAX_CHARS else f"{raw[: RAW_MAX_CHARS - 1]}…"


def _format_excerpt(description: FileDescription) -> str:
    text = description.document.text_content if description.document else ""
    return text[:TEXT_MAX_CHARS] + ("…" if len(text) > TEXT_MAX_CHARS else "")
