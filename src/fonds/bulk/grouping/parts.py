"""A collection's documents cut into stretches of its scan, and the rows of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fonds.collections.documents import COLUMNS
from fonds.collections.names import Name
from fonds.collections.tables import DOCUMENTS, Cells, Tables

PART_DOCUMENTS = 4000


@dataclass(frozen=True, slots=True)
class Stretch:
    """The documents behind the row `after`, None for the first, up to the row `last`."""

    number: int
    after: bytes | None
    last: bytes


def stretches(tables: Tables, name: Name, documents: int = PART_DOCUMENTS) -> tuple[Stretch, ...]:
    """All documents of a collection in stretches of about so many; one of no documents where it has none.
    Only ids are read."""
    found: list[Stretch] = []
    after: bytes | None = None
    last, count = name.row, 0
    for row, _ in tables.scan(DOCUMENTS, name.row, ["main:id"]):
        last, count = row, count + 1
        if count == documents:
            found.append(Stretch(len(found), after, last))
            after, count = last, 0
    if count or not found:
        found.append(Stretch(len(found), after, last))
    return tuple(found)


def rows_of(tables: Tables, name: Name, stretch: Stretch) -> Iterator[list[tuple[bytes, Cells]]]:
    """The rows of a stretch, some at a time; those put between them since are with them."""
    for page in tables.pages(DOCUMENTS, name.row, COLUMNS, after=stretch.after):
        yield [(row, cells) for row, cells in page if row <= stretch.last]
        if page[-1][0] >= stretch.last:
            return
