"""Rebuild index documents from the current records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fonds.derivatives.document_rows import CurrentRow, IndexedKind, iter_index_documents
from fonds.derivatives.documents import index_until_stable
from fonds.derivatives.kinds import indexed_kinds
from fonds.model.document import IndexDocument
from fonds.ports import Blobs, Index, Records
from fonds.rights.combined_rights import load_file_rights, set_rights


def iter_complete_documents(
    kind: IndexedKind,
    records: Records,
    blobs: Blobs,
    current: Sequence[CurrentRow],
    textless: list[str] | None = None,
) -> Iterator[IndexDocument]:
    """Build and yield index documents from derivative rows, with texts and rights of the files.

    Only the text of one document at a time is in memory.
    """
    rights = load_file_rights(records, [row.sha1hex for row in current])
    for document in iter_index_documents(kind, records, blobs, current, textless_files=textless):
        yield set_rights(document, rights[document.sha1hex])


def reindex_files(records: Records, blobs: Blobs, index: Index, sha1hexes: Sequence[str]) -> None:
    """Update the index documents of files whose rights have changed.

    A file without a derivative row is skipped: the step that extracts it later builds the document
    with all rights. Raises StoreUnavailableError if the derivative rows keep changing.
    """
    for kind, indexed_kind in indexed_kinds():
        ids = sorted({indexed_kind.get_id(row) for row in records.get(kind.row, sha1hexes)})
        documents = index.get(ids) if ids else {}
        current = indexed_kind.load_current(records, sorted(documents)) if documents else {}
        rights = load_file_rights(records, [row.sha1hex for row in current.values()])
        stale = [
            id_
            for id_, row in sorted(current.items())
            if set_rights(documents[id_], rights[row.sha1hex]) != documents[id_]
        ]
        if stale:
            index_documents_by_id(records, blobs, index, indexed_kind, stale)


def index_documents_by_id(
    records: Records, blobs: Blobs, index: Index, kind: IndexedKind, ids: Sequence[str]
) -> None:
    """Build the documents with these ids from the current rows and put them into the index.

    Documents without a current row, such as those of files under embargo, are deleted.

    Raises StoreUnavailableError if the rows of the documents keep changing.
    """
    index_until_stable(
        records,
        index,
        ids,
        lambda: kind.load_current(records, ids),
        lambda rows: list(iter_index_documents(kind, records, blobs, rows)),
    )
