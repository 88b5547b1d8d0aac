"""Iterators over the rows of a wide table, page by page, with one page in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
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
    """Yield the rows of a table whose keys have a prefix, in key order, in pages of `page_rows`
    rows.

    - `after`: key after which to start; None to start at the first key.
    - `columns`: columns or families to read; None reads all.

    A page is never empty. Each page is read after the caller has processed the previous page, and
    starts after the last key of that page. So a row that is written or deleted during the iteration
    counts if its key is not reached yet. No row is returned twice. The iteration ends at the first
    empty page, because a backend may return fewer rows than requested. Raises what `Table.scan`
    raises.
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
    """Yield the rows of a table whose keys have a prefix, one by one, in key order.

    The rows are read in pages of `page_rows` rows. `after`: key after which to start; None to start
    at the first key.
    """
    for page in iter_pages(store, table, prefix, after=after, columns=columns, page_rows=page_rows):
        yield from page


CHUNK = 500
T = TypeVar("T")


def iter_chunks(rows: Iterator[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Yield all rows of an iterator in lists of `size`; the last list may be shorter.

    So a caller can send one request for many rows, and memory use stays constant.
    """
    while chunk := list(islice(rows, size)):
        yield chunk
