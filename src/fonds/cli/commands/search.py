"""`fonds search`: find documents by their words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache, partial
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from fonds.cli.context import App, command, console, echo_json, say
from fonds.cli.names import DAY, Name
from fonds.collections.tables import Tables
from fonds.library.searching.best_match import best_match_if_none
from fonds.library.searching.collapsed import separate
from fonds.library.searching.direct import Direct, direct, readings
from fonds.library.searching.earlier_versions import earlier_note
from fonds.library.searching.themes import ThemeCounts, theme_counts
from fonds.library.searching.unread import asks_for_no_text, unread_note
from fonds.model.capture import from_datetime14
from fonds.model.document import (
    DateKind,
    DateOf,
    Hit,
    Match,
    SearchQuery,
    SearchResults,
    Snippet,
    VersionHit,
)
from fonds.model.file import SEARCHED_KINDS, Kind
from fonds.model.names import alternatives
from fonds.model.numbers import how_many
from fonds.model.query_error import QueryError
from fonds.ports import Index, Stores
from fonds.wiring.backends import asks_for_versions

KINDS = [str(kind) for kind in SEARCHED_KINDS]
DATED = {DateKind.PUBLISHED: "published", DateKind.CREATED: "file made"}
POINTED_BEFORE, POINTED = 30, 60
"""So many characters of a query are shown before its bad token, and from it on."""
NOTHING_YET = "nothing can be searched yet: `fonds ingest PATH…` takes something in"


@command("search")
@click.argument("query", nargs=-1, metavar="QUERY")
@click.option(
    "--kind",
    multiple=True,
    type=Name("kind", KINDS),
    metavar="KIND",
    help=f"{alternatives(KINDS)}.",
)
@click.option(
    "--language", multiple=True, metavar="CODE", help="Two letters, such as en; none for without."
)
@click.option("--domain", multiple=True, metavar="DOMAIN", help="none for without.")
@click.option("--collection", multiple=True, metavar="NAME")
@click.option(
    "--from", "date_from", type=DAY, metavar="YYYY-MM-DD", help="Dated on this day or later."
)
@click.option(
    "--to", "date_to", type=DAY, metavar="YYYY-MM-DD", help="Dated on this day or earlier."
)
@click.option("--undated", is_flag=True, help="Only documents without a date.")
@click.option(
    "--dates",
    type=Name("kind of date", list(DateOf)),
    default=DateOf.PUBLISHED.value,
    show_default=True,
    help="The dates meant by --from, --to, --undated and --sort newest and oldest.",
)
@click.option("--sort", type=Name("order", ["score", "newest", "oldest", "added"]), default="score")
@click.option(
    "--themes-of",
    metavar="NAMESPACE/KEY",
    help="Count the results by the themes of this collection.",
)
@click.option(
    "--as-of",
    type=DAY,
    metavar="YYYY-MM-DD",
    help="Tell what this search found at the end of that day, in UTC, and why it finds others now.",
)
@click.option(
    "--match",
    type=Name("kind of match", list(Match)),
    help="exact: documents with all words; best: documents with any of them, ranked. The default is exact,"
    " and best when exact finds nothing.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.option("--offset", type=click.IntRange(0, 10_000), default=0)
def search(app: App, query: tuple[str, ...], **filters: Any) -> int:
    """Find documents: words in any form, "a phrase", =exactly, -without, this OR that, title:word.

    The date of a story is that of its publication, the date of a PDF that of its creation, as they state
    it. A URL, SHA-1 (or its first 8 characters), story id, DOI or file name leads to its file first. Exit
    code 0 also when nothing was found; what of the question no document has is told then. When no document
    has all words, the results are a best match: documents with any of the words, ranked. With
    --json one object a line, `direct` for what the words name, `themes` for the counts of --themes-of. How
    many more there are is told on standard error. With --as-of the sums of what was found then and is found
    now, and of each sort that is not as it was --limit documents.

    \b
    fonds search flood defence --kind story --language en
    fonds search '"high water" -insurance' --from 2024-01-01 --to 2024-06-30
    fonds search flood --dates added --from 2026-11-01
    fonds search --undated --json
    fonds search 'theme:"flood, river"' --themes-of news/2026-11
    fonds search flood --as-of 2026-10-31
    """
    asked = _query(query, filters)
    if filters["as_of"] is not None:
        return _as_of(app, asked, filters)
    themes_of: str | None = filters["themes_of"]
    needs_records = (
        readings(asked.text)
        or themes_of
        or asks_for_no_text(asked.text)
        or asks_for_versions(asked.text)
    )
    stores = app.stores() if needs_records else None
    index = stores.index if stores else app.index()
    named = cache(lambda: direct(stores, asked.text) if stores else [])
    find = partial(separate, index)
    try:
        found = (
            best_match_if_none(find, asked, lambda: bool(named()))
            if filters["match"] is None
            else find(asked)
        )
        results, things = found.found, named()
        matched = replace(asked, match=results.match)
        counts = _themes(app, stores, themes_of, matched) if stores and themes_of else None
    except QueryError as error:
        raise click.UsageError(_pointed(asked.text, error)) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    text = " ".join(query)
    exact = _command(app, text, filters, ("--match", "exact"))
    _tell(app, things, results, asked, exact)
    if counts is not None:
        _tell_themes(app, counts)
    in_versions = _command(app, results.earlier_text or text, filters)
    _say_beside(index, results, asked, things, in_versions)
    if stores and (note := unread_note(stores.records, asked.text)):
        say(note)
    return 0


def _command(app: App, text: str, filters: dict[str, Any], more: Sequence[str] = ()) -> str:
    """Return the command line of a search for this text with the same filters, and these options."""
    options = [*more]
    for name in ("kind", "language", "domain", "collection"):
        options += [part for value in filters[name] for part in (f"--{name}", value)]
    for name in ("date_from", "date_to"):
        day = _day(filters[name])
        options += [f"--{name.removeprefix('date_')}", day.isoformat()] if day else []
    options += ["--undated"] if filters["undated"] else []
    if filters["dates"] != DateOf.PUBLISHED:
        options += ["--dates", filters["dates"]]
    if filters["sort"] != "score":
        options += ["--sort", filters["sort"]]
    # A word that begins with a dash excludes; after two dashes it is no option.
    return app.told(shlex.join(["search", *options, "--", text]))


def _tell(
    app: App,
    things: Sequence[Direct],
    results: SearchResults,
    asked: SearchQuery,
    exact_command: str,
) -> None:
    if app.json:
        for thing in things:
            echo_json({"direct": thing})
        if results.earlier_text is not None and not things:
            count, text = results.earlier_count, results.earlier_text
            echo_json({"earlier": {"count": count, "query": text}})
        for hit in results.hits:
            echo_json({**_as_json(hit), "match": results.match, "generation": results.generation})
        return
    _print_direct(app, things)
    if results.total or not things:
        _print(app, results, asked, exact_command)


def _as_of(app: App, asked: SearchQuery, filters: dict[str, Any]) -> int:
    from fonds.cli.working.as_of_told import tell_as_of
    from fonds.library.searching.since.as_of import WITHOUT_VERSIONS, checked_day

    if asks_for_versions(asked.text):
        raise click.UsageError(WITHOUT_VERSIONS)
    if filters["themes_of"] or asked.offset or asked.sort != "score":
        raise click.UsageError("--as-of goes without --themes-of, --sort and --offset")
    try:
        day = checked_day(_day(filters["as_of"]), datetime.now(UTC).date())
        tell_as_of(app, asked, day)
    except QueryError as error:
        raise click.UsageError(_pointed(asked.text, error)) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return 0


def _themes(app: App, stores: Stores, themes_of: str, asked: SearchQuery) -> ThemeCounts:
    tables = Tables(stores.table, app.settings().collections.prefix)
    return theme_counts(stores.index, tables, themes_of, asked)


def _tell_themes(app: App, counts: ThemeCounts) -> None:
    if app.json:
        echo_json({"themes": counts})
    else:
        screen = console()
        screen.print(f"\n[bold]Themes of {escape(counts.collection)}[/bold]")
        for label, count in counts.themes:
            screen.print(f"{count:>9,}  {escape(label)}")
    say(f"{counts.apart:,} in no theme, {counts.outside:,} not in {counts.collection}")
    if counts.looked_at < counts.total:
        say(f"counted of the first {counts.looked_at:,} of {counts.total:,}, in the order of ids")


def _print_direct(app: App, things: Sequence[Direct]) -> None:
    screen = console()
    for thing in things:
        title = escape(thing.title or thing.url or thing.sha1hex)
        screen.print(
            f"[bold]{title}[/bold]\n   [dim]has this {thing.named}: {_show(app, thing.sha1hex)}[/dim]\n"
        )


def _pointed(text: str, error: QueryError) -> str:
    """What is wrong, and below it the query with the bad token pointed at."""
    if not error.end or not text.isprintable():
        return str(error)
    start = max(0, error.start - POINTED_BEFORE)
    marks = " " * (error.start - start) + "^" * min(error.end - error.start, POINTED)
    return f"{error}\n  {text[start : error.start + POINTED]}\n  {marks}"


def _say_beside(
    index: Index,
    results: SearchResults,
    asked: SearchQuery,
    things: Sequence[object],
    versions_command: str,
) -> None:
    """What is said beside the results: that there are more, or nothing that could be found yet."""
    is_empty = not (results.total or things) and index.count() == 0
    # Words that name a thing are in no document, as a rule.
    notes = () if things else [*results.notes, *_earlier(results, versions_command)]
    for note in [NOTHING_YET] if is_empty else [*notes, *_rest(results, asked)]:
        say(note)


def _earlier(results: SearchResults, versions_command: str) -> Iterator[str]:
    if (note := earlier_note(results)) is not None:
        yield f"{note}; to list them: {versions_command}"


def _print(app: App, results: SearchResults, asked: SearchQuery, exact_command: str) -> None:
    screen, first = console(), asked.offset + 1
    if results.match is Match.BEST and results.total:
        screen.print("[bold]Best match[/bold]: documents with any of these words, ranked.")
        screen.print(f"Only documents with all of them: {escape(exact_command)}")
    if not results.total:
        screen.print("Nothing found.")
    elif results.hits:
        last = asked.offset + len(results.hits)
        screen.print(f"{results.total:,} found, {first:,} to {last:,}:")
    for number, hit in enumerate(results.hits, first):
        _print_hit(app, screen, number, hit)


def _rest(results: SearchResults, asked: SearchQuery) -> Iterator[str]:
    """What is told of results that are not shown."""
    shown, last = len(results.hits), asked.offset + len(results.hits)
    if results.total and not shown:
        yield f"{results.total:,} found, and none of them stands behind the first {asked.offset:,}."
    elif last < results.total:
        yield f"{shown:,} of {results.total:,} shown; the next: --offset {last}"


def _query(words: tuple[str, ...], filters: dict[str, Any]) -> SearchQuery:
    return SearchQuery(
        text=" ".join(words),
        kinds=[Kind(kind) for kind in filters["kind"]],
        languages=filters["language"],
        domains=filters["domain"],
        collections=filters["collection"],
        date_from=_day(filters["date_from"]),
        date_to=_day(filters["date_to"]),
        undated=filters["undated"],
        dates=DateOf(filters["dates"]),
        sort=filters["sort"],
        offset=filters["offset"],
        count_max=filters["limit"],
        match=Match(filters["match"] or Match.EXACT),
    )


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None


def _as_json(hit: Hit) -> dict[str, Any]:
    document = hit.document
    return {
        "id": document.id,
        "kind": document.kind,
        "url": document.url,
        "title": document.article_title,
        "score": round(hit.score, 4),
        "has_thumbnail": document.has_thumbnail,
        "title_marks": hit.title_marks,
        "sha1hex": document.sha1hex,
        "publication_date": document.publication_date,
        "language": document.language,
        "canonical_domain": document.canonical_domain,
        "collection": document.collection,
        "page_count": document.page_count,
        "word_count": document.word_count,
        "date_kind": document.date_kind,
        "captured": document.captured,
        "authors": document.authors,
        "doi": document.doi,
        "license": document.licenses,
        "rights_holder": document.holders,
        "preferences": document.prefers,
        "indexed_date": document.indexed_date,
        "snippet": hit.snippet.text,
        "snippets": hit.snippets,
        "version": hit.version,
    }


def _print_hit(app: App, screen: Console, number: int, hit: Hit) -> None:
    document = hit.document
    title = escape(document.article_title or document.url)
    day = document.publication_date.isoformat() if document.publication_date else "undated"
    if document.date_kind:
        day = f"{DATED[document.date_kind]} {day}"
    pages = f", {how_many(document.page_count, 'page')}" if document.page_count else ""
    screen.print(f"\n[bold]{number}. {title}[/bold]")
    screen.print(f"   [dim]{document.kind}{pages}, {day}, {document.language or '?'}[/dim]")
    if hit.version:
        _print_version(app, screen, hit.version)
    for one in hit.snippets if not hit.version else ():
        page = f"[dim]page {one.page}:[/dim] " if one.page else ""
        _print_wrapped(screen, f"{page}{_marked(one)}")
    screen.print(f"   [dim]{escape(document.url)}[/dim]")
    screen.print(f"   [dim]{_show(app, document.sha1hex)}[/dim]")


def _print_version(app: App, screen: Console, version: VersionHit) -> None:
    if version.sha1hex is None or version.captured is None:
        screen.print("   only in an earlier version")
        return
    captured = f"{from_datetime14(version.captured):%Y-%m-%d %H:%M}"
    screen.print(
        f"   only in the version captured {captured}: [dim]{_show(app, version.sha1hex)}[/dim]"
    )
    if version.title_marks:
        _print_wrapped(
            screen, f"headline: {_marked(Snippet(version.title or '', version.title_marks))}"
        )
    for one in version.snippets:
        _print_wrapped(screen, _marked(one))


def _show(app: App, sha1hex: str) -> str:
    return escape(app.told(f"show {sha1hex}"))


def _print_wrapped(screen: Console, text: str) -> None:
    """Lines broken between words on a terminal; elsewhere one, for who reads it cuts it as they like."""
    if screen.is_terminal:
        screen.print(Padding(text, (0, 0, 0, 3)), soft_wrap=False)
    else:
        screen.print(f"   {text}")


def _marked(snippet: Snippet) -> str:
    """The snippet with its matches in bold; everything else is escaped."""
    (text, marks), parts, at = snippet.shown, [], 0
    for start, end in marks:
        parts += [
            escape(text[at:start]),
            "[bold yellow]",
            escape(text[start:end]),
            "[/bold yellow]",
        ]
        at = end
    parts.append(escape(text[at:]))
    return " ".join("".join(parts).split())
