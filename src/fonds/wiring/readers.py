"""Creation of the native parsers (of PDFs, pages and XML), which run in isolated processes.

The processes start when the first body is parsed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fonds.config import Settings
from fonds.derivatives.kind import ExtractorNames
from fonds.extract.page_extraction import EXTRACTOR, PageExtraction
from fonds.extract.pdf.limits import PdfLimits, name_extractor
from fonds.isolation.calls import ChildLimits, NamedFunction
from fonds.isolation.pool import ChildPool, FileCall
from fonds.model.paper import GROBID_EXTRACTOR
from fonds.model.pdf import PAGE0_FORM, PageView, PdfExtraction, ViewLimits, parse_thumbnail_form
from fonds.ports import Isolate
from fonds.viewer.pdf_pages import DRAWING_MAX, PageViews
from fonds.wiring.flavours import list_extra_thumbnails

if TYPE_CHECKING:
    from fonds.papers.bibliography.jats import JatsReading
    from fonds.papers.bibliography.tei import (
        BibliographyReading,
    )

TEXT_SHARE = (
    0.6  # share of a PDF's time limit for its text, so that the other results are still saved
)
SALVAGE_S = 10.0
PAGE_VIEW_S, VIEW_MAX_BYTES = 20.0, 16 * 2**20
MEMORY_MIN_BYTES, MEMORY_FACTOR = 640 * 2**20, 8
PARSE_PAGE = NamedFunction("fonds.extract.page", "parse_page", PageExtraction)
EXTRACT_PDF = NamedFunction("fonds.extract.pdf.extraction", "extract_pdf", PdfExtraction)


@dataclass(frozen=True, slots=True)
class Readers:
    """Native parsers that run in isolated processes.

    `pool`: the processes.
    `extract`: reads text, metadata and thumbnails of a PDF.
    `salvage`: reads only the metadata of a PDF, in at most 10 seconds.
    `parse`: extracts a story from a page.
    `read_tei`: reads the TEI XML that GROBID returns for a paper.
    `read_jats`: reads a JATS XML article.
    `pdf_extractor`, `page_extractor`: names of the PDF and page parsers, with versions and limits.
    """

    pool: ChildPool
    extract: Callable[[bytes], PdfExtraction]
    salvage: Callable[[bytes], PdfExtraction]
    parse: Callable[[bytes, str, str | None, datetime, bool, bool], PageExtraction]
    read_tei: Callable[[bytes], BibliographyReading]
    read_jats: Callable[[bytes], JatsReading]
    pdf_extractor: str
    page_extractor: str

    def close(self) -> None:
        """End the isolated processes of the parsers."""
        self.pool.close()


def open_readers(spool: Path, settings: Settings) -> Readers:
    """Create the native parsers. Bodies are passed to their processes in files below the folder
    `spool`.

    Raises ConfigurationError if full isolation is required but not possible.
    """
    from fonds.papers.bibliography.jats import (
        read_jats_body,
    )
    from fonds.papers.bibliography.tei import read_tei_body

    spool.mkdir(parents=True, exist_ok=True)
    pdf = ChildLimits(wall_s=settings.pdf.timeout_s, memory_bytes=settings.work.child_memory_bytes)
    page = replace(pdf, wall_s=settings.page.timeout_s)
    requires_isolation = settings.isolation == "required"
    pool = ChildPool(settings.work.children or count_cores(), pdf, required=requires_isolation)
    if requires_isolation:
        _refuse_less(pool)
    pdf_limits = build_pdf_limits(settings)
    text_limits = replace(pdf_limits, pages_max=0, thumbnails=())
    salvage_limits = replace(pdf, wall_s=min(SALVAGE_S, settings.pdf.timeout_s))
    return Readers(
        pool,
        extract=FileCall(partial(_limit_pool, pool, pdf), EXTRACT_PDF, (pdf_limits,), spool),
        salvage=FileCall(
            partial(_limit_pool, pool, salvage_limits), EXTRACT_PDF, (text_limits,), spool
        ),
        parse=partial(pool.with_limits(page), PARSE_PAGE),
        read_jats=FileCall(partial(_limit_pool, pool, page), read_jats_body, (), spool),
        read_tei=FileCall(partial(_limit_pool, pool, page), read_tei_body, (), spool),
        pdf_extractor=name_pdf_extractor(settings),
        page_extractor=EXTRACTOR,
    )


def open_page_views(spool: Path, settings: Settings) -> PageViews:
    """Create the renderer of PDF pages for display in the browser, in isolated processes of its
    own.

    Bodies are passed in files below the folder `spool`. Raises ConfigurationError if full isolation
    is required but not possible.
    """
    from fonds.extract.pdf.page_view import draw_page_view, name_renderer

    with suppress(OSError):
        spool.mkdir(parents=True, exist_ok=True)
    # Pages of a read-only library (home) are rendered too.
    folder = spool if os.access(spool, os.W_OK) else Path(tempfile.gettempdir())
    wall_s = min(PAGE_VIEW_S, settings.pdf.timeout_s)
    limits = ChildLimits(wall_s=wall_s, memory_bytes=settings.work.child_memory_bytes)
    requires_isolation = settings.isolation == "required"
    pool = ChildPool(
        DRAWING_MAX, replace(limits, output_max_bytes=VIEW_MAX_BYTES), required=requires_isolation
    )
    if requires_isolation:
        _refuse_less(pool)
    view = ViewLimits(pixels_max=settings.pdf.pixels_max, size_max_bytes=settings.pdf.max_bytes)

    def draw(body: bytes, number: int) -> PageView:
        isolate = partial(_limit_pool, pool, pool.limits)
        return FileCall(isolate, draw_page_view, (number, view), folder)(body)

    return PageViews(draw, name_renderer(view), close=pool.close)


def _refuse_less(pool: ChildPool) -> None:
    try:
        pool.get_layers()
    except BaseException:
        pool.close()
        raise


def _limit_pool(pool: ChildPool, limits: ChildLimits, size_bytes: int) -> Isolate:
    """Return the isolated processes, with a memory limit that depends on the size of the body to
    parse.

    A small file gets less memory than a large one may need.
    """
    memory_bytes = min(limits.memory_bytes, MEMORY_MIN_BYTES + MEMORY_FACTOR * size_bytes)
    return pool.with_limits(replace(limits, memory_bytes=memory_bytes))


def name_pdf_extractor(settings: Settings) -> str:
    """Return the name of the PDF parser: program, versions and the configured limits."""
    return name_extractor(build_pdf_limits(settings))


def name_extractors(settings: Settings) -> ExtractorNames:
    """Return the names of all extractors, with their versions and the configured limits."""
    return ExtractorNames(pdf=name_pdf_extractor(settings), page=EXTRACTOR, grobid=GROBID_EXTRACTOR)


def build_pdf_limits(settings: Settings) -> PdfLimits:
    """Return the configured limits for reading one PDF.

    Raises ConfigurationError for an invalid thumbnail format.
    """
    forms = (PAGE0_FORM, *list_extra_thumbnails(settings))
    for form in forms:
        parse_thumbnail_form(form)
    return PdfLimits(
        pages_max=settings.pdf.pages_max,
        pixels_max=settings.pdf.pixels_max,
        size_max_bytes=settings.pdf.max_bytes,
        text_max_s=TEXT_SHARE * settings.pdf.timeout_s,
        thumbnails=tuple(dict.fromkeys(forms)),
    )


def count_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))
