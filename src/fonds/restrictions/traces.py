"""Find the traces of one file in all stores: shown before a takedown, and checked after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from msgspec import Meta

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
"""Types of SQL rows by which a takedown finds other rows. It removes them after all others."""
_BY_FILE: Sequence[type[Row]] = (
    *(
        row
        for row in ROWS
        if row not in (*_KINDS_REMOVED_LAST, TakedownRow) and row.KEY[0] == "sha1hex"
    ),
    *(CaptureRightsRow, HostFileRow, HostCaptureRow),
    *_KINDS_REMOVED_LAST,
)

INPUTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class TakedownTraces:
    """Data about one file that a takedown removes or redacts."""

    sha1hex: Annotated[str, Meta(description="SHA-1 of the file")]
    captures: Annotated[int, Meta(description="number of captures in WARCs")]
    own_records: Annotated[int, Meta(description="number of those in WARCs of this library")]
    warcs: Annotated[Sequence[OwnWarc], Meta(description="WARCs of this library to rewrite")]
    rows: Annotated[dict[str, int], Meta(description="number of other rows, by table")]
    blobs: Annotated[Sequence[str], Meta(description="keys of the blobs")]
    table_rows: Annotated[int, Meta(description="number of rows of the journal table")]
    documents: Annotated[Sequence[str], Meta(description="ids of the documents in the index")]
    collections: Annotated[Sequence[str], Meta(description="collections that contain the file")]
    messages: Annotated[
        int,
        Meta(
            description="number of messages in the ledger about the file; their dispositions are kept"
        ),
    ]
    in_flight: Annotated[int, Meta(description="number of those that have not ended")]
    inputs: Annotated[
        Sequence[str],
        Meta(
            description="paths and URLs of inputs with the file, which a takedown does not change; "
            "the first 1,000"
        ),
    ]

    @property
    def has_any(self) -> bool:
        """Whether any data about the file is left to remove.

        Records in the library's WARCs do not count.
        """
        counted_traces = (self.captures, self.rows, self.blobs, self.table_rows, self.documents)
        return bool(any(counted_traces) or self.collections or self.messages)


def find_traces(stores: Stores, tables: Tables | None, sha1hex: str) -> TakedownTraces:
    """Search every store for data about a file that a takedown removes or redacts."""
    records = stores.records
    counts = Counter(row.TABLE for row in iter_file_rows(records, sha1hex))
    captures = counts.pop(CdxRow.TABLE, 0)
    documents = list_document_ids(records, sha1hex)
    subject_filter = {"about": sha1hex}
    cdx_rows = records.find(CdxRow, {"sha1hex": sha1hex})
    names = sorted(find_warc_names(stores, sha1hex))
    return TakedownTraces(
        sha1hex=sha1hex,
        captures=captures,
        own_records=sum("/" not in row.warc_path for row in cdx_rows),
        warcs=list_own_warcs(stores.archive, names, sha1hex),
        rows=dict(counts),
        blobs=sorted(stores.blobs.filter_existing(list_blob_keys(records, sha1hex))),
        table_rows=sum(1 for _ in iter_rows(stores.table, stores.journal, build_row_key(sha1hex))),
        documents=sorted(stores.index.get(documents)),
        collections=[str(name) for name in find_holding_collections(tables, documents)],
        messages=records.count(DispositionRow, (), subject_filter)[()],
        in_flight=records.count(DispositionRow, (), {**subject_filter, "is_open": True})[()],
        inputs=_list_inputs(records, sha1hex),
    )


def _list_inputs(records: Records, sha1hex: str) -> list[str]:
    """Return the paths and URLs of WARCs by other programs and of loose files with this content."""
    inputs: set[str] = set()
    for row in records.find(CdxRow, {"sha1hex": sha1hex}):
        if "/" in row.warc_path:
            inputs.add(row.warc_path)
        elif row.url.startswith("file:"):
            inputs.add(unquote(urlsplit(row.url).path))
        if len(inputs) >= INPUTS_MAX:
            break
    return sorted(inputs)


def iter_file_rows(records: Records, sha1hex: str) -> Iterator[Any]:
    """Yield all SQL rows about a file, in the order in which a takedown removes them.

    Rows that belong to derivatives of the file, such as its text, come first. Rows by which other
    rows are found come last. Rows are streamed.
    """
    for kind in iter_kinds_with_rows():
        for row in records.get(kind.row, [sha1hex]):
            yield from _iter_existing(records, kind.build_rows(row))
    for table in _BY_FILE:
        yield from records.find(table, {"sha1hex": sha1hex})


def _iter_existing(records: Records, rows: Sequence[Any]) -> Iterator[Any]:
    """Yield those of the given SQL rows that are stored, as they are stored now."""
    for table in dict.fromkeys(type(row) for row in rows):
        keys = [build_key(row) for row in rows if type(row) is table]
        yield from records.get(table, keys)


def build_key(row: Any) -> Any:
    """Return the primary key of an SQL row: one value, or a tuple if the key has several
    columns.
    """
    values = tuple(getattr(row, name) for name in row.KEY)
    return values[0] if len(values) == 1 else values


def list_blob_keys(records: Records, sha1hex: str) -> list[str]:
    """Return all blob keys under which data of a file may be stored.

    These are the standard keys for a SHA-1 and the keys named in rows of the file, in stored
    checksums, and in messages on public topics.
    """
    keys = [
        build_text_blob_key(sha1hex),
        build_tei_blob_key(sha1hex),
        build_thumbnail_blob_key(sha1hex),
    ]
    keys += [build_embargoed_blob_key(sha1hex), *list_published_blob_keys(sha1hex)]
    for kind in iter_kinds_with_rows():
        keys += [key for row in records.get(kind.row, [sha1hex]) for key in kind.list_blobs(row)]
    fixities = records.find(FixityRow, {"sha1hex": sha1hex})
    keys += [key for fixity in fixities if (key := get_blob_key(fixity)) is not None]
    return list(dict.fromkeys(keys))


def list_document_ids(records: Records, sha1hex: str) -> list[str]:
    """Return the ids of documents that contain a file.

    Stories whose document shows another version are omitted.
    """
    document_ids = [sha1hex]
    for kind, indexed_kind in indexed_kinds():
        ids = [indexed_kind.get_id(row) for row in records.find(kind.row, {"sha1hex": sha1hex})]
        current = indexed_kind.load_current(records, ids) if ids else {}
        document_ids += [
            id_ for id_ in ids if id_ not in current or current[id_].row.sha1hex == sha1hex
        ]
    return list(dict.fromkeys(document_ids))


def list_story_ids(records: Records, sha1hex: str) -> list[str]:
    """Return the ids of all stories of which a file is a version, shown or not."""
    return [
        indexed_kind.get_id(row)
        for kind, indexed_kind in indexed_kinds()
        for row in records.find(kind.row, {"sha1hex": sha1hex})
    ]


def find_holding_collections(
    tables: Tables | None, documents: Sequence[str]
) -> list[CollectionName]:
    """Return the names of the collections that contain any of the documents with these ids."""
    if tables is None:
        return []
    names = [name for name, _ in iter_collection_rows(tables)]
    return list(
        dict.fromkeys(name for id_ in documents for name in iter_holders(tables, names, id_))
    )
