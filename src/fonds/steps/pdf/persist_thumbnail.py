"""persist_thumbnail: a picture of page 0 into the blobs, and that it is there into the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fonds.kinds.fixity import fixity_of, thumbnail_part
from fonds.model.blob import Blob
from fonds.model.keys import thumbnail_blob_key
from fonds.model.pdf import PAGE0_FORM, Thumbnail
from fonds.model.rows import PdfMetaRow
from fonds.model.step import Result
from fonds.ports import Blobs, Records

_CONTENT_TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}


EMITS = ()


@dataclass(frozen=True, slots=True)
class PersistThumbnail:
    """Idempotent: the same picture is written over itself.

    The blob comes first. Whoever writes the row looks for the blob afterwards, so that whichever of the
    two is later notes it.
    """

    blobs: Blobs
    records: Records

    def __call__(self, items: Sequence[Thumbnail]) -> list[Result]:
        """One blob each, `thumbnail/pdf/….180px.jpg`."""
        self.blobs.put([_blob(item) for item in items])
        self.records.put(
            [fixity_of(item.sha1hex, thumbnail_part(item.form), item.image) for item in items]
        )
        noted = [item.sha1hex for item in items if item.form == PAGE0_FORM]
        self.records.change(PdfMetaRow, noted, {"has_page0_thumbnail": True})
        return [Result() for _ in items]


def _blob(item: Thumbnail) -> Blob:
    content_type = _CONTENT_TYPES[item.form.rpartition("-")[2]]
    return Blob(thumbnail_blob_key(item.sha1hex, item.form), item.image, content_type)
