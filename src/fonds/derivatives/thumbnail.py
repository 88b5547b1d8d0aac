"""Derivative kind `thumbnail`: picture of the first page of a PDF.

The row of the PDF refers to the thumbnail.
"""

from __future__ import annotations

from fonds.derivatives.kind import DerivativeKind
from fonds.model.keys import build_thumbnail_blob_key
from fonds.model.rows import PdfMetaRow
from fonds.model.rows.row import InTable


def _list_blobs(row: PdfMetaRow) -> list[str]:
    return [build_thumbnail_blob_key(row.sha1hex)] if row.has_page0_thumbnail else []


def _build_unwritten_condition(tag: str) -> InTable | None:
    """Return the condition for PDFs whose row must refer to a thumbnail but does not.

    - `tag`: tag of the pipeline stage. A stage with a tag makes thumbnails of further formats, to
      which no row refers.

    A PDF without a row is left out: the step that stores the row later adds the reference.
    """
    return None if tag else InTable(PdfMetaRow, "sha1hex", where={"has_page0_thumbnail": False})


KIND = DerivativeKind(
    name="thumbnail",
    title="thumbnail",
    mimetypes=("application/pdf",),
    row=PdfMetaRow,
    step="persist_thumbnail",
    unwritten=_build_unwritten_condition,
    list_blobs=_list_blobs,
)
