"""Extract text, metadata and thumbnails of one PDF. Runs in a child process.

The libraries pdfium and qpdf are native code, and PDFs may be hostile. A process that must survive
calls this module through an Isolate.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import msgspec
import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.document import (
    OpenedPdf,
    find_drawing_pages,
    init_forms,
    open_mapped,
    open_repaired,
)
from fonds.extract.pdf.limits import PdfLimits
from fonds.extract.pdf.metadata import extract_bibliographic, has_own_metadata
from fonds.extract.pdf.page_text import NO_PAGES, PAGE_SEPARATOR, PagesText, read_pages
from fonds.extract.pdf.rendering import draw_thumbnails
from fonds.extract.pdf.strings import clean_text, convert_pdf_date
from fonds.extract.pdf.structure import PdfStructure, read_structure
from fonds.extract.pdf.trailer import looks_like_pdf, strip_leading_junk
from fonds.extract.pdf.traits import read_outline
from fonds.extract.pdf.word_count import count_words
from fonds.extract.pdf.xmp import XmpFields, read_xmp
from fonds.model.archive import OpenBody
from fonds.model.pdf import PdfExtraction, PdfStatus
from fonds.model.pdf_extra import PdfExtra, XmpSummary
from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource
from fonds.papers.bibliography.paper_text import KnownFields, read_paper_text
from fonds.rights.licenses import build_rights_statements
from fonds.text.language import choose_language, load_model

logger = logging.getLogger(__name__)

_INFO_RIGHTS = frozenset({"copyright", "license", "rights"})
_FORMS = {
    pdfium.FORMTYPE_ACRO_FORM: "AcroForm",
    pdfium.FORMTYPE_XFA_FULL: "XFA",
    pdfium.FORMTYPE_XFA_FOREGROUND: "XFA",
}


def warm_up() -> None:
    """Load the model that identifies languages, which every child process needs. Called once,
    before child processes are forked.
    """
    load_model()


def extract_pdf(body: OpenBody, limits: PdfLimits) -> PdfExtraction:
    """Extract the PDF in an open file, as far as it is readable. Raises TransientError if the file
    cannot be read.
    """
    if body.size_bytes > limits.size_max_bytes:
        return _build_too_large(body.size_bytes, limits)
    return extract_pdf_bytes(body.read_all("the PDF"), limits)


def extract_pdf_bytes(data: bytes, limits: PdfLimits) -> PdfExtraction:
    """Extract a PDF. If the PDF is broken, locked or huge, extract whatever is readable.

    Raises MemoryError if the process has too little memory even for that.
    """
    if len(data) > limits.size_max_bytes:
        return _build_too_large(len(data), limits)
    if not data:
        return PdfExtraction(PdfStatus.EMPTY_BLOB, error_msg="the file is empty")
    data = strip_leading_junk(data)
    structure = read_structure(data, xmp_max_bytes=limits.xmp_max_bytes)
    opened_pdf = open_mapped(data, structure.mapped)
    if opened_pdf.document is None:
        if opened_pdf.status is PdfStatus.PARSE_ERROR and not looks_like_pdf(data):
            return PdfExtraction(
                PdfStatus.NOT_PDF, error_msg=("no PDF header, page or end marker found")
            )
        return _build_result(
            opened_pdf.status, structure, structure.extra, error_msg=opened_pdf.error_msg
        )
    try:
        result, blank = _read(opened_pdf.document, opened_pdf, structure, limits)
    finally:
        opened_pdf.document.close()
    # pdfium does not report objects it cannot find.
    return _repair_and_read(data, result, blank, structure, limits) if 0 in blank else result


def _repair_and_read(
    data: bytes,
    first: PdfExtraction,
    blank: Sequence[int],
    structure: PdfStructure,
    limits: PdfLimits,
) -> PdfExtraction:
    """Extract a PDF again after qpdf has repaired it, if pages are blank although their content
    draws something.

    - `first`: result of the first extraction. It is returned if the repair does not help.
    - `blank`: numbers (from 0) of the pages that were blank in the first extraction.

    If such pages remain, the status SUCCESS becomes PARTIAL, and the error message lists the pages.
    """
    unread_pages = find_drawing_pages(data, blank)
    if not unread_pages:
        return first
    opened_pdf = open_repaired(data)
    if opened_pdf is not None and opened_pdf.document is not None:
        try:
            repaired_result, blank_again = _read(opened_pdf.document, opened_pdf, structure, limits)
        finally:
            opened_pdf.document.close()
        if len(blank_again) < len(blank):
            first, unread_pages = (
                repaired_result,
                tuple(n for n in unread_pages if n in blank_again),
            )
    if not unread_pages or first.status is not PdfStatus.SUCCESS:
        return first
    message = f"cannot read pages that are not empty: {_format_numbers(unread_pages)}"
    return replace(first, status=PdfStatus.PARTIAL, error_msg=message)


def _read(
    document: pypdfium2.PdfDocument,
    opened_pdf: OpenedPdf,
    structure: PdfStructure,
    limits: PdfLimits,
) -> tuple[PdfExtraction, Sequence[int]]:
    """Extract an open PDF. Return the result, and the numbers (from 0) of the pages that have no
    objects.
    """
    if structure.extra.form_field_count is not None:
        init_forms(document)
    if structure.error is not None or structure.is_locked:
        structure = _complete_structure(structure, document)
    outline = read_outline(document)
    page0 = _open_page0(document)
    try:
        thumbnails = _draw_thumbnails(page0, limits) if page0 is not None else {}
        pages = read_pages(
            document,
            page0,
            pages_max=limits.pages_max,
            text_max_chars=limits.text_max_chars,
            time_max_s=limits.text_max_s,
            with_front=not has_own_metadata(structure.info),
            has_writing=structure.has_writing,
        )
        page0_rotation = structure.extra.page0_rotation
        if page0_rotation is None and page0 is not None:
            # In a page tree that only pdfium can read.
            page0_rotation = int(page0.get_rotation())
    finally:
        if page0 is not None:
            page0.close()
    page0_width, page0_height = _measure_page0(document)
    language, _ = choose_language(pages.text or "", structure.extra.language_declared)
    word_count = count_words(pages.text or "") if pages.read_count else None
    extra = msgspec.structs.replace(
        structure.extra,
        page_count=len(document),
        page0_width=page0_width,
        page0_height=page0_height,
        page0_rotation=page0_rotation,
        pages_unreadable=len(pages.unreadable_pages),
        word_count=word_count.words if word_count else None,
        word_count_whitespace=word_count.whitespace if word_count else None,
        text_truncated=pages.cut_reason is not None,
        origin=pages.origin,
        language=language,
        outline=outline,
        repaired=opened_pdf.is_repaired,
        written_on=pages.annotation_count,
        pages_garbled=pages.garbled_pages or None,
        unseen=pages.hidden_texts or None,
    )
    status, message = _decide_status(pages)
    result = _build_result(status, structure, extra, pages, thumbnails, error_msg=message)
    return result, pages.blank_pages


def _open_page0(document: pypdfium2.PdfDocument) -> pypdfium2.PdfPage | None:
    """Open the first page once for both thumbnail and text, because opening it is a fifth of all
    work. Return None if pdfium cannot open it.
    """
    try:
        return document[0]
    except pypdfium2.PdfiumError:
        return None


def _measure_page0(
    document: pypdfium2.PdfDocument,
) -> tuple[float, float] | tuple[None, None]:
    """Return width and height of the first page in points, after cropping and rotation; None if
    unknown.
    """
    size = pdfium.FS_SIZEF()
    if not pdfium.FPDF_GetPageSizeByIndexF(document, 0, size):
        return None, None
    return round(size.width, 3), round(size.height, 3)


def _draw_thumbnails(page: pypdfium2.PdfPage, limits: PdfLimits) -> dict[str, bytes]:
    try:
        return draw_thumbnails(page, limits.thumbnails, pixels_max=limits.pixels_max)
    except (pypdfium2.PdfiumError, MemoryError, OSError) as error:
        logger.debug("cannot draw page 0: %s", error)
        return {}


def _decide_status(pages: PagesText) -> tuple[PdfStatus, str | None]:
    if pages.unreadable_pages:
        page_numbers = _format_numbers(pages.unreadable_pages)
        message = f"unreadable pages: {len(pages.unreadable_pages)}; the first ones: {page_numbers}"
        return PdfStatus.PARTIAL, "; ".join(filter(None, (message, pages.cut_reason)))
    if pages.cut_reason:
        return PdfStatus.TEXT_TRUNCATED, pages.cut_reason
    return PdfStatus.SUCCESS, None


def _format_numbers(pages: Sequence[int]) -> str:
    return ", ".join(str(number + 1) for number in pages[:10])


def _complete_structure(structure: PdfStructure, document: pypdfium2.PdfDocument) -> PdfStructure:
    """Add what pdfium reads from a PDF that qpdf cannot open: standard Info keys, ids, and some
    traits such as forms and attachments.
    """
    values = {key: _read_info_value(document, key) for key in document.METADATA_KEYS}
    info = {
        key: convert_pdf_date(value) if key.endswith("Date") else value
        for key, value in values.items()
        if value
    }
    extra = msgspec.structs.replace(
        structure.extra,
        permanent_id=_read_id(document, pdfium.FILEIDTYPE_PERMANENT)
        or structure.extra.permanent_id,
        update_id=_read_id(document, pdfium.FILEIDTYPE_CHANGING) or structure.extra.update_id,
        tagged=document.is_tagged(),
        form=_FORMS.get(document.get_formtype(), "none"),
        javascript=pdfium.FPDFDoc_GetJavaScriptActionCount(document) > 0,
        attachment_count=document.count_attachments(),
    )
    return replace(structure, info=info or None, extra=extra)


def _read_id(document: pypdfium2.PdfDocument, id_type: int) -> str:
    identifier: bytes = document.get_identifier(id_type)
    return identifier.hex()


def _read_info_value(document: pypdfium2.PdfDocument, key: str) -> str:
    """Read a value of the Info dictionary. It is decoded here because pypdfium2 raises an error on
    a lone surrogate.
    """
    name = key.encode() + b"\x00"
    size_bytes = pdfium.FPDF_GetMetaText(document, name, None, 0)
    buffer = ctypes.create_string_buffer(size_bytes)
    pdfium.FPDF_GetMetaText(document, name, buffer, size_bytes)
    return clean_text(buffer.raw[: max(0, size_bytes - 2)].decode("utf-16-le", "ignore"))


def _build_result(
    status: PdfStatus,
    structure: PdfStructure,
    extra: PdfExtra,
    pages: PagesText = NO_PAGES,
    thumbnails: Mapping[str, bytes] | None = None,
    error_msg: str | None = None,
) -> PdfExtraction:
    xmp = read_xmp(structure.meta_xml) if structure.meta_xml else XmpFields()
    xmp_summary = XmpSummary(
        title=xmp.title, authors=xmp.authors, doi=xmp.doi, arxiv_id=xmp.arxiv_id
    )
    rights = (*xmp.rights, *_read_info_rights(structure.info or {}))
    page0_text = (pages.text or "").partition(PAGE_SEPARATOR)[0]
    fields = extract_bibliographic(structure.info, xmp, pages.front, page0_text, pages.links)
    known = KnownFields(fields.title, fields.authors or (), fields.doi, fields.arxiv_id)
    return PdfExtraction(
        status,
        text=pages.text,
        pdf_info=structure.info,
        pdf_extra=msgspec.structs.replace(
            extra,
            **asdict(fields),
            xmp=xmp_summary if xmp_summary != XmpSummary() else None,
            bibliography=read_paper_text(pages.text, known, extra.language),
            rights=rights[:STATEMENTS_MAX] or None,
        ),
        meta_xml=structure.meta_xml,
        error_msg=error_msg,
        thumbnails=thumbnails or {},
    )


def _read_info_rights(info: Mapping[str, str]) -> list[Statement]:
    """Return the statements about rights in the Info dictionary of a PDF."""
    texts = [(name, text) for name, text in info.items() if name.lower() in _INFO_RIGHTS]
    return [
        statement
        for name, text in texts
        for statement in build_rights_statements(text, StatementSource.INFO, name)
    ]


def _build_too_large(size_bytes: int, limits: PdfLimits) -> PdfExtraction:
    message = f"the PDF has {size_bytes} bytes; the limit is {limits.size_max_bytes}"
    return PdfExtraction(PdfStatus.TOO_LARGE, error_msg=message)
