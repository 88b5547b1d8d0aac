"""Where the text of a PDF page comes from: written, scanned, or recognized behind a scan."""

from __future__ import annotations

from enum import StrEnum

from fonds.model.pdf import SCANNED_ORIGIN


class PageOrigin(StrEnum):
    """How the pages of a PDF came to be."""

    BORN_DIGITAL = "born-digital"
    SCANNED = SCANNED_ORIGIN  # pictures of pages, and no text
    SCANNED_WITH_TEXT = "scanned-with-text"  # pictures of pages, with recognised text
