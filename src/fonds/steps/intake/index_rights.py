"""index_rights: what later captures of a file state about its use, into the document that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fonds.kinds.indexed import Indexed
from fonds.kinds.indexing import indexed, put_again
from fonds.kinds.stated_rights import rights_of_files, with_rights
from fonds.model.file import Unindexed
from fonds.model.step import Result
from fonds.ports import Blobs, Index, Records

EMITS = ()


@dataclass(frozen=True, slots=True)
class IndexRights:
    """A document that states the same already is not written. Of a file that has none as yet the step that
    reads it makes one, with all that is stated by then.
    """

    records: Records
    blobs: Blobs
    index: Index

    def __call__(self, items: Sequence[Unindexed]) -> list[Result]:
        """Idempotent by SHA-1."""
        sha1hexes = sorted({item.sha1hex for item in items})
        for table, one in indexed():
            ids = sorted({one.id_of(row) for row in self.records.get(table, sha1hexes)})
            if stale := self._stale(one, ids):
                put_again(self.records, self.blobs, self.index, one, stale)
        return [Result() for _ in items]

    def _stale(self, one: Indexed, ids: Sequence[str]) -> list[str]:
        """Those of these documents that state something else than their files and captures."""
        there = self.index.get(ids) if ids else {}
        current = one.current(self.records, sorted(there)) if there else {}
        rights = rights_of_files(self.records, [row.sha1hex for row in current.values()])
        return [
            id_
            for id_, row in sorted(current.items())
            if with_rights(there[id_], rights[row.sha1hex]) != there[id_]
        ]
