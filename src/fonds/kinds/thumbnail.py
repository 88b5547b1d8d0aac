"""The kind `thumbnail`: a picture of a PDF's first page. That it is there stands in the row of the PDF."""

from __future__ import annotations

from fonds.kinds.kind import DerivativeKind
from fonds.model.keys import thumbnail_blob_key
from fonds.model.rows import PdfMetaRow


def _blobs(row: PdfMetaRow) -> list[str]:
    return [thumbnail_blob_key(row.sha1hex)] if row.has_page0_thumbnail else []


def _written(row: PdfMetaRow | None, tag: str) -> bool:
    """Whoever of two steps is later notes it: without a row the text has not come. Further forms, which
    have a tag, are not noted."""
    return row is None or row.has_page0_thumbnail or bool(tag)


KIND = DerivativeKind(
    name="thumbnail",
    title="thumbnail",
    mimetypes=("application/pdf",),
    row=PdfMetaRow,
    step="persist_thumbnail",
    written=_written,
    blobs=_blobs,
)
