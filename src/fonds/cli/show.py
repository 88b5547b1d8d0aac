"""`fonds show`: everything known about one file, URL or story."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.live_view import format_time
from fonds.config import Settings
from fonds.derivatives.kind import DerivativeKind, RelatedFile
from fonds.derivatives.kinds import iter_kinds_with_rows
from fonds.derivatives.visibility import find_active_embargoes, find_takedowns
from fonds.following.refused_links import list_refused_links
from fonds.grouping.tables import Tables
from fonds.model.errors import ConfigurationError
from fonds.model.keys import parse_sha1
from fonds.model.record_offset import record_place
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
    resolve,
)
from fonds.viewer.history import (
    EntryHistories,
    EntryHistory,
    MessageBranch,
    build_branches,
    files_named,
    find_entries_by_file_name,
    find_entry_histories,
    find_entry_history,
)
from fonds.viewer.rights import (
    NO_RIGHTS_MESSAGE,
    RECORDED,
    describe_robots,
    describe_source,
    describe_tdmrep,
    iter_by_subject,
)

# Where a file or story is among the clusters of collections.


def list_cluster_placements(
    stores: Stores, settings: Settings, document_id: str
) -> list[dict[str, Any]]:
    """The collections that have a document, and where it is in each of their clusterings."""
    tables = Tables(stores.table, settings.collections.prefix)
    if not tables.exist():
        return []
    # What reads clusters takes long to load, and most homes have none.
    from fonds.cli.collection_arguments import NAMES_MAX
    from fonds.grouping.views.clusterings import iter_collections
    from fonds.grouping.views.documents import iter_holders, list_placements

    names = (one.name for one, _ in zip(iter_collections(tables), range(NAMES_MAX), strict=False))
    return [
        {"collection": str(name), "places": list_placements(tables, name, document_id)}
        for name in iter_holders(tables, names, document_id)
    ]


def format_placements(placements: list[dict[str, Any]]) -> list[tuple[str, object]]:
    """The same for people: collection, then the cluster in each configuration."""
    lines: list[tuple[str, object]] = []
    for one in placements:
        if not one["places"]:
            lines.append((one["collection"], "not grouped yet"))
        for place in one["places"]:
            where = place.name or place.label or f"in no cluster: {place.apart}"
            level = f", level {place.level}" if place.level else ""
            lines.append((one["collection"], f"{where} ({place.conf}{level}, {place.score:.2f})"))
    return lines


CITATIONS_MAX = 100
TEXT_MAX_CHARS = 600
RAW_MAX_CHARS = 200
OTHER_NAMES_MAX = 5


@command("show")
@click.argument("key")
@click.option("--body", is_flag=True, help="Write the file's bytes to standard output.")
@click.option("--text", is_flag=True, help="Write the extracted text to standard output.")
@click.option("--thumbnail", is_flag=True, help="Write the thumbnail's JPEG to standard output.")
def show(app: App, key: str, body: bool, text: bool, thumbnail: bool) -> int:
    """Tell everything about a file: captures, metadata, derivatives, history; or what became of an entry.

    KEY is a SHA-1 in hex or base32 or its first 8 characters, a URL, a story id, a DOI, a file's name, the
    path of a file that was taken in, or an entry's id (`fonds failures --list --json`). The path of a ZIP,
    WARC, index or list shows what came of its records; `pages.zip#a.html` and `crawl.warc.gz:85` are one of
    them. Of a URL that came to nothing it is told what became of it.

    \b
    fonds show 3f786850e387550fdab836ed7e6dc881de23001b
    fonds show https://example.org/paper.pdf
    fonds show 3f786850
    fonds show papers/report.pdf
    fonds show 'pages.zip#a.html'
    fonds show 3f786850e387550fdab836ed7e6dc881de23001b --body > paper.pdf
    """
    if body + text + thumbnail > 1:
        raise click.UsageError("--body, --text and --thumbnail: only one can be written at a time")
    stores = app.open_stores()
    resolved = resolve(stores, key)
    if not resolved.complete:
        print_note(
            f"More than {len(resolved.files):,} captures have this key; these are the first."
        )
    found = _find_descriptions(stores, resolved.files)
    is_written = body or text or thumbnail
    if not found:
        entered = find_entry_histories(stores.records, key)
        if entered.stories and not is_written:
            _print_entries(app, entered)
            return 0
        found = _find_descriptions(stores, [one.sha1hex for one in find_direct_hits(stores, key)])
        found = found or _find_descriptions(stores, files_named(stores.records, key))
        if not found and entered.stories:
            print_note(
                f"{key!r} stands for {_records(entered.total)} and no file; name one of its files"
            )
            return 1
    if not found and not is_written and _print_unkept(app, stores, key):
        return 0
    if not found:
        hint = f"; {short}" if (short := explain_short_key(key)) else ""
        print_note(
            _describe_takedown(stores, key) or f"nothing is known of {key!r} in {app.home}{hint}"
        )
        return 1
    if is_written:
        _print_other_keys(found)
        sys.stdout.buffer.write(_read_bytes(stores, found[0], body=body, text=text))
        sys.stdout.buffer.flush()
    else:
        _print_files(app, stores, found)
    return 0


def _print_files(app: App, stores: Stores, descriptions: Sequence[FileDescription]) -> None:
    for one in descriptions:
        document_id = one.document.id if one.document else one.sha1hex
        grouped = list_cluster_placements(stores, app.load_settings(), document_id)
        if app.is_json:
            echo_json({**_build_json(one), "collections": grouped})
            continue
        for hidden in find_active_embargoes(stores.records, [one.sha1hex]).values():
            until = f"{hidden.until:%Y-%m-%d} ({hidden.reason_class})"
            open_console().print(f"Under embargo until {until}: readers are not shown it.")
        _print(open_console(), one)
        if grouped:
            _print_section(open_console(), "Clusters", format_placements(grouped))


def _describe_takedown(stores: Stores, key: str) -> str | None:
    """What is told of a file that was taken down, the same as at its address; None for any other key."""
    raw = parse_sha1(key)
    for row in find_takedowns(stores.records, [raw.hex()] if raw else []).values():
        why = ReasonClass(row.reason_class).explanation
        return f"{row.sha1hex} was taken down on {row.row_created:%Y-%m-%d} ({row.reason_class}): {why}"
    return None


def _find_descriptions(stores: Stores, sha1hexes: Sequence[str]) -> list[FileDescription]:
    described = (build_description(stores, sha1hex) for sha1hex in sha1hexes)
    return [one for one in described if one.is_known]


def _print_entries(app: App, entered: EntryHistories) -> None:
    urls = {row.url for one in entered.stories for row in one.entries}
    if len(urls) > 1 and not app.is_json:
        _list_entries(entered.stories)
    else:
        for one in entered.stories:
            _print_entry(app, one)
    if (more := entered.total - len(entered.stories)) > 0:
        print_note(f"{more:,} more entered with this address; these are the newest.")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _list_entries(entries: Sequence[EntryHistory]) -> None:
    """Print one paragraph for each record of a file: how it ended, where it lay, and what shows more."""
    screen = open_console()
    for row in (row for one in entries for row in one.entries):
        ended = escape(f"{row.outcome} {row.reason or ''}".rstrip())
        screen.print(f"[bold]{ended}[/bold] {escape(row.url)}", soft_wrap=True)
        if row.detail:
            screen.print(f"   {row.detail}", markup=False, soft_wrap=True)
        screen.print(f"   {row.about or row.entry_id}", style="dim", markup=False)


def _print_unkept(app: App, stores: Stores, key: str) -> bool:
    """Show the refused links with an address, or the entries with a file name; return whether any exist."""
    refused = list_refused_links(stores.records, key)
    for row in refused:
        _print_refused_link(app, row)
    return bool(refused) or _print_named_entries(app, stores, key)


def _print_refused_link(app: App, row: RefusedLinkRow) -> None:
    if app.is_json:
        echo_json(row)
        return
    screen = open_console()
    at = format_time(row.refused_at)
    screen.print(f"{row.url} was not fetched: {row.reason} ({row.detail}).", markup=False)
    screen.print(f"   {row.source_url} listed it, and it was refused {at}.", markup=False)


def _print_named_entries(app: App, stores: Stores, name: str) -> bool:
    """Show what became of the entries with a file's name. Return whether there are any."""
    named, is_complete = find_entries_by_file_name(stores.records, name)
    for one in dict.fromkeys(row.entry_id for row in named):
        if (entry := find_entry_history(stores.records, one)) is not None:
            _print_entry(app, entry)
    if named and not is_complete:
        print_note("These are the first entries with this name; there may be more.")
    return bool(named)


