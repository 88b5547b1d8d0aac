"""`fonds show`: everything known about one file, URL or story."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fonds.cli.collections.places import in_clusters, told
from fonds.cli.context import App, command, console, echo_json, say
from fonds.cli.working.durations import shown_time
from fonds.kinds import kinds_with_rows
from fonds.kinds.embargoes import embargoed
from fonds.kinds.kind import DerivativeKind, Related
from fonds.library.description import Cited, Description, description, read_body, resolve
from fonds.library.reading.rights import (
    NOTHING,
    RECORDED,
    by_subject,
    robots_answer,
    tdmrep_answer,
    where_stated,
)
from fonds.library.searching.direct import direct, too_short
from fonds.library.tracing.lineage import (
    Branch,
    EntryStories,
    EntryStory,
    entries_named,
    files_named,
    lineage,
    stories_of,
    story_of_entry,
)
from fonds.library.tracing.taken_down import taken_down
from fonds.model.errors import ConfigurationError
from fonds.model.keys import sha1_from_text
from fonds.model.record_offset import record_place
from fonds.model.rights import Statement
from fonds.model.rows import DispositionRow, RefusedLinkRow
from fonds.model.takedown import ReasonClass
from fonds.ports import Stores
from fonds.sources.following.refused_links import refused_links

CITATIONS_SHOWN = 100
TEXT_SHOWN_CHARS = 600
RAW_SHOWN_CHARS = 200
OTHERS_NAMED = 5


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
    stores = app.stores()
    resolved = resolve(stores, key)
    if not resolved.complete:
        say(f"More than {len(resolved.files):,} captures have this key; these are the first.")
    found = _known(stores, resolved.files)
    is_written = body or text or thumbnail
    if not found:
        entered = stories_of(stores.records, key)
        if entered.stories and not is_written:
            _tell_entries(app, entered)
            return 0
        found = _known(stores, [one.sha1hex for one in direct(stores, key)])
        found = found or _known(stores, files_named(stores.records, key))
        if not found and entered.stories:
            say(f"{key!r} stands for {_records(entered.total)} and no file; name one of its files")
            return 1
    if not found and not is_written and _tell_elsewhere(app, stores, key):
        return 0
    if not found:
        hint = f"; {short}" if (short := too_short(key)) else ""
        say(_gone(stores, key) or f"nothing is known of {key!r} in {app.home}{hint}")
        return 1
    if is_written:
        _say_others(found)
        sys.stdout.buffer.write(_bytes(stores, found[0], body=body, text=text))
        sys.stdout.buffer.flush()
    else:
        _tell_files(app, stores, found)
    return 0


def _tell_files(app: App, stores: Stores, found: Sequence[Description]) -> None:
    for one in found:
        document_id = one.document.id if one.document else one.sha1hex
        grouped = in_clusters(stores, app.settings(), document_id)
        if app.json:
            echo_json({**_as_json(one), "collections": grouped})
            continue
        for hidden in embargoed(stores.records, [one.sha1hex]).values():
            until = f"{hidden.until:%Y-%m-%d} ({hidden.reason_class})"
            console().print(f"Under embargo until {until}: readers are not shown it.")
        _print(console(), one)
        if grouped:
            _print_section(console(), "Clusters", told(grouped))


def _gone(stores: Stores, key: str) -> str | None:
    """What is told of a file that was taken down, the same as at its address; None for any other key."""
    raw = sha1_from_text(key)
    for row in taken_down(stores.records, [raw.hex()] if raw else []).values():
        why = ReasonClass(row.reason_class).explanation
        return f"{row.sha1hex} was taken down on {row.row_created:%Y-%m-%d} ({row.reason_class}): {why}"
    return None


def _known(stores: Stores, sha1hexes: Sequence[str]) -> list[Description]:
    described = (description(stores, sha1hex) for sha1hex in sha1hexes)
    return [one for one in described if one.known]


def _tell_entries(app: App, entered: EntryStories) -> None:
    urls = {row.url for one in entered.stories for row in one.entries}
    if len(urls) > 1 and not app.json:
        _list_entries(entered.stories)
    else:
        for one in entered.stories:
            _tell_entry(app, one)
    if (more := entered.total - len(entered.stories)) > 0:
        say(f"{more:,} more entered with this address; these are the newest.")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _list_entries(entries: Sequence[EntryStory]) -> None:
    """Print one paragraph for each record of a file: how it ended, where it lay, and what shows more."""
    screen = console()
    for row in (row for one in entries for row in one.entries):
        ended = escape(f"{row.outcome} {row.reason or ''}".rstrip())
        screen.print(f"[bold]{ended}[/bold] {escape(row.url)}", soft_wrap=True)
        if row.detail:
            screen.print(f"   {row.detail}", markup=False, soft_wrap=True)
        screen.print(f"   {row.about or row.entry_id}", style="dim", markup=False)


def _tell_elsewhere(app: App, stores: Stores, key: str) -> bool:
    """Show the refused links with an address, or the entries with a file name; return whether any exist."""
    refused = refused_links(stores.records, key)
    for row in refused:
        _tell_refused(app, row)
    return bool(refused) or _tell_named(app, stores, key)


def _tell_refused(app: App, row: RefusedLinkRow) -> None:
    if app.json:
        echo_json(row)
        return
    screen = console()
    at = shown_time(row.refused_at)
    screen.print(f"{row.url} was not fetched: {row.reason} ({row.detail}).", markup=False)
    screen.print(f"   {row.source_url} listed it, and it was refused {at}.", markup=False)


def _tell_named(app: App, stores: Stores, name: str) -> bool:
    """Show what became of the entries with a file's name. Return whether there are any."""
    named, is_complete = entries_named(stores.records, name)
    for one in dict.fromkeys(row.entry_id for row in named):
        if (entry := story_of_entry(stores.records, one)) is not None:
            _tell_entry(app, entry)
    if named and not is_complete:
        say("These are the first entries with this name; there may be more.")
    return bool(named)


