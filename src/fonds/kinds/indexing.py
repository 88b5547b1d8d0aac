"""Documents put into the index again as the records have them now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fonds.kinds import indexed_kinds
from fonds.kinds.documents import put_current
from fonds.kinds.indexed import CurrentRow, Indexed, index_documents
from fonds.kinds.stated_rights import rights_of_files, with_rights
from fonds.model.document import IndexDocument
from fonds.ports import Blobs, Index, Records


def whole_documents(
    one: Indexed,
    records: Records,
    blobs: Blobs,
    current: Sequence[CurrentRow],
    textless: list[str] | None = None,
) -> Iterator[IndexDocument]:
    """The documents of these rows as the index is to hold them: with what is stated of their files beside
    what `index_documents` makes, one text in memory at a time."""
    rights = rights_of_files(records, [each.sha1hex for each in current])
    for document in index_documents(one, records, blobs, current, textless=textless):
        yield with_rights(document, rights[document.sha1hex])


def put_again(records: Records, blobs: Blobs, index: Index, sha1hexes: Sequence[str]) -> None:
    """Put the documents of files of which something else is stated now than they have.

    A file that has no document as yet is left out: whoever reads it makes one, with all that is stated by
    then. Raises StoreUnavailableError as `put_documents` does.
    """
    for kind, one in indexed_kinds():
        ids = sorted({one.id_of(row) for row in records.get(kind.row, sha1hexes)})
        there = index.get(ids) if ids else {}
        current = one.current(records, sorted(there)) if there else {}
        rights = rights_of_files(records, [row.sha1hex for row in current.values()])
        stale = [
            id_
            for id_, row in sorted(current.items())
            if with_rights(there[id_], rights[row.sha1hex]) != there[id_]
        ]
        if stale:
            put_documents(records, blobs, index, one, stale)


def put_documents(
    records: Records, blobs: Blobs, index: Index, one: Indexed, ids: Sequence[str]
) -> None:
    """Put the documents with these ids, and remove those that are not to be there.

    Raises StoreUnavailableError when their rows do not come to rest.
    """
    put_current(
        records,
        index,
        ids,
        lambda: one.current(records, ids),
        lambda some: list(index_documents(one, records, blobs, some)),
    )
