"""persist_thumbnail: the JPEG of page 0 into the blobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fonds.model.keys import thumbnail_blob_key
from fonds.model.pdf import Thumbnail
from fonds.model.step import Result
from fonds.ports import Blobs


@dataclass(frozen=True, slots=True)
class PersistThumbnail:
    """Idempotent: the same picture is written over itself."""

    blobs: Blobs

    def __call__(self, items: Sequence[Thumbnail]) -> list[Result]:
        """One blob each, `thumbnail/pdf/….180px.jpg`."""
        for item in items:
            self.blobs.put(thumbnail_blob_key(item.sha1hex), item.jpeg, "image/jpeg")
        return [Result() for _ in items]
