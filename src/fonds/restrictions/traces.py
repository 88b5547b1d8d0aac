"""What there is of one file in all stores, told before it is taken down and asked again afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fonds.derivatives.fixity import get_blob_key
from fonds.derivatives.kinds import indexed_kinds, iter_kinds_with_rows
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import Tables, iter_collection_rows
from fonds.grouping.views.documents import iter_holders
from fonds.model.keys import (
    build_embargoed_blob_key,
    build_tei_blob_key,
    build_text_blob_key,
    build_thumbnail_blob_key,
)
from fonds.model.rows import (
    ROWS,
    CaptureRightsRow,
    CdxRow,
    DispositionRow,
    FileMetaRow,
    FixityRow,
    HostCaptureRow,
    HostFileRow,
    Row,
    TakedownRow,
)
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_rows
from fonds.queues.messages.contracts import list_published_blob_keys
from fonds.restrictions.warc_records import OwnWarc, find_warc_names, list_own_warcs
from fonds.stores.journal_table.keys import build_row_key

_KINDS = tuple(kind.row for kind in iter_kinds_with_rows())
_KINDS_REMOVED_LAST: Sequence[type[Row]] = (*_KINDS, CdxRow, FileMetaRow)
"""Rows others are found by: they are removed behind all others."""
_BY_FILE: Sequence[type[Row]] = (
    *(
        row
        for row in ROWS
        if row not in (*_KINDS_REMOVED_LAST, TakedownRow) and row.KEY[0] == "sha1hex"
    ),
    *(CaptureRightsRow, HostFileRow, HostCaptureRow),
    *_KINDS_REMOVED_LAST,
)


@dataclass(frozen=True, slots=True)
class TakedownTraces:
    """What a takedown removes, counted: `captures` its places in WARCs, those in ours among them in
    `own_records`; `warcs` of ours that are written anew; `rows` other rows by table; `blobs` and `documents`
    by their keys; `table_rows` of the journal; `collections` that have it; `books` messages whose endings
    stay and name it no more, `under_way` those that have not ended."""

    sha1hex: str
    captures: int
    own_records: int
    warcs: Sequence[OwnWarc]
    rows: dict[str, int]
    blobs: Sequence[str]
    table_rows: int
    documents: Sequence[str]
    collections: Sequence[str]
    books: int
    under_way: int

    @property
    def has_any(self) -> bool:
        """Whether anything is to be removed, but for records in WARCs of ours."""
        counted = (self.captures, self.rows, self.blobs, self.table_rows, self.documents)
        return bool(any(counted) or self.collections or self.books)


def find_traces(stores: Stores, tables: Tables | None, sha1hex: str) -> TakedownTraces:
    """Look into every store."""
    records = stores.records
    counts = Counter(row.TABLE for row in iter_file_rows(records, sha1hex))
    captures = counts.pop(CdxRow.TABLE, 0)
    documents = list_document_ids(records, sha1hex)
    about = {"about": sha1hex}
    captured = records.find(CdxRow, {"sha1hex": sha1hex})
    names = sorted(find_warc_names(stores, sha1hex))
    return TakedownTraces(
        sha1hex=sha1hex,
        captures=captures,
        own_records=sum("/" not in row.warc_path for row in captured),
        warcs=list_own_warcs(stores.archive, names, sha1hex),
        rows=dict(counts),
        blobs=sorted(stores.blobs.filter_existing(list_blob_keys(records, sha1hex))),
        table_rows=sum(1 for _ in iter_rows(stores.table, stores.journal, build_row_key(sha1hex))),
        documents=sorted(stores.index.get(documents)),
        collections=[str(name) for name in find_holding_collections(tables, documents)],
        books=records.count(DispositionRow, (), about)[()],
        under_way=records.count(DispositionRow, (), {**about, "is_open": True})[()],
    )


def iter_file_rows(records: Records, sha1hex: str) -> Iterator[Any]:
    """All rows about a file, streamed, in the order they are removed in: first those of other tables that a
    derivative's row promises, last those that others are found by."""
    for kind in iter_kinds_with_rows():
        for row in records.get(kind.row, [sha1hex]):
            yield from _iter_existing(records, kind.build_rows(row))
    for table in _BY_FILE:
        yield from records.find(table, {"sha1hex": sha1hex})


def _iter_existing(records: Records, rows: Sequence[Any]) -> Iterator[Any]:
    """Those of these rows that there are."""
    for table in dict.fromkeys(type(row) for row in rows):
        keys = [build_key(row) for row in rows if type(row) is table]
        yield from records.get(table, keys)


def build_key(row: Any) -> Any:
    """The key of a row, as the records take it."""
    values = tuple(getattr(row, name) for name in row.KEY)
    return values[0] if len(values) == 1 else values


def list_blob_keys(records: Records, sha1hex: str) -> list[str]:
    """The keys a file's blobs may have: what its rows promise, what fixity names, the usual ones,
    and those that messages on public topics refer to."""
    found = [
        build_text_blob_key(sha1hex),
        build_tei_blob_key(sha1hex),
        build_thumbnail_blob_key(sha1hex),
    ]
    found += [build_embargoed_blob_key(sha1hex), *list_published_blob_keys(sha1hex)]
    for kind in iter_kinds_with_rows():
        found += [key for row in records.get(kind.row, [sha1hex]) for key in kind.list_blobs(row)]
    fixities = records.find(FixityRow, {"sha1hex": sha1hex})
    found += [key for one in fixities if (key := get_blob_key(one)) is not None]
    return list(dict.fromkeys(found))


def list_document_ids(records: Records, sha1hex: str) -> list[str]:
    """The ids of documents that hold this file. Of a story that is shown by another version there is none."""
    found = [sha1hex]
    for kind, one in indexed_kinds():
        ids = [one.get_id(row) for row in records.find(kind.row, {"sha1hex": sha1hex})]
        shown = one.load_current(records, ids) if ids else {}
        found += [id_ for id_ in ids if id_ not in shown or shown[id_].row.sha1hex == sha1hex]
    return list(dict.fromkeys(found))


def list_story_ids(records: Records, sha1hex: str) -> list[str]:
    """The ids of all documents this file is a version of, whichever version shows them."""
    return [
        one.get_id(row)
        for kind, one in indexed_kinds()
        for row in records.find(kind.row, {"sha1hex": sha1hex})
    ]


def find_holding_collections(
    tables: Tables | None, documents: Sequence[str]
) -> list[CollectionName]:
    """The collections that have one of these documents."""
    if tables is None:
        return []
    names = [name for name, _ in iter_collection_rows(tables)]
    return list(
        dict.fromkeys(name for id_ in documents for name in iter_holders(tables, names, id_))
    )
