"""List of all derivative kinds."""

from collections.abc import Iterator, Sequence

from fonds.derivatives.bibliography import KIND as BIBLIOGRAPHY
from fonds.derivatives.document_rows import IndexedKind
from fonds.derivatives.grobid import KIND as GROBID
from fonds.derivatives.jats import KIND as JATS
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.match import KIND as MATCH
from fonds.derivatives.pdf import KIND as PDF
from fonds.derivatives.sketch import KIND as SKETCH
from fonds.derivatives.story import KIND as STORY
from fonds.derivatives.thumbnail import KIND as THUMBNAIL
from fonds.model.rows import TallyRow
from fonds.ports import Records

KINDS: Sequence[DerivativeKind] = (
    PDF,
    THUMBNAIL,
    BIBLIOGRAPHY,
    GROBID,
    JATS,
    MATCH,
    STORY,
    SKETCH,
)
"""All derivative kinds, in display order. Reports use the first of several that share a table."""


def iter_kinds_with_rows() -> Iterator[DerivativeKind]:
    """Yield the derivative kinds, but only the first of those that share a table of derivative
    rows.
    """
    tables = set()
    for kind in KINDS:
        if kind.row.TABLE not in tables:
            tables.add(kind.row.TABLE)
            yield kind


def find_warc_metadata(records: Records, sha1hex: str) -> bytes | None:
    """Return the JSON metadata to store in WARC with a body; None if there is none.

    The metadata comes from the first kind that has a row for the file and produces such metadata.
    """
    for kind in iter_kinds_with_rows():
        if kind.build_warc_metadata is not None:
            for row in records.get(kind.row, [sha1hex]):
                return kind.build_warc_metadata(row)
    return None


def indexed_kinds() -> Iterator[tuple[DerivativeKind, IndexedKind]]:
    """Yield the derivative kinds that have index documents, and how these are built."""
    for kind in KINDS:
        if kind.indexed is not None:
            yield kind, kind.indexed


def count_expected(records: Records) -> int:
    """Return the maximum number of index documents.

    A story counts once for each of its versions.
    """
    return sum(
        records.count(kind.row, where=indexed_kind.row_filter)[()]
        for kind, indexed_kind in indexed_kinds()
    )


def count_derivatives(records: Records) -> list[tuple[DerivativeKind, dict[str, int]]]:
    """Return for each derivative kind, such as PDF text, the number of files by status.

    If several kinds share a table, only the first of them is returned.
    """
    table_names = [kind.row.TABLE for kind in iter_kinds_with_rows()]
    by_table: dict[str, list[TallyRow]] = {}
    for row in records.find(TallyRow, {"counted": table_names}):
        by_table.setdefault(row.counted, []).append(row)
    counts = []
    for kind in iter_kinds_with_rows():
        rows = by_table.get(kind.row.TABLE, [])
        rows.sort(key=lambda row: (-row.count, row.first))
        counts.append((kind, {row.first: row.count for row in rows if row.count}))
    return counts