def _print_entry(app: App, entry: EntryHistory) -> None:
    if app.is_json:
        echo_json(entry)
        return
    screen = open_console()
    screen.print(f"[bold]{escape(entry.entry_id)}[/bold]")
    facts: list[tuple[str, object]] = [
        (one.pipeline, f"{one.kind} {one.url} {one.outcome} {one.reason or ''}".rstrip())
        for one in entry.entries
    ]
    _print_section(screen, "Entered", facts)
    heading = _format_heading("History", len(entry.branches), entry.total)
    _print_section(screen, heading, _format_branches(entry.branches))


def _format_branches(branches: Sequence[MessageBranch]) -> list[tuple[str, object]]:
    """Each message below the one it was made of."""
    return [
        (
            f"{one.row.settled_at or one.row.promised_at:%Y-%m-%d %H:%M:%S}",
            f"{'  ' * one.depth}{one.row.step} {one.row.verdict} {one.row.reason or ''} {one.row.detail}"
            f"{_format_next_attempt(one.row)}",
        )
        for one in branches
    ]


def _format_next_attempt(row: DispositionRow) -> str:
    at = row.next_attempt_at
    return f"; next attempt {format_time(at)}" if row.is_open and at is not None else ""


def _print_other_keys(descriptions: Sequence[FileDescription]) -> None:
    """Of several files behind one key the first is written, and the others are named."""
    others = [one.sha1hex for one in descriptions[1:]]
    if others:
        among = ", ".join(others[:OTHER_NAMES_MAX]) + (", …" if others[OTHER_NAMES_MAX:] else "")
        print_note(
            f"{len(descriptions):,} files have this key: this is"
            f" {descriptions[0].sha1hex}; the others: {among}"
        )


