"""Which version of a document stood in the index at an earlier moment, out of the rows there are now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fonds.kinds.indexed import CurrentRow, Indexed
from fonds.kinds.indexing import whole_documents
from fonds.kinds.kind import DerivativeKind
from fonds.model.document import IndexDocument
from fonds.model.rows import EmbargoRow, FileMetaRow
from fonds.ports import Blobs, Records


@dataclass(frozen=True, slots=True)
class Standing:
    """`then` is the row the document was made of at that moment, None where no file of it was here;
    `is_read_since` that this row was written later, so that what it said then is not known. `now` is the
    SHA-1 of the file it is made of now.
    """

    then: Any | None
    now: str
    is_read_since: bool

    @property
    def is_other(self) -> bool:
        """Whether the index had another version of it."""
        return self.then is not None and self.then.sha1hex != self.now


def standings(
    records: Records, kind: DerivativeKind, one: Indexed, ids: Sequence[str], at: datetime
) -> dict[str, Standing]:
    """How the documents with these ids stood at a moment, by id; those without a file are absent."""
    versions = one.versions(records, ids)
    came = _came(records, [sha1hex for some in versions.values() for sha1hex in some], at)
    then = {
        id_: next((key for key in reversed(some) if key in came and came[key] <= at), "")
        for id_, some in versions.items()
        if some
    }
    rows: Mapping[str, Any] = {
        getattr(row, "sha1hex"): row  # noqa: B009
        for row in records.get(kind.row, sorted({key for key in then.values() if key}))
    }
    found = {}
    for id_, key in then.items():
        row = rows.get(key)
        is_read_since = row is not None and row.updated > at
        found[id_] = Standing(row, versions[id_][-1], is_read_since)
    return found


def _came(records: Records, sha1hexes: Iterable[str], at: datetime) -> dict[str, datetime]:
    """Since when these files are here; of those that were under embargo at `at` and are no more, since when
    they are shown."""
    keys = sorted(set(sha1hexes))
    came = {row.sha1hex: row.row_created for row in records.get(FileMetaRow, keys)}
    for row in records.get(EmbargoRow, keys):
        if row.lifting is not None and row.sha1hex in came and row.row_created <= at:
            came[row.sha1hex] = max(came[row.sha1hex], row.lifting)
    return came


def documents_of(
    records: Records, blobs: Blobs, one: Indexed, rows: Sequence[Any]
) -> Iterator[IndexDocument]:
    """The documents of these rows, with their texts, one at a time."""
    yield from whole_documents(one, records, blobs, [CurrentRow(row) for row in rows])
