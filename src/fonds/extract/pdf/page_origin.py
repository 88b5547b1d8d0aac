"""Origin of a PDF's text: born digital, scanned, or recognised behind a scan."""

from __future__ import annotations

from enum import StrEnum

from fonds.model.pdf import SCANNED_ORIGIN


class PageOrigin(StrEnum):
    """How the text of a PDF was made: written digitally, or as pictures of pages with or without
    recognised text.
    """

    BORN_DIGITAL = "born-digital"
    SCANNED = SCANNED_ORIGIN  # pictures of pages, no text
    SCANNED_WITH_TEXT = "scanned-with-text"  # pictures of pages, with recognised text
