"""Open a PDF with the library pdfium. If pdfium cannot open it, repair it with qpdf first."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO

import pikepdf
import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.structure import limit_unpacking
from fonds.extract.pdf.traits import UNREADABLE, read_or_none
from fonds.model.pdf import PdfStatus

logger = logging.getLogger(__name__)

_REFUSALS = {
    pdfium.FPDF_ERR_PASSWORD: (PdfStatus.ENCRYPTED, "the PDF needs a password"),
    pdfium.FPDF_ERR_SECURITY: (PdfStatus.ENCRYPTED, "the PDF is encrypted in an unsupported way"),
}
_UNREADABLE = (
    PdfStatus.PARSE_ERROR,
    ("neither pdfium nor qpdf can open it as a PDF, even after repair"),
)

_PAGES_MAX, _STREAMS_MAX = 50, 100
_PAINTING = re.compile(
    rb"(?:[^(<\[\s]\s{0,9}[\])>]\s{0,9}T[Jj]|['\"]|\bDo|\bsh|\bBI|\b[fFSsBb]\*?)(?:\s|$)"
)


@dataclass(frozen=True, slots=True)
class OpenedPdf:
    """Result of opening a PDF.

    - `document`: the open document with at least one page; None if it cannot be opened.
    - `data`: bytes from which pdfium reads until the caller closes the document.
    - `status`, `error_msg`: status and sentence that say why it cannot be opened; SUCCESS and None
      if it is open.
    - `is_repaired`: whether `data` was rewritten by qpdf.
    """

    document: pypdfium2.PdfDocument | None
    data: bytes = b""
    status: PdfStatus = PdfStatus.SUCCESS
    error_msg: str | None = None
    is_repaired: bool = False


def open_pdf(data: bytes) -> OpenedPdf:
    """Open a PDF. If pdfium cannot open it, open it after qpdf has rewritten it. Never raises."""
    opened_pdf = _open(data)
    if opened_pdf.document is not None:
        return opened_pdf
    # qpdf also supports ciphers and empty owner passwords that pdfium does not.
    repaired_pdf = open_repaired(data)
    return opened_pdf if repaired_pdf is None else repaired_pdf


def open_mapped(data: bytes, mapped_data: bytes | None) -> OpenedPdf:
    """Open `mapped_data`, the PDF with added maps from character codes to characters.

    If `mapped_data` is None or cannot be opened without repair, open the original PDF in `data`.
    """
    if mapped_data is not None:
        opened_pdf = open_pdf(mapped_data)
        if opened_pdf.document is not None and not opened_pdf.is_repaired:
            return opened_pdf
        if opened_pdf.document is not None:
            opened_pdf.document.close()
    return open_pdf(data)


def init_forms(document: pypdfium2.PdfDocument) -> None:
    """Enable drawing of the values in form fields. If pdfium fails, pages are drawn without them.

    Callers skip a document with too many fields to count, because pdfium would never finish.
    """
    try:
        document.init_forms()
    except pypdfium2.PdfiumError as error:
        # Pages are then drawn without the filled-in values.
        logger.debug("cannot draw the form: %s", error)


def open_repaired(data: bytes) -> OpenedPdf | None:
    """Rewrite a PDF with qpdf and open it; None if that fails."""
    repaired_data = _repair(data)
    opened_pdf = None if repaired_data is None else _open(repaired_data)
    if opened_pdf is None or opened_pdf.document is None:
        return None
    return replace(opened_pdf, is_repaired=True)


def find_drawing_pages(data: bytes, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return those of the pages `numbers` (from 0) whose content has drawing instructions.

    It is called for pages that pdfium finds empty. At most 50 pages are examined. Return () if qpdf
    cannot open the PDF.
    """
    limit_unpacking(len(data))
    try:
        with pikepdf.open(BytesIO(data)) as pdf:
            examined_pages = numbers[:_PAGES_MAX]
            return tuple(n for n in examined_pages if read_or_none(_has_drawing, pdf.pages[n]))
    except UNREADABLE:
        return ()


def _has_drawing(page: pikepdf.Page) -> bool:
    contents = page.obj.get("/Contents")
    streams = list(contents) if isinstance(contents, pikepdf.Array) else [contents]
    for stream in streams[:_STREAMS_MAX]:
        if isinstance(stream, pikepdf.Stream):
            try:
                content = stream.read_bytes()
            except pikepdf.PdfError:
                return True
            if _PAINTING.search(content):
                return True
        elif stream is not None:
            return True
    return False


def _open(data: bytes) -> OpenedPdf:
    # pypdfium2's own loader asks for the last error when a PDF without pages opens, and gets the
    # error of an earlier file.
    handle = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not handle:
        return _build_refusal(pdfium.FPDF_GetLastError())
    document = pypdfium2.PdfDocument(handle)
    if len(document) > 0:
        return OpenedPdf(document, data)
    document.close()
    message = "the PDF has no pages"
    return OpenedPdf(None, status=PdfStatus.EMPTY_PDF, error_msg=message)


def _build_refusal(error_code: int) -> OpenedPdf:
    status, message = _REFUSALS.get(error_code, _UNREADABLE)
    return OpenedPdf(None, status=status, error_msg=message)


def _repair(data: bytes) -> bytes | None:
    """Return a PDF rewritten by qpdf, which rebuilds the cross references; None if that fails."""
    limit_unpacking(len(data))
    out = BytesIO()
    try:
        with pikepdf.open(BytesIO(data)) as pdf:
            pdf.save(
                out,
                preserve_pdfa=False,
                fix_metadata_version=False,
                compress_streams=False,
                stream_decode_level=pikepdf.StreamDecodeLevel.none,
                encryption=False,
            )
    except UNREADABLE:
        return None
    return out.getvalue()