def _read_bytes(stores: Stores, description: FileDescription, *, body: bool, text: bool) -> bytes:
    """The body, text or thumbnail. Raises ConfigurationError when there is none."""
    if body:
        return read_body(stores, description)
    key = description.text_key if text else description.thumbnail_key
    data = stores.blobs.get(key) if key else None
    if data is None:
        raise ConfigurationError(f"{description.sha1hex} has no {'text' if text else 'thumbnail'}")
    return data


def _build_json(description: FileDescription) -> dict[str, Any]:
    rows = {name: encode_row(row) for name, row in description.derivatives.items()}
    whole: dict[str, Any] = msgspec.to_builtins(replace(description, derivatives={}), enc_hook=str)
    return {**whole, "derivatives": msgspec.to_builtins(rows, enc_hook=str)}


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
                (f"{c.datetime} {c.url}", record_place(c.warc_path, c.warc_offset))
                for c in description.captures
            ],
        ),
        (
            "Entered from",
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
            "Searched",
            [("as the version", description.searched)]
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
                (f"{n}", _format_citation(each))
                for n, each in enumerate(description.citations[:CITATIONS_MAX], 1)
            ],
        ),
        ("Derivatives", [(name, key) for name, key in _build_derivatives(description) if key]),
        ("Text", _format_text(description)),
    ]


def _format_rights(description: FileDescription) -> list[tuple[str, object]]:
    """What the file states, then what its captures state; and that nothing is."""
    if description.file is None:
        return []
    rows = list(_iter_statements(description.rights.statements))
    for group in description.rights.captures:
        first, *others = group.captures
        times = f" and {len(others):,} more" if others else ""
        rows.append(("captured", f"{first.datetime or first.capture_id}{times}"))
        if group.robots:
            rows.append(("robots.txt", f"{group.robots.url} {describe_robots(group.robots)}"))
        if group.tdmrep:
            rows.append(("tdmrep.json", f"{group.tdmrep.url} {describe_tdmrep(group.tdmrep)}"))
        rows += _iter_statements(group.statements)
    if not description.rights.is_complete:
        rows.append(("not shown", "what earlier captures state"))
    return [*rows, ("", NO_RIGHTS_MESSAGE if description.rights.is_silent else RECORDED)]


def _iter_statements(statements: Sequence[Statement]) -> Iterator[tuple[str, object]]:
    for title, one in iter_by_subject(statements):
        raw = "" if one.raw == one.value else f": {_shorten(one.raw)}"
        yield title.lower(), f"{one.value} ({describe_source(one)}{raw})"


def _format_text(description: FileDescription) -> list[tuple[str, object]]:
    """The beginning of the text, or why there is none."""
    if description.document and description.document.text_content.strip():
        return [("", _format_excerpt(description))]
    return [("none", reason.explanation) for reason in description.textless_reasons]


def _format_citation(reference: CitedReference) -> str:
    """A reference, and the work it was matched with."""
    return (
        f"{reference.reference} → {reference.work} ({reference.status})"
        if reference.work
        else reference.reference
    )


def _build_relatives(description: FileDescription) -> list[tuple[str, list[tuple[str, object]]]]:
    """Other versions of the story, and what is nearly the same elsewhere."""
    found = description.relatives
    return [
        (
            _format_heading(name, len(some), total),
            [
                (f"{each.captured} {_format_relation(each)}", f"{each.sha1hex} {each.url}")
                for each in some
            ],
        )
        for name, some, total in (
            ("Versions", found.versions, found.versions_total),
            ("Near-duplicates", found.near_duplicates, found.near_duplicates_total),
        )
    ]


def _format_relation(related: RelatedFile) -> str:
    """How another text stands to the one that is shown."""
    if related.same_text:
        return "same text"
    return "changed text" if related.resemblance is None else f"{related.resemblance:.2f} alike"


def _format_heading(name: str, shown_count: int, total: int) -> str:
    return name if shown_count == total else f"{name} (the first {shown_count:,} of {total:,})"


def _build_facts(kind: DerivativeKind, description: FileDescription) -> list[tuple[str, object]]:
    """What is known of a derivative; what the file or its server claims says so."""
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
