"""Documents put into the index again as the records have them now."""

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
    """The documents of these rows as the index is to hold them: with what is stated of their files beside
    what `iter_index_documents` makes, one text in memory at a time."""
    rights = load_file_rights(records, [each.sha1hex for each in current])
    for document in iter_index_documents(kind, records, blobs, current, textless=textless):
        yield set_rights(document, rights[document.sha1hex])


def reindex_files(records: Records, blobs: Blobs, index: Index, sha1hexes: Sequence[str]) -> None:
    """Put the documents of files of which something else is stated now than they have.

    A file that has no document as yet is left out: whoever reads it makes one, with all that is stated by
    then. Raises StoreUnavailableError as `index_documents_by_id` does.
    """
    for kind, one in indexed_kinds():
        ids = sorted({one.get_id(row) for row in records.get(kind.row, sha1hexes)})
        there = index.get(ids) if ids else {}
        current = one.load_current(records, sorted(there)) if there else {}
        rights = load_file_rights(records, [row.sha1hex for row in current.values()])
        stale = [
            id_
            for id_, row in sorted(current.items())
            if set_rights(there[id_], rights[row.sha1hex]) != there[id_]
        ]
        if stale:
            index_documents_by_id(records, blobs, index, one, stale)


def index_documents_by_id(
    records: Records, blobs: Blobs, index: Index, kind: IndexedKind, ids: Sequence[str]
) -> None:
    """Put the documents with these ids, and remove those that are not to be there.

    Raises StoreUnavailableError when their rows do not come to rest.
    """
    index_until_stable(
        records,
        index,
        ids,
        lambda: kind.load_current(records, ids),
        lambda some: list(iter_index_documents(kind, records, blobs, some)),
    )
