"""Outline and page labels of a PDF, which people and catalogues cite.

Source: ISO 32000-2:2020, 12.3.3 (document outline), 12.4.2 (page labels).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.strings import clean_text

_ENTRIES_MAX, _DEPTH_MAX, _TITLE_MAX_CHARS = 1_000, 8, 300
_LABELS_MAX, _LABEL_MAX_BYTES = 2_000, 100


def read_outline(document: pypdfium2.PdfDocument) -> list[dict[str, Any]] | None:
    """`level` (from 0), `title` and `page` (from 0, or None) of each entry, 1,000 at most.

    None without an outline.
    """
    entries = []
    for entry in islice(document.get_toc(max_depth=_DEPTH_MAX), _ENTRIES_MAX):
        destination = entry.get_dest()
        page = destination.get_index() if destination is not None else None
        title = clean_text(entry.get_title()).strip()[:_TITLE_MAX_CHARS]
        entries.append({"level": entry.level, "title": title, "page": page})
    return entries or None


def read_labels(document: pypdfium2.PdfDocument) -> list[str] | None:
    """What each page is called, for 2,000 pages at most; None when they are counted from 1 anyway."""
    labels = [_label(document, number) for number in range(min(len(document), _LABELS_MAX))]
    return None if _is_plain(labels) else labels


def _is_plain(labels: Sequence[str]) -> bool:
    return all(label in ("", str(number)) for number, label in enumerate(labels, 1))


def _label(document: pypdfium2.PdfDocument, number: int) -> str:
    buffer = ctypes.create_string_buffer(_LABEL_MAX_BYTES)
    size_bytes = pdfium.FPDF_GetPageLabel(document, number, buffer, _LABEL_MAX_BYTES)
    if not 2 < size_bytes <= _LABEL_MAX_BYTES:
        return ""
    return clean_text(buffer.raw[: size_bytes - 2].decode("utf-16-le", "ignore")).strip()