def _tell_entry(app: App, entry: EntryStory) -> None:
    if app.json:
        echo_json(entry)
        return
    screen = console()
    screen.print(f"[bold]{escape(entry.entry_id)}[/bold]")
    facts: list[tuple[str, object]] = [
        (one.pipeline, f"{one.kind} {one.url} {one.outcome} {one.reason or ''}".rstrip())
        for one in entry.entries
    ]
    _print_section(screen, "Entered", facts)
    heading = _heading("History", len(entry.branches), entry.total)
    _print_section(screen, heading, _told(entry.branches))


def _told(branches: Sequence[Branch]) -> list[tuple[str, object]]:
    """Each message below the one it was made of."""
    return [
        (
            f"{one.row.settled_at or one.row.promised_at:%Y-%m-%d %H:%M:%S}",
            f"{'  ' * one.depth}{one.row.step} {one.row.verdict} {one.row.reason or ''} {one.row.detail}"
            f"{_next_attempt(one.row)}",
        )
        for one in branches
    ]


def _next_attempt(row: DispositionRow) -> str:
    at = row.next_attempt_at
    return f"; next attempt {shown_time(at)}" if row.is_open and at is not None else ""


def _say_others(found: Sequence[Description]) -> None:
    """Of several files behind one key the first is written, and the others are named."""
    others = [one.sha1hex for one in found[1:]]
    if others:
        among = ", ".join(others[:OTHERS_NAMED]) + (", …" if others[OTHERS_NAMED:] else "")
        say(f"{len(found):,} files have this key: this is {found[0].sha1hex}; the others: {among}")


def _bytes(stores: Stores, one: Description, *, body: bool, text: bool) -> bytes:
    """The body, text or thumbnail. Raises ConfigurationError when there is none."""
    if body:
        return read_body(stores, one)
    key = one.text_key if text else one.thumbnail_key
    data = stores.blobs.get(key) if key else None
    if data is None:
        raise ConfigurationError(f"{one.sha1hex} has no {'text' if text else 'thumbnail'}")
    return data


def _as_json(one: Description) -> dict[str, Any]:
    whole: dict[str, Any] = msgspec.to_builtins(one, enc_hook=str)
    return whole


def _print(screen: Console, one: Description) -> None:
    screen.print(f"[bold]{escape(one.title or one.sha1hex)}[/bold]")
    for heading, rows in _sections(one):
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


