"""Derivative kind `thumbnail`: picture of the first page of a PDF.

The row of the PDF refers to the thumbnail.
"""

from __future__ import annotations

from fonds.derivatives.kind import DerivativeKind
from fonds.model.keys import build_thumbnail_blob_key
from fonds.model.rows import PdfMetaRow


def _list_blobs(row: PdfMetaRow) -> list[str]:
    return [build_thumbnail_blob_key(row.sha1hex)] if row.has_page0_thumbnail else []


def _is_written(row: PdfMetaRow | None, tag: str) -> bool:
    """Return whether a completed thumbnail is stored, as far as the row of its PDF must show it.

    - `row`: row of the PDF. None if the text has not been stored yet; the step that stores it later
      adds the reference to the thumbnail.
    - `tag`: tag of the pipeline stage. A stage with a tag makes thumbnails of further formats, to
      which no row refers.
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
