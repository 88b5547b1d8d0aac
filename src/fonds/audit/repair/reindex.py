"""Makes the full-text index again from the records and the texts, in place, while others go on reading."""

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
"""Documents put at once have no more text than this together; a longer one stands alone."""


@dataclass(slots=True)
class ReindexResult:
    """What came of it. `remade` is how many rows were made again that follow from others and from texts.
    `strays` is how many documents are left that no other store knows.

    `textless` names files whose text should lie in the blobs and does not: they are indexed without.
    `fault` is what the index said when it could not be worked with, None when it could.
    """

    indexed: int = 0
    remade: int = 0
    removed: int = 0
    strays: int = 0
    textless: list[str] = field(default_factory=list)
    fault: ConfigurationError | None = None


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """What is to be put into the index, and what is to be taken out of it if it is there."""

    documents: Sequence[IndexDocument] = ()
    unwanted: Sequence[str] = ()


def reindex(
    records: Records, blobs: Blobs, index: Index, tick: Callable[[int], None]
) -> ReindexResult:
    """Put every document there should be and delete the others; `tick` is told how many were put so far.

    Idempotent, and interrupted at any moment it leaves an index that can be used and worked on again.
    What the other stores raise is raised; a fault of the index is returned, StorageFullError raised.
    """
    done = ReindexResult()
    for batch in iter_batches(records, blobs, done.textless):
        done.fault = _try_index(partial(_apply, index, batch, done))
        if done.fault is not None:
            return done
        tick(done.indexed)
    done.fault = _try_index(partial(_count_strays, index, done))
    done.remade = rebuild_derived_rows(records, blobs)
    return done


def rebuild_derived_rows(
    records: Records, blobs: Blobs, kinds: Sequence[DerivativeKind] = KINDS
) -> int:
    """Make the rows of these kinds again that follow from others and from texts, where they are missing or
    made otherwise; how many."""
    made = 0
    for kind in kinds:
        if kind.rebuild is None:
            continue
        for some in iter_chunks(records.find(FileMetaRow, {"mimetype": list(kind.mimetypes)})):
            made += kind.rebuild(records, blobs, [row.sha1hex for row in some])
    return made


def _try_index(act: Callable[[], None]) -> ConfigurationError | None:
    """What an index that cannot be worked with says to `act`, which calls nothing but the index."""
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
    there = sorted(index.get(batch.unwanted)) if batch.unwanted else []
    if there:
        index.delete(there)
        result.removed += len(there)


def _count_strays(index: Index, result: ReindexResult) -> None:
    result.strays = max(0, index.count() - result.indexed)


def iter_batches(records: Records, blobs: Blobs, textless: list[str]) -> Iterator[IndexBatch]:
    """All that is to be done, streamed: kind by kind, then what must not be there.

    Adds to `textless` the files whose text is not where it should be.
    """
    for some in _batch_documents(_iter_documents(records, blobs, textless)):
        yield IndexBatch(documents=some)
    for chunk in iter_chunks(records.find(FileMetaRow)):
        keys = [row.sha1hex for row in chunk]
        wanted = {id_ for _, one in indexed_kinds() for id_ in one.load_current(records, keys)}
        unwanted = [key for key in keys if key not in wanted]
        if unwanted:
            yield IndexBatch(unwanted=unwanted)


def _iter_documents(records: Records, blobs: Blobs, textless: list[str]) -> Iterator[IndexDocument]:
    """Every document as the steps would put it, one text in memory at a time."""
    for kind, one in indexed_kinds():
        for some in iter_chunks(records.find(kind.row, one.row_filter)):
            current = one.load_current(records, [one.get_id(row) for row in some])
            here = {row.sha1hex for row in some}
            chosen = [each for each in current.values() if each.row.sha1hex in here]
            yield from iter_complete_documents(one, records, blobs, chosen, textless)


def _batch_documents(documents: Iterator[IndexDocument]) -> Iterator[list[IndexDocument]]:
    group: list[IndexDocument] = []
    chars = 0
    for document in documents:
        size = sum(map(len, (document.text_content, *(one.text for one in document.earlier))))
        if group and (len(group) >= CHUNK or chars + size > TOGETHER_MAX_CHARS):
            yield group
            group, chars = [], 0
        group.append(document)
        chars += size
    if group:
        yield group
