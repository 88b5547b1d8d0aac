"""Which pages of a PDF have text, as far as what is kept of it tells.

Bound: `CELLS_MAX` pages are told one by one; the text is gone through once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.extract.pdf.pages.scans import Origin
from fonds.model.pdf import PdfStatus
from fonds.model.rows import PdfMetaRow
from fonds.model.rows.row import DerivativeRow

CELLS_MAX = 500
PAGE_SEPARATOR = "\f"


@dataclass(frozen=True, slots=True)
class PageCell:
    """A page (from 1) and how many words its text has, 0 for a page read without any; None where it is not
    known."""

    page: int
    words: int | None


@dataclass(frozen=True, slots=True)
class PageStrip:
    """The first pages of `pages_total`, of which so many have text, have none, and are not known to have any.

    `origin` is how the pages came to be, judged by the first five of them: `born-digital`, `scanned`,
    `scanned-with-text`, None where it was not judged.
    """

    cells: Sequence[PageCell]
    pages_total: int
    with_text: int
    without_text: int
    unknown: int
    origin: str | None


def strip_of(derivatives: Mapping[str, DerivativeRow], text: str | None) -> PageStrip | None:
    """By the rows of what was made of a file; None for one that is no PDF, too."""
    row = next((one for one in derivatives.values() if isinstance(one, PdfMetaRow)), None)
    return page_strip(row, text) if row is not None else None


def page_strip(row: PdfMetaRow, text: str | None) -> PageStrip | None:
    """None for a PDF whose pages were not counted."""
    if not row.page_count or row.page_count < 1:
        return None
    total = row.page_count
    words = [_words(row, one) for one in (text or "").split(PAGE_SEPARATOR)[:total]]
    if not text:
        words = [0] * total if row.status == PdfStatus.SUCCESS else []
    with_text = sum(bool(count) for count in words)
    without_text = sum(count == 0 for count in words)
    shown = [*words[:CELLS_MAX], *[None] * (min(total, CELLS_MAX) - len(words))]
    said = (row.metadata or {}).get("origin")
    return PageStrip(
        cells=[PageCell(number, count) for number, count in enumerate(shown, start=1)],
        pages_total=total,
        with_text=with_text,
        without_text=without_text,
        unknown=total - with_text - without_text,
        origin=next((str(one) for one in Origin if one == said), None),
    )


def _words(row: PdfMetaRow, text: str) -> int | None:
    """Words between blanks. Where some pages could not be read, one without words may be of these."""
    count = len(text.split())
    return count if count or row.status != PdfStatus.PARTIAL else None
