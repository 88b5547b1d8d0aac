"""Documents put into the index again as the records have them now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fonds.kinds import KINDS
from fonds.kinds.documents import put_current
from fonds.kinds.indexed import Indexed, index_documents
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Blobs, Index, Records


def indexed() -> Iterator[tuple[type[DerivativeRow], Indexed]]:
    """The kinds that have documents, with the table of their rows."""
    for kind in KINDS:
        if kind.indexed is not None:
            yield kind.row, kind.indexed


def put_again(
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
