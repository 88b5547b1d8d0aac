"""What `fonds search --as-of` tells: sums, and the documents of each sort that is not as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from rich.markup import escape

from fonds.cli.context import App, console, echo_json, say
from fonds.library.searching.since.as_of import Asking, AsOf, SortCount
from fonds.model.document import SearchQuery

BOUND = 200_000
VERSIONS_MAX = 20_000


def tell_as_of(app: App, asked: SearchQuery, day: date) -> None:
    """Raises ValueError with a sentence for a search that cannot be asked."""
    from fonds.wiring.backends import found_among

    stores = app.stores()
    asking = Asking(stores.for_readers(), found_among, stores.records, BOUND, BOUND, VERSIONS_MAX)
    found = asking(asked, day)
    if app.json:
        _as_json(found, asked.count_max)
    else:
        screen = console()
        for line in _lines(found, asked.count_max):
            screen.print(line)
    for note in _notes(found):
        say(note)


def _as_json(found: AsOf, count_max: int) -> None:
    echo_json(
        {
            "day": found.day,
            "then": found.then,
            "unknown": found.unknown,
            "now": found.now,
            "total": found.total,
            "is_all_found": found.is_all_found,
            "is_all_changed": found.is_all_changed,
            "generation": found.generation,
            "sorts": {one.name: one.count for one in found.sorts},
        }
    )
    for one in found.sorts:
        for told in found.listed.get(one.name, [])[:count_max]:
            echo_json(told)


def _lines(found: AsOf, count_max: int) -> Iterator[str]:
    more = f"; of {found.unknown:,} more it is not known" if found.unknown else ""
    yield f"[bold]{found.then:,}[/bold] found at the end of {found.day}{more}; {found.now:,} now"
    counted = [one for one in found.sorts if one.count]
    for one in counted:
        yield f"  {one.count:>9,}  {one.words} [dim]({_when(one)})[/dim]"
    for one in counted:
        if one.name == "unchanged":
            continue
        yield f"\n[bold]{one.words[:1].upper()}{one.words[1:]}[/bold]"
        for told in found.listed[one.name][:count_max]:
            yield escape(f"  {told.id} {told.title[:100]} {told.why}".rstrip())
        if one.count > count_max:
            yield f"  [dim]the first {count_max:,} of {one.count:,}[/dim]"


def _when(one: SortCount) -> str:
    then = {True: "found then", False: "not found then", None: "unknown then"}[one.is_found_then]
    return f"{then}, {'found now' if one.is_found_now else 'not found now'}"


def _notes(found: AsOf) -> Iterator[str]:
    if not found.is_all_found:
        yield f"{found.now:,} of {found.total:,} documents were looked at: the first in the order by id"
    if not found.is_all_changed:
        yield f"more was written since than {BOUND:,} rows: more may have been found then"
