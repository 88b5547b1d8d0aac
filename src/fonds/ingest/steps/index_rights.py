"""index_rights: update the index document of a file when later captures state other rights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fonds.derivatives.index_update import reindex_files
from fonds.model.file import UnindexedFile
from fonds.model.step import Result
from fonds.ports import Blobs, Index, Records

EMITS = ()


@dataclass(frozen=True, slots=True)
class IndexRightsStep:
    """Step that updates the index documents of files whose rights may have changed, because of a
    later capture of the file or a host file such as tdmrep.json.

    Documents that do not change are not written.
    """

    records: Records
    blobs: Blobs
    index: Index

    def __call__(self, items: Sequence[UnindexedFile]) -> list[Result]:
        """Update the index documents of the files. A repeated call has the same result."""
        sha1hexes = sorted({item.sha1hex for item in items})
        reindex_files(self.records, self.blobs, self.index, sha1hexes)
        return [Result() for _ in items]