def _sections(one: Description) -> list[tuple[str, list[tuple[str, object]]]]:
    return [
        ("File", _fields(one.file, ("sha1hex", "sha256hex", "md5hex", "size_bytes", "mimetype"))),
        *(
            (kind.title[:1].upper() + kind.title[1:], _facts(kind, one))
            for kind in kinds_with_rows()
        ),
        ("Rights", _rights(one)),
        (
            _heading("Captures", len(one.captures), one.captures_total),
            [
                (f"{c.datetime} {c.url}", record_place(c.warc_path, c.warc_offset))
                for c in one.captures
            ],
        ),
        (
            "Entered from",
            [
                (entry.seen or str(entry.entered_at), entry.place or entry.url)
                for entry in one.entries
            ],
        ),
        (
            _heading("History", len(one.history), one.history_total),
            _told(lineage(one.history)),
        ),
        (
            "Searched",
            [("as the version", one.searched)] if one.searched and not one.document else [],
        ),
        *_relatives(one),
        (
            _heading("References", min(len(one.citations), CITATIONS_SHOWN), one.citations_total),
            [(f"{n}", _cited(each)) for n, each in enumerate(one.citations[:CITATIONS_SHOWN], 1)],
        ),
        ("Derivatives", [(name, key) for name, key in _derivatives(one) if key]),
        ("Text", _text(one)),
    ]


def _rights(one: Description) -> list[tuple[str, object]]:
    """What the file states, then what its captures state; and that nothing is."""
    if one.file is None:
        return []
    rows = list(_stated(one.rights.statements))
    for group in one.rights.captures:
        first, *others = group.captures
        times = f" and {len(others):,} more" if others else ""
        rows.append(("captured", f"{first.datetime or first.capture_id}{times}"))
        if group.robots:
            rows.append(("robots.txt", f"{group.robots.url} {robots_answer(group.robots)}"))
        if group.tdmrep:
            rows.append(("tdmrep.json", f"{group.tdmrep.url} {tdmrep_answer(group.tdmrep)}"))
        rows += _stated(group.statements)
    if not one.rights.is_complete:
        rows.append(("not shown", "what earlier captures state"))
    return [*rows, ("", NOTHING if one.rights.is_silent else RECORDED)]


def _stated(statements: Sequence[Statement]) -> Iterator[tuple[str, object]]:
    for title, one in by_subject(statements):
        raw = "" if one.raw == one.value else f": {_cut(one.raw)}"
        yield title.lower(), f"{one.value} ({where_stated(one)}{raw})"


def _text(one: Description) -> list[tuple[str, object]]:
    """The beginning of the text, or why there is none."""
    if one.document and one.document.text_content.strip():
        return [("", _beginning(one))]
    return [("none", reason.explanation) for reason in one.without_text]


def _cited(one: Cited) -> str:
    """A reference, and the work it was matched with."""
    return f"{one.reference} → {one.work} ({one.status})" if one.work else one.reference


def _relatives(one: Description) -> list[tuple[str, list[tuple[str, object]]]]:
    """Other versions of the story, and what is nearly the same elsewhere."""
    found = one.relatives
    return [
        (
            _heading(name, len(some), total),
            [(f"{each.captured} {_alike(each)}", f"{each.sha1hex} {each.url}") for each in some],
        )
        for name, some, total in (
            ("Versions", found.versions, found.versions_total),
            ("Near-duplicates", found.near_duplicates, found.near_duplicates_total),
        )
    ]


def _alike(one: Related) -> str:
    """How another text stands to the one that is shown."""
    if one.same_text:
        return "same text"
    return "changed text" if one.resemblance is None else f"{one.resemblance:.2f} alike"


def _heading(name: str, shown: int, total: int) -> str:
    return name if shown == total else f"{name} (the first {shown:,} of {total:,})"


def _facts(kind: DerivativeKind, one: Description) -> list[tuple[str, object]]:
    """What is known of a derivative; what the file or its server claims says so."""
    row = one.derivatives.get(kind.name)
    facts = kind.facts(row) if row is not None else ()
    return [
        (f"{fact.name} (claimed)" if fact.claimed else fact.name, fact.value)
        for fact in facts
        if fact.value is not None
    ]


def _fields(row: object | None, names: tuple[str, ...]) -> list[tuple[str, object]]:
    return [] if row is None else [(name, getattr(row, name)) for name in names]


def _derivatives(one: Description) -> list[tuple[str, str | None]]:
    return [("text", one.text_key), ("thumbnail", one.thumbnail_key)]


def _cut(raw: str) -> str:
    return raw if len(raw) <= RAW_SHOWN_CHARS else f"{raw[: RAW_SHOWN_CHARS - 1]}…"


def _beginning(one: Description) -> str:
    text = one.document.text_content if one.document else ""
    return text[:TEXT_SHOWN_CHARS] + ("…" if len(text) > TEXT_SHOWN_CHARS else "")
