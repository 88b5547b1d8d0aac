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
    """Yield the complete index documents of these rows: those of `iter_index_documents` with their
    rights.

    Only one text is in memory at a time.
    """
    rights = load_file_rights(records, [row.sha1hex for row in current])
    for document in iter_index_documents(kind, records, blobs, current, textless=textless):
        yield set_rights(document, rights[document.sha1hex])


def reindex_files(records: Records, blobs: Blobs, index: Index, sha1hexes: Sequence[str]) -> None:
    """Reindex the documents of these files whose rights have changed.

    A file without a document is skipped: the step that extracts it builds one with all rights known
    by then. Raises StoreUnavailableError as `index_documents_by_id` does.
    """
    for kind, indexed in indexed_kinds():
        ids = sorted({indexed.get_id(row) for row in records.get(kind.row, sha1hexes)})
        documents = index.get(ids) if ids else {}
        current = indexed.load_current(records, sorted(documents)) if documents else {}
        rights = load_file_rights(records, [row.sha1hex for row in current.values()])
        stale = [
            id_
            for id_, row in sorted(current.items())
            if set_rights(documents[id_], rights[row.sha1hex]) != documents[id_]
        ]
        if stale:
            index_documents_by_id(records, blobs, index, indexed, stale)


def index_documents_by_id(
    records: Records, blobs: Blobs, index: Index, kind: IndexedKind, ids: Sequence[str]
) -> None:
    """Put the documents with these ids, and delete those that should not exist.

    Raises StoreUnavailableError if their rows keep changing.
    """
    index_until_stable(
        records,
        index,
        ids,
        lambda: kind.load_current(records, ids),
        lambda rows: list(iter_index_documents(kind, records, blobs, rows)),
    )
