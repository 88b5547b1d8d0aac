"""A table walked from its beginning to its end, page by page: one page is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

from fonds.ports.stores import Table

Page = list[tuple[bytes, dict[str, bytes]]]
PAGE_ROWS = 500


def iter_pages(
    store: Table,
    table: str,
    prefix: bytes = b"",
    *,
    after: bytes | None = None,
    columns: Sequence[str] | None = None,
    page_rows: int = PAGE_ROWS,
) -> Iterator[Page]:
    """The rows of a prefix behind the key `after`, in the order of their keys, `page_rows` at once; no page
    is empty.

    Each page is asked for when the one before it was dealt with, behind its last key: rows that are written
    or removed meanwhile are met or not as they lie ahead, and no row is met twice. Only an empty page is the
    end, since a backend may give fewer rows than it was asked for. Raises what `Table.scan` raises.
    """
    while page := store.scan(table, prefix, after=after, count_max=page_rows, columns=columns):
        yield page
        after = page[-1][0]


def iter_rows(
    store: Table,
    table: str,
    prefix: bytes = b"",
    *,
    after: bytes | None = None,
    columns: Sequence[str] | None = None,
    page_rows: int = PAGE_ROWS,
) -> Iterator[tuple[bytes, dict[str, bytes]]]:
    """The rows of `iter_pages`, one by one."""
    for page in iter_pages(store, table, prefix, after=after, columns=columns, page_rows=page_rows):
        yield from page


# Rows some hundred at a time, so that a store is asked about many at once and memory stays flat.


CHUNK = 500
T = TypeVar("T")


def iter_chunks(rows: Iterator[T], size: int = CHUNK) -> Iterator[list[T]]:
    """All rows, so many at a time."""
    while chunk := list(islice(rows, size)):
        yield chunk
