"""PDFs of a home that has one of everything: bodies, rows, documents, pictures."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, timedelta

from PIL import Image, ImageDraw

from fonds.extract.file_meta import describe
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from fonds.kinds.known_pdfs import forget
from fonds.model.document import IndexDocument
from fonds.model.file import Kind, Unextracted
from fonds.model.pdf import PdfExtraction, PdfText, Thumbnail
from fonds.model.rows import (
    PdfMetaRow,
)
from fonds.ports import Stores
from fonds.steps.pdf.extract_pdf import ExtractPdf
from fonds.steps.pdf.persist_pdf_text import PersistPdfText
from fonds.steps.pdf.persist_thumbnail import PersistThumbnail
from fonds.wiring.steps import take_known
from home_rows import NOW, Body, capture_of


def pdf(number: int, url: str) -> Body:
    content = b"%%PDF-1.7\n%% report %d\n%%%%EOF\n" % number
    return Body(number, url, NOW - timedelta(days=number), "application/pdf", content)


def import_pdf(
    stores: Stores, body: Body, collection: str = "default", thumbnails: tuple[str, ...] = ()
) -> PdfText:
    """Read an archived PDF with its pictures, and write down what was read. Return what was read."""
    capture = capture_of(body, collection)

    def read(content: bytes) -> PdfExtraction:
        return extract_pdf_bytes(content, PdfLimits(thumbnails=thumbnails))

    extract = ExtractPdf(stores.archive, read, read, "pdf/1", forget, take_known)
    result = extract(Unextracted(capture, describe(body.content, body.mime)))
    pictures = [item for item in result.items if isinstance(item, Thumbnail)]
    PersistThumbnail(stores.blobs, stores.records)(pictures)
    (text,) = (item for item in result.items if isinstance(item, PdfText))
    PersistPdfText(stores.records, stores.blobs, stores.index, lambda: NOW, 1.0)([text])
    return text


def pdf_row(body: Body, title: str, pages: int, words: int) -> PdfMetaRow:
    return PdfMetaRow(
        sha1hex=body.sha1hex,
        updated=NOW,
        status="success",
        has_page0_thumbnail=True,
        page_count=pages,
        word_count=words,
        page0_height=841.9,
        page0_width=595.3,
        permanent_id=None,
        pdf_created=datetime(2019, 4, 1, 12, tzinfo=UTC),
        pdf_version="1.7",
        metadata={
            "title": title,
            "author": "The River Authority",
            "producer": "LaTeX",
            "form": "none",
        },
        extractor="pdfium 5.15",
        error_msg=None,
    )


def pdf_document(body: Body, title: str, pages: int, text: str) -> IndexDocument:
    return IndexDocument(
        id=body.sha1hex,
        sha1hex=body.sha1hex,
        kind=Kind.PDF,
        url=body.url,
        canonical_domain=body.url.split("/")[2],
        publication_date=date(2019, 4, 1),
        language="en",
        article_title=title,
        text_content=text,
        indexed_date=NOW,
        collection="reports",
        page_count=pages,
        word_count=len(text.split()),
        has_thumbnail=True,
    )


def jpeg(seed: int) -> bytes:
    """A page with lines of different lengths, as the thumbnail of a text looks."""
    page = Image.new("RGB", (180, 254), "white")
    draw = ImageDraw.Draw(page)
    draw.rectangle((22, 24, 60 + seed % 80, 34), fill="black")
    for line in range(22):
        draw.line(
            (22, 52 + 8 * line, 120 + (seed * 7 + line * 31) % 38, 52 + 8 * line),
            fill="grey",
            width=2,
        )
    out = io.BytesIO()
    page.save(out, "JPEG")
    return out.getvalue()
