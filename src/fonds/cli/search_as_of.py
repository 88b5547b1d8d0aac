"""Output of `fonds search --as-of`: counts, and the documents of each kind of change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from rich.markup import escape

from fonds.cli.context import App, echo_json, open_console, print_note
from fonds.search.query.parser import has_all_versions
from fonds.search.request import SearchRequest
from fonds.search.run_search import resolve_query

if TYPE_CHECKING:
    from fonds.search.as_of import AsOfResult, ChangeSortCount

BOUND = 200_000
VERSIONS_MAX = 20_000


class AsOfAnswer(msgspec.Struct, frozen=True):
    """JSON answer: numbers of documents when a search is compared with an earlier day."""

    day: Annotated[date, Meta(description="the day, in UTC")]
    then: Annotated[
        int, Meta(description="number of documents known to be found at the end of that day")
    ]
    unknown: Annotated[int, Meta(description="number of documents that may have been found then")]
    now: Annotated[int, Meta(description="number of examined documents that are found now")]
    total: Annotated[int, Meta(description="number of all documents that are found now")]
    is_all_found: Annotated[bool, Meta(description="whether all documents found now were examined")]
    is_all_changed: Annotated[
        bool, Meta(description="whether all changes since that day were examined")
    ]
    generation: Annotated[
        str | None,
        Meta(description="generation of the index; null if unknown, or if it changed meanwhile"),
    ]
    sorts: Annotated[
        Mapping[str, int],
        Meta(description="number of documents by kind of change, as in `/api/search/as-of`"),
    ]


def print_as_of(app: App, request: SearchRequest, day: datetime) -> None:
    """Print how the results of a search differ from those at the end of an earlier day (UTC).

    Raises ValueError for an invalid search, the filter `version:all` or a day that is not over yet.
    """
    # Imported here because most searches compare nothing.
    from fonds.search.as_of import NO_VERSIONS_MESSAGE, AsOfContext, validate_day
    from fonds.wiring.index import match_documents

    if has_all_versions(request.q):
        raise ValueError(NO_VERSIONS_MESSAGE)
    past_day = validate_day(day.date(), datetime.now(UTC).date())
    stores = app.open_stores()
    compare = AsOfContext(
        stores.for_readers(), match_documents, stores.records, BOUND, BOUND, VERSIONS_MAX
    )
    result = compare(resolve_query(request, stores.index, stores.records), past_day)
    if app.is_json:
        _print_json(result, request.size)
    else:
        screen = open_console()
        for line in _iter_lines(result, request.size):
            screen.print(line)
    for note in _iter_notes(result):
        print_note(note)


def _print_json(result: AsOfResult, count_max: int) -> None:
    echo_json(
        AsOfAnswer(
            day=result.day,
            then=result.found_then_count,
            unknown=result.unknown_count,
            now=result.found_now_count,
            total=result.total,
            is_all_found=result.has_all_found,
            is_all_changed=result.is_all_changed,
            generation=result.generation,
            sorts={sort_count.name: sort_count.count for sort_count in result.sort_counts},
        )
    )
    for sort_count in result.sort_counts:
        for document in result.listed.get(sort_count.name, [])[:count_max]:
            echo_json(document)


def _iter_lines(result: AsOfResult, count_max: int) -> Iterator[str]:
    unknown_text = f"; unknown for {result.unknown_count:,} more" if result.unknown_count else ""
    yield (
        f"[bold]{result.found_then_count:,}[/bold] found at the end of {result.day}{unknown_text};"
        f" {result.found_now_count:,} now"
    )
    nonzero_counts = [sort_count for sort_count in result.sort_counts if sort_count.count]
    for sort_count in nonzero_counts:
        yield f"  {sort_count.count:>9,}  {sort_count.words} [dim]({_format_sort(sort_count)})[/dim]"
    for sort_count in nonzero_counts:
        if sort_count.name == "unchanged":
            continue
        yield f"\n[bold]{sort_count.words[:1].upper()}{sort_count.words[1:]}[/bold]"
        for document in result.listed[sort_count.name][:count_max]:
            yield escape(f"  {document.id} {document.title[:100]} {document.why}".rstrip())
        if sort_count.count > count_max:
            yield f"  [dim]the first {count_max:,} of {sort_count.count:,}[/dim]"


def _format_sort(sort_count: ChangeSortCount) -> str:
    state_then = {True: "found then", False: "not found then", None: "unknown then"}[
        sort_count.is_found_then
    ]
    return f"{state_then}, {'found now' if sort_count.is_found_now else 'not found now'}"


def _iter_notes(result: AsOfResult) -> Iterator[str]:
    if not result.has_all_found:
        yield (
            f"only the first {result.found_now_count:,} of {result.total:,} documents, by id,"
            " were compared"
        )
    if not result.is_all_changed:
        yield f"more than {BOUND:,} rows changed since that day, so more documents may have been found"
