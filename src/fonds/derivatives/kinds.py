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
"""Every kind, in display order. Of several kinds in one row, the first reports it."""


def iter_kinds_with_rows() -> Iterator[DerivativeKind]:
    """Yield the kinds, one for each table."""
    tables = set()
    for kind in KINDS:
        if kind.row.TABLE not in tables:
            tables.add(kind.row.TABLE)
            yield kind


def find_warc_metadata(records: Records, sha1hex: str) -> bytes | None:
    """Return the metadata to archive with a body, from the first kind that has a row and writes
    any.
    """
    for kind in iter_kinds_with_rows():
        if kind.build_warc_metadata is not None:
            for row in records.get(kind.row, [sha1hex]):
                return kind.build_warc_metadata(row)
    return None


def indexed_kinds() -> Iterator[tuple[DerivativeKind, IndexedKind]]:
    """Yield the kinds with index documents, each with how these are built."""
    for kind in KINDS:
        if kind.indexed is not None:
            yield kind, kind.indexed


def count_expected(records: Records) -> int:
    """Return the maximum number of documents. A story with several versions counts once per
    version.
    """
    return sum(
        records.count(kind.row, where=indexed.row_filter)[()] for kind, indexed in indexed_kinds()
    )
