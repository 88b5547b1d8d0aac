"""index_rights: what later captures of a file state about its use, into the document that is there."""

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
    """A document that has all that is stated is not written."""

    records: Records
    blobs: Blobs
    index: Index

    def __call__(self, items: Sequence[UnindexedFile]) -> list[Result]:
        """Idempotent by SHA-1."""
        sha1hexes = sorted({item.sha1hex for item in items})
        reindex_files(self.records, self.blobs, self.index, sha1hexes)
        return [Result() for _ in items]
