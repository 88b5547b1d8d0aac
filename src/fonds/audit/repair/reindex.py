"""Rebuild of the full-text index in place, from the records and text blobs. Searches
keep working.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from fonds.derivatives.index_update import iter_complete_documents
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import KINDS, indexed_kinds
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError, StorageFullError
from fonds.model.rows import FileMetaRow
from fonds.ports import Blobs, Index, Records
from fonds.ports.scan import CHUNK, iter_chunks

TOGETHER_MAX_CHARS = 16_000_000
"""Maximum characters of text of the documents written to the index at once. A longer document is
written alone.
"""


@dataclass(slots=True)
class ReindexResult:
    """Result of a rebuild of the full-text index.

    - `indexed`: number of documents written.
    - `remade`: number of files whose derived rows were rebuilt, once per derivative kind.
    - `removed`: number of unexpected documents that were deleted.
    - `strays`: number of documents left in the index beyond those written.
    - `textless`: SHA-1s of files whose text blob is missing; they are indexed without text.
    - `fault`: error of the index that stopped the rebuild; None if it was complete.
    """

    indexed: int = 0
    remade: int = 0
    removed: int = 0
    strays: int = 0
    textless: list[str] = field(default_factory=list)
    fault: ConfigurationError | None = None


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """One batch of changes to the full-text index.

    `documents`: documents to write.
    `unwanted_ids`: ids of documents to delete if the index has them.
    """

    documents: Sequence[IndexDocument] = ()
    unwanted_ids: Sequence[str] = ()


def reindex(
    records: Records, blobs: Blobs, index: Index, tick: Callable[[int], None]
) -> ReindexResult:
    """Write every expected document to the full-text index and delete unexpected ones. Return the
    counts.

    `tick`: called with the number of documents written so far.

    Idempotent: after an interruption the index is usable and can be rebuilt again. A
    ConfigurationError of the index stops the rebuild and is returned in the field `fault`.
    StorageFullError and the errors of other stores are raised.
    """
    result = ReindexResult()
    for batch in iter_batches(records, blobs, result.textless):
        result.fault = _try_index(partial(_apply, index, batch, result))
        if result.fault is not None:
            return result
        tick(result.indexed)
    result.fault = _try_index(partial(_count_strays, index, result))
    result.remade = rebuild_derived_rows(records, blobs)
    return result


def rebuild_derived_rows(
    records: Records, blobs: Blobs, kinds: Sequence[DerivativeKind] = KINDS
) -> int:
    """Rebuild missing or outdated rows that are computed from stored rows and texts, without
    reading bodies.

    `kinds`: derivative kinds whose rows are checked. Kinds without such rows are skipped.

    Returns the number of files for which rows were rebuilt.
    """
    row_count = 0
    for kind in kinds:
        if kind.rebuild is None:
            continue
        for page in iter_chunks(records.find(FileMetaRow, {"mimetype": list(kind.mimetypes)})):
            row_count += kind.rebuild(records, blobs, [row.sha1hex for row in page])
    return row_count


def _try_index(act: Callable[[], None]) -> ConfigurationError | None:
    """Call the function `act`, which uses only the full-text index, and return its error.

    Returns the ConfigurationError that it raised; None if it raised none. StorageFullError is not
    returned but raised.
    """
    try:
        act()
    except StorageFullError:
        raise
    except ConfigurationError as fault:
        return fault
    return None


def _apply(index: Index, batch: IndexBatch, result: ReindexResult) -> None:
    if batch.documents:
        index.put(batch.documents)
        result.indexed += len(batch.documents)
    existing_ids = sorted(index.get(batch.unwanted_ids)) if batch.unwanted_ids else []
    if existing_ids:
        index.delete(existing_ids)
        result.removed += len(existing_ids)


def _count_strays(index: Index, result: ReindexResult) -> None:
    result.strays = max(0, index.count() - result.indexed)


def iter_batches(records: Records, blobs: Blobs, textless: list[str]) -> Iterator[IndexBatch]:
    """Yield all changes for a rebuild of the full-text index: documents to write, then ids to
    delete.

    Adds to `textless` the SHA-1s of files whose text blob is missing.
    """
    for documents in _batch_documents(_iter_documents(records, blobs, textless)):
        yield IndexBatch(documents=documents)
    for chunk in iter_chunks(records.find(FileMetaRow)):
        keys = [row.sha1hex for row in chunk]
        expected_ids = {
            id_
            for _, indexed_kind in indexed_kinds()
            for id_ in indexed_kind.load_current(records, keys)
        }
        unwanted_ids = [key for key in keys if key not in expected_ids]
        if unwanted_ids:
            yield IndexBatch(unwanted_ids=unwanted_ids)


def _iter_documents(records: Records, blobs: Blobs, textless: list[str]) -> Iterator[IndexDocument]:
    """Iterate over all documents that the full-text index should contain, as the pipeline steps
    write them.

    Only one text is in memory at a time. Adds to `textless` the SHA-1s of files whose text blob is
    missing.
    """
    for kind, indexed_kind in indexed_kinds():
        for page in iter_chunks(records.find(kind.row, indexed_kind.row_filter)):
            current = indexed_kind.load_current(records, [indexed_kind.get_id(row) for row in page])
            page_files = {row.sha1hex for row in page}
            current_rows = [
                current_row
                for current_row in current.values()
                if current_row.row.sha1hex in page_files
            ]
            yield from iter_complete_documents(indexed_kind, records, blobs, current_rows, textless)


def _batch_documents(documents: Iterator[IndexDocument]) -> Iterator[list[IndexDocument]]:
    group: list[IndexDocument] = []
    chars = 0
    for document in documents:
        size = sum(
            map(len, (document.text_content, *(earlier.text for earlier in document.earlier)))
        )
        if group and (len(group) >= CHUNK or chars + size > TOGETHER_MAX_CHARS):
            yield group
            group, chars = [], 0
        group.append(document)
        chars += size
    if group:
        yield group
