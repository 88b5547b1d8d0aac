"""index_rights: update a file's document with the rights stated by its later captures."""

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
    """Reindexes files whose rights changed; documents that are up to date are not written."""

    records: Records
    blobs: Blobs
    index: Index

    def __call__(self, items: Sequence[UnindexedFile]) -> list[Result]:
        """Reindex the files. Idempotent by SHA-1."""
        sha1hexes = sorted({item.sha1hex for item in items})
        reindex_files(self.records, self.blobs, self.index, sha1hexes)
        return [Result() for _ in items]
