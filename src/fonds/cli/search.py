"""`fonds search`: find documents by their words, or compare results with an earlier day."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta, structs
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.names import DAY
from fonds.cli.search_as_of import AsOfAnswer, print_as_of
from fonds.cli.search_options import build_request, format_options, search_options
from fonds.grouping.tables import Tables
from fonds.model.capture import parse_datetime14
from fonds.model.document import DateKind
from fonds.model.encoding import pluralize
from fonds.model.search import (
    Hit,
    MatchMode,
    QueryError,
    SearchQuery,
    SearchResults,
    Snippet,
    ThemeCounts,
    VersionHit,
)
from fonds.ports import Index, Stores
from fonds.search.changed_document import ChangedDocument
from fonds.search.direct_hits import DirectHit
from fonds.search.earlier_versions import build_earlier_note
from fonds.search.hits import EarlierVersionHits, SearchHit, build_search_hit
from fonds.search.request import FILTERS, SearchRequest
from fonds.search.run_search import needs_stores, run_search
from fonds.search.unread_files import describe_unread

DATED = {DateKind.PUBLISHED: "published", DateKind.CREATED: "file created"}
CONTEXT_BEFORE_CHARS, POINTED = 30, 60
"""Characters of an invalid query shown before its invalid token, and from the token's start on."""
EMPTY_INDEX_MESSAGE = (
    "The library has no searchable documents yet. Run `fonds ingest PATH…` to add files."
)


class DirectAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a file that the query names, such as by its URL or SHA-1."""

    direct: Annotated[
        DirectHit,
        Meta(description="the file; `named` is how the query names it: url, sha1, …"),
    ]


SearchAnswer = define_answer(
    "SearchAnswer",
    SearchHit,
    omit=("snippet_marks", "themes", "near_duplicate_of", "alike"),
    match=Annotated[
        MatchMode,
        Meta(description="exact: all words match; best: any of the words match"),
    ],
    generation=Annotated[
        str | None,
        Meta(description="generation of the index, the same for all results; null if unknown"),
    ],
)
"""JSON answer: one document that a search found."""


class EarlierAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of stories that match a search only in an earlier version."""

    earlier: Annotated[
        EarlierVersionHits,
        Meta(description="number of these stories, and the query that finds them"),
    ]


class ThemesAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of results of a search by theme."""

    themes: Annotated[
        ThemeCounts,
        Meta(
            description="number of documents by theme of a collection; `unclustered` are in no theme and "
            "`outside` are not in the collection; only the first `looked_at` of `total` were counted"
        ),
    ]


@command(
    "search",
    answers={
        "one for each file that the query names": DirectAnswer,
        "one, if only earlier versions of stories match": EarlierAnswer,
        "one for each result": SearchAnswer,
        "first, with --as-of": AsOfAnswer,
        "with --as-of, up to --limit for each kind of change": ChangedDocument,
        "last, with --themes-of": ThemesAnswer,
    },
)
@click.argument("query", nargs=-1, metavar="QUERY")
@search_options(*FILTERS[1:], "sort")
@click.option(
    "--themes-of",
    metavar="NAMESPACE/KEY",
    help="Count the results by the themes of this collection.",
)
@click.option(
    "--as-of",
    type=DAY,
    metavar="YYYY-MM-DD",
    help="Show what this search found at the end of that day (UTC), and why the results differ now.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.option("--offset", type=click.IntRange(0, 10_000), default=0)
def search(app: App, query: tuple[str, ...], **options: Any) -> int:
    """Find documents: words in any form, "a phrase", =exactly, -without, this OR that, title:word.

    The date of a story is its stated publication date, and the date of a PDF its stated creation
    date. A URL, SHA-1 (or its first 8 characters), story id, DOI or file name finds its file first.
    If no document has all words, the results are a best match: documents with any of the words,
    ranked.

    Notes on standard error give the number of further results, and the words and filters that no
    document has. The exit code is 0 even if nothing is found.

    With --json, each line is one object: `direct` is a file that the query names, and `themes` has
    the counts of --themes-of. With --as-of, show the number of documents found then and now, and up
    to --limit documents for each kind of change.

    \b
    fonds search flood defence --kind story --language en
    fonds search '"high water" -insurance' --from 2024-01-01 --to 2024-06-30
    fonds search flood --dates added --from 2026-11-01
    fonds search --undated --json
    fonds search 'theme:"flood, river"' --themes-of news/2026-11
    fonds search flood --as-of 2026-10-31
    """
    request = build_request(
        query, options, themes=options["themes_of"] or "", size=str(options["limit"])
    )
    try:
        if options["as_of"] is not None:
            _compare_with_day(app, request, options)
        else:
            _find(app, request, options)
    except QueryError as error:
        raise click.UsageError(_format_query_error(request.q, error)) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return 0


def _compare_with_day(app: App, request: SearchRequest, options: dict[str, Any]) -> None:
    if request.themes or options["offset"] or request.sort != "score":
        raise click.UsageError("--as-of cannot be combined with --themes-of, --sort or --offset.")
    print_as_of(app, request, options["as_of"])


def _find(app: App, request: SearchRequest, options: dict[str, Any]) -> None:
    stores = app.open_stores() if needs_stores(request) else None
    index = stores.index if stores else app.open_index()
    tables = _open_tables(app, stores) if stores and request.themes else None
    answer = run_search(request, index, stores, tables, offset=options["offset"])
    results, direct_hits, search_query = answer.results, answer.direct_hits, answer.query
    exact = _build_command(app, structs.replace(request, match="exact"), request.q)
    _print_results(app, direct_hits, results, search_query, exact)
    if answer.themes is not None:
        _print_themes(app, answer.themes)
    in_versions = _build_command(app, request, results.earlier_text or request.q)
    _print_notes(index, results, search_query, direct_hits, in_versions)
    if stores and (note := describe_unread(stores.records, request.q)):
        print_note(note)


def _build_command(app: App, request: SearchRequest, text: str) -> str:
    """Return the command line of `fonds search` for other search words, with the filters of a
    request.

    - `text`: the search words.
    """
    # A word that starts with a dash excludes; without `--`, click would parse it as an option.
    return app.format_command(shlex.join(["search", *format_options(request), "--", text]))


def _print_results(
    app: App,
    direct_hits: Sequence[DirectHit],
    results: SearchResults,
    query: SearchQuery,
    exact_command: str,
) -> None:
    if app.is_json:
        for direct_hit in direct_hits:
            echo_json(DirectAnswer(direct_hit))
        if results.earlier_text is not None and not direct_hits:
            count, text = results.earlier_count, results.earlier_text
            echo_json(EarlierAnswer(EarlierVersionHits(count, text)))
        for hit in results.hits:
            echo_json(
                build_answer(
                    SearchAnswer,
                    build_search_hit(hit),
                    score=round(hit.score, 4),
                    match=results.match,
                    generation=results.generation,
                )
            )
        return
    _print_direct(app, direct_hits)
    if results.total or not direct_hits:
        _print(app, results, query, exact_command)


def _open_tables(app: App, stores: Stores) -> Tables:
    return Tables(stores.table, app.load_settings().collections.prefix)


def _print_themes(app: App, counts: ThemeCounts) -> None:
    if app.is_json:
        echo_json(ThemesAnswer(counts))
    else:
        screen = open_console()
        screen.print(f"\n[bold]Themes of {escape(counts.collection)}[/bold]")
        for label, count in counts.themes:
            screen.print(f"{count:>9,}  {escape(label)}")
    print_note(
        f"{counts.unclustered:,} without a theme, {counts.outside:,} not in {counts.collection}"
    )
    if counts.looked_at < counts.total:
        print_note(
            f"only the first {counts.looked_at:,} of {counts.total:,} documents, by id, were counted"
        )


def _print_direct(app: App, direct_hits: Sequence[DirectHit]) -> None:
    screen = open_console()
    for direct_hit in direct_hits:
        title = escape(direct_hit.title or direct_hit.url or direct_hit.sha1hex)
        screen.print(
            f"[bold]{title}[/bold]\n   [dim]has this {direct_hit.named}:"
            f" {_format_show_command(app, direct_hit.sha1hex)}[/dim]\n"
        )


def _format_query_error(text: str, error: QueryError) -> str:
    """Return the message of an error in a query, and below it the query with the invalid token
    marked.
    """
    if not error.end or not text.isprintable():
        return str(error)
    start = max(0, error.start - CONTEXT_BEFORE_CHARS)
    marks = " " * (error.start - start) + "^" * min(error.end - error.start, POINTED)
    return f"{error}\n  {text[start : error.start + POINTED]}\n  {marks}"


def _print_notes(
    index: Index,
    results: SearchResults,
    query: SearchQuery,
    items: Sequence[object],
    versions_command: str,
) -> None:
    """Print notes about further results of a search, missing words, or an empty index."""
    is_empty = not (results.total or items) and index.count() == 0
    # A query that names a file usually matches no text.
    notes = () if items else [*results.notes, *_describe_earlier(results, versions_command)]
    for note in [EMPTY_INDEX_MESSAGE] if is_empty else [*notes, *_describe_rest(results, query)]:
        print_note(note)


def _describe_earlier(results: SearchResults, versions_command: str) -> Iterator[str]:
    if (note := build_earlier_note(results)) is not None:
        yield f"{note}; to list them: {versions_command}"


def _print(app: App, results: SearchResults, query: SearchQuery, exact_command: str) -> None:
    screen, first = open_console(), query.offset + 1
    if results.match is MatchMode.BEST and results.total:
        screen.print("[bold]Best match[/bold]: documents with any of these words, ranked.")
        screen.print(f"To require all words: {escape(exact_command)}")
    if not results.total:
        screen.print("Nothing found.")
    elif results.hits:
        last = query.offset + len(results.hits)
        screen.print(f"{results.total:,} found, {first:,} to {last:,}:")
    for number, hit in enumerate(results.hits, first):
        _print_hit(app, screen, number, hit)


def _describe_rest(results: SearchResults, query: SearchQuery) -> Iterator[str]:
    """Yield a note about search results that are not on this page; nothing if there are none."""
    n_shown, last = len(results.hits), query.offset + len(results.hits)
    if results.total and not n_shown:
        yield f"{results.total:,} found; --offset {query.offset} is beyond the last of them"
    elif last < results.total:
        yield f"{n_shown:,} of {results.total:,} shown; for more: --offset {last}"


def _print_hit(app: App, screen: Console, number: int, hit: Hit) -> None:
    document = hit.document
    title = escape(document.article_title or document.url)
    day = document.publication_date.isoformat() if document.publication_date else "undated"
    if document.date_kind:
        day = f"{DATED[document.date_kind]} {day}"
    pages = f", {pluralize(document.page_count, 'page')}" if document.page_count else ""
    screen.print(f"\n[bold]{number}. {title}[/bold]")
    screen.print(f"   [dim]{document.kind}{pages}, {day}, {document.language or '?'}[/dim]")
    if hit.version:
        _print_version(app, screen, hit.version)
    for snippet in hit.snippets if not hit.version else ():
        page = f"[dim]page {snippet.page}:[/dim] " if snippet.page else ""
        _print_wrapped(screen, f"{page}{_format_snippet(snippet)}")
    screen.print(f"   [dim]{escape(document.url)}[/dim]")
    screen.print(f"   [dim]{_format_show_command(app, document.sha1hex)}[/dim]")


def _print_version(app: App, screen: Console, version: VersionHit) -> None:
    if version.sha1hex is None or version.captured is None:
        screen.print("   only in an earlier version")
        return
    moment = f"{parse_datetime14(version.captured):%Y-%m-%d %H:%M}"
    screen.print(
        f"   only in the version captured {moment}: [dim]{_format_show_command(app, version.sha1hex)}[/dim]"
    )
    if version.title_marks:
        _print_wrapped(
            screen,
            f"headline: {_format_snippet(Snippet(version.title or '', version.title_marks))}",
        )
    for snippet in version.snippets:
        _print_wrapped(screen, _format_snippet(snippet))


def _format_show_command(app: App, sha1hex: str) -> str:
    return escape(app.format_command(f"show {sha1hex}"))


def _print_wrapped(screen: Console, text: str) -> None:
    """Print text wrapped between words on a terminal, and on one line elsewhere."""
    if screen.is_terminal:
        screen.print(Padding(text, (0, 0, 0, 3)), soft_wrap=False)
    else:
        screen.print(f"   {text}")


def _format_snippet(snippet: Snippet) -> str:
    """Return a passage of a document with its matches in bold, as markup. Other markup is
    escaped.
    """
    (text, marks), parts, position = snippet.text_with_ellipses, [], 0
    for start, end in marks:
        parts += [
            escape(text[position:start]),
            "[bold yellow]",
            escape(text[start:end]),
            "[/bold yellow]",
        ]
        position = end
    parts.append(escape(text[position:]))
    return " ".join("".join(parts).split())
