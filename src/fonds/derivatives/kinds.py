"""Derivative kinds: what is computed from files, declared once; one file a kind, and the list of them."""

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
"""Every kind, in the order people see them. Of several that are kept in one row the first tells of it."""


def iter_kinds_with_rows() -> Iterator[DerivativeKind]:
    """The kinds, each table once."""
    seen = set()
    for kind in KINDS:
        if kind.row.TABLE not in seen:
            seen.add(kind.row.TABLE)
            yield kind


def find_warc_metadata(records: Records, sha1hex: str) -> bytes | None:
    """What is written into a WARC beside a body about it, where its kind does that."""
    for kind in iter_kinds_with_rows():
        if kind.build_warc_metadata is not None:
            for row in records.get(kind.row, [sha1hex]):
                return kind.build_warc_metadata(row)
    return None


def indexed_kinds() -> Iterator[tuple[DerivativeKind, IndexedKind]]:
    """Return the kinds that have documents in the index, each with how its documents are made."""
    for kind in KINDS:
        if kind.indexed is not None:
            yield kind, kind.indexed


def count_expected(records: Records) -> int:
    """Return the maximum number of documents. A story of several versions is one."""
    return sum(records.count(kind.row, where=one.row_filter)[()] for kind, one in indexed_kinds())
