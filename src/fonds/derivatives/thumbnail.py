"""The kind `thumbnail`: a picture of a PDF's first page. The PDF's row records that it exists."""

from __future__ import annotations

from fonds.derivatives.kind import DerivativeKind
from fonds.model.keys import build_thumbnail_blob_key
from fonds.model.rows import PdfMetaRow


def _list_blobs(row: PdfMetaRow) -> list[str]:
    return [build_thumbnail_blob_key(row.sha1hex)] if row.has_page0_thumbnail else []


def _is_written(row: PdfMetaRow | None, tag: str) -> bool:
    """Return whether the thumbnail is recorded, or need not be.

    The later of two steps records it: without a row the text has not been written yet. Thumbnails
    of further formats have a tag and are not recorded.
    """
    return row is None or row.has_page0_thumbnail or bool(tag)


KIND = DerivativeKind(
    name="thumbnail",
    title="thumbnail",
    mimetypes=("application/pdf",),
    row=PdfMetaRow,
    step="persist_thumbnail",
    is_written=_is_written,
    list_blobs=_list_blobs,
)
