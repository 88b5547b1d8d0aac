"""Derivative kinds: what is computed from files, declared once; one file a kind, and the list of them."""

from collections.abc import Iterator, Sequence

from fonds.kinds.indexed import Indexed
from fonds.kinds.kind import DerivativeKind
from fonds.kinds.papers.bibliography import KIND as BIBLIOGRAPHY
from fonds.kinds.papers.grobid import KIND as GROBID
from fonds.kinds.papers.jats import KIND as JATS
from fonds.kinds.papers.match import KIND as MATCH
from fonds.kinds.pdf import KIND as PDF
from fonds.kinds.similarity.sketch import KIND as SKETCH
from fonds.kinds.story import KIND as STORY
from fonds.kinds.thumbnail import KIND as THUMBNAIL
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


def kinds_with_rows() -> Iterator[DerivativeKind]:
    """The kinds, each table once."""
    seen = set()
    for kind in KINDS:
        if kind.row.TABLE not in seen:
            seen.add(kind.row.TABLE)
            yield kind


def beside(records: Records, sha1hex: str) -> bytes | None:
    """What is written into a WARC beside a body about it, where its kind does that."""
    for kind in kinds_with_rows():
        if kind.beside is not None:
            for row in records.get(kind.row, [sha1hex]):
                return kind.beside(row)
    return None


def indexed_kinds() -> Iterator[tuple[DerivativeKind, Indexed]]:
    """Return the kinds that have documents in the index, each with how its documents are made."""
    for kind in KINDS:
        if kind.indexed is not None:
            yield kind, kind.indexed


def expected_count(records: Records) -> int:
    """Return the maximum number of documents. A story of several versions is one."""
    return sum(records.count(kind.row, where=one.where)[()] for kind, one in indexed_kinds())
