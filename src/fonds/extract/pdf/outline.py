"""Outline and page labels of a PDF, which people and catalogues cite.

Source: ISO 32000-2:2020, 12.3.3 (document outline), 12.4.2 (page labels).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pikepdf
import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.strings import clean_text

_ENTRIES_MAX, _DEPTH_MAX, _TITLE_MAX_CHARS = 1_000, 8, 300
_TITLE_MAX_BYTES = 8_192
_LABELS_MAX = 2_000


def read_outline(document: pypdfium2.PdfDocument) -> list[dict[str, Any]] | None:
    """`level` (from 0), `title` and `page` (from 0, or None) of each entry, 1,000 at most.

    None without an outline.
    """
    entries = []
    for entry in islice(document.get_toc(max_depth=_DEPTH_MAX), _ENTRIES_MAX):
        destination = entry.get_dest()
        page = destination.get_index() if destination is not None else None
        entries.append({"level": entry.level, "title": _title(entry), "page": page})
    return entries or None


def _title(entry: pypdfium2.PdfBookmark) -> str:
    """Decoded here: the wrapper's own way raises on a lone surrogate."""
    size_bytes = min(pdfium.FPDFBookmark_GetTitle(entry, None, 0), _TITLE_MAX_BYTES)
    buffer = ctypes.create_string_buffer(_TITLE_MAX_BYTES)
    if pdfium.FPDFBookmark_GetTitle(entry, buffer, _TITLE_MAX_BYTES) > _TITLE_MAX_BYTES:
        return ""
    text = buffer.raw[: max(0, size_bytes - 2)].decode("utf-16-le", "ignore")
    return clean_text(text).strip()[:_TITLE_MAX_CHARS]


def read_labels(pdf: pikepdf.Pdf) -> list[str] | None:
    """What each page is called, for 2,000 pages at most; None when they are counted from 1 anyway.

    qpdf reads them: pdfium does not survive a tree of labels that is its own kid.
    """
    if "/PageLabels" not in pdf.Root:
        return None
    pages = pdf.pages
    labels = [clean_text(str(pages[n].label)).strip() for n in range(min(len(pages), _LABELS_MAX))]
    return None if _is_plain(labels) else labels


def _is_plain(labels: Sequence[str]) -> bool:
    return all(label in ("", str(number)) for number, label in enumerate(labels, 1))
