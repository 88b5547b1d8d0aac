"""Results of reading a PDF: extraction status, text, thumbnails, and images of pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition, Reason, Weight, drop, quarantine
from fonds.model.errors import ConfigurationError
from fonds.model.file import FileMeta
from fonds.model.pdf_extra import PdfExtra

SCANNED_ORIGIN = "scanned"
"""Value of the metadata field `origin` for a PDF whose pages are pictures without a text layer."""


class StatusClass(StrEnum):
    """Class of an extraction status, which says who or what caused the result.

    The class decides whether to read the same bytes again.
    """

    OK = "ok"  # something was kept; not retried with the same extractor
    CONTENT = "content"  # caused by the file; not retried with the same extractor
    LIMIT = "limit"  # caused by a limit; retried when its record expires or limits change
    TRANSIENT = "transient"  # the bytes were not available; retried at any time
    INTERNAL = "internal"  # bug in Fonds; retried at any time


class PdfStatus(StrEnum):
    """How the text extraction from one PDF ended.

    - `status_class`: class of the status, which decides whether a retry makes sense.
    - `reason`: reason why the message of the PDF is quarantined or dropped; None if text or
      metadata was kept.
    - `explanation`: explanation of the status for people.

    The page `docs/pdf-statuses.md` is generated from this list.
    """

    status_class: StatusClass
    reason: Reason | None
    explanation: str

    def __new__(
        cls,
        value: str,
        status_class: StatusClass = StatusClass.OK,
        reason: Reason | None = None,
        explanation: str = "",
    ) -> PdfStatus:
        """Create a member of the enumeration of PDF statuses, with its status class, reason and
        explanation.
        """
        member = str.__new__(cls, value)
        member._value_ = value
        member.status_class = status_class
        member.reason = reason
        member.explanation = explanation
        return member

    SUCCESS = "success", StatusClass.OK, None, "the whole file was read"
    TEXT_TRUNCATED = (
        "text-truncated",
        StatusClass.OK,
        None,
        (
            "the text was cut at the limit of characters, pages or seconds; everything else "
            "is complete"
        ),
    )
    PARTIAL = (
        "partial",
        StatusClass.OK,
        None,
        ("some pages could not be read; the others were read"),
    )

    NOT_PDF = (
        "not-pdf",
        StatusClass.CONTENT,
        Reason.UNSUPPORTED_TYPE,
        "the file is not a PDF, whatever type was declared",
    )
    EMPTY_BLOB = "empty-blob", StatusClass.CONTENT, Reason.EMPTY_BODY, "the file is empty"
    PARSE_ERROR = (
        "parse-error",
        StatusClass.CONTENT,
        Reason.BROKEN_PDF,
        "neither PDF reader can open it, even after repair",
    )
    EMPTY_PDF = "empty-pdf", StatusClass.CONTENT, Reason.BROKEN_PDF, "the PDF has no pages"
    ENCRYPTED = (
        "encrypted",
        StatusClass.CONTENT,
        Reason.ENCRYPTED_PDF,
        "the PDF needs a password; its unencrypted parts are kept",
    )

    TOO_LARGE = "too-large", StatusClass.LIMIT, Reason.TOO_LARGE, "larger than the size limit"
    ERROR_TIMEOUT = (
        "error-timeout",
        StatusClass.LIMIT,
        Reason.TIMEOUT,
        "reading it was stopped at the limit of wall-clock or processor time",
    )
    ERROR_MEMORY = (
        "error-memory",
        StatusClass.LIMIT,
        Reason.OUT_OF_MEMORY,
        "reading it exceeded the reader's memory limit",
    )
    ERROR_CRASH = (
        "error-crash",
        StatusClass.LIMIT,
        Reason.CRASHED_READER,
        "the isolated reader crashed on it",
    )

    ERROR_SOURCE = (
        "error-source",
        StatusClass.TRANSIENT,
        Reason.MISSING_SOURCE,
        "its bytes are missing from their location, or have changed",
    )
    ERROR_INTERNAL = (
        "error-internal",
        StatusClass.INTERNAL,
        Reason.INTERNAL_ERROR,
        "a bug in Fonds; please report it",
    )


FILELESS_STATUSES = frozenset(
    map(str, (PdfStatus.NOT_PDF, PdfStatus.EMPTY_BLOB, PdfStatus.TOO_LARGE, PdfStatus.ERROR_SOURCE))
)
"""Statuses of a task whose location leads to no PDF, in rows of text extraction and of GROBID."""


def build_ending(status: PdfStatus, detail: str | None) -> Disposition:
    """Return the disposition (recorded end) of the message of a PDF with this extraction status.

    `detail` is a sentence for people; the name of the status is used if `detail` is None or "".
    """
    if status.reason is None:
        return DONE
    build = drop if status.reason.weight is Weight.REJECTED else quarantine
    return build(status.reason, detail or status.value)


STOPPED_STATUSES = frozenset(
    {PdfStatus.ERROR_TIMEOUT, PdfStatus.ERROR_MEMORY, PdfStatus.ERROR_CRASH}
)
"""Statuses of PDFs that killed a reader: recorded, and not read again for a while."""


@dataclass(frozen=True, slots=True)
class PdfExtraction:
    """Result of reading one PDF in an isolated process: plain values and image bytes.

    - `text`: pages joined with form feeds; None without text.
    - `pdf_info`: every key of the Info dictionary, dates as ISO 8601 in UTC.
    - `pdf_extra`: page count, sizes, ids, and other small values.
    - `thumbnails`: images of page 0 by format (`180px-jpg`), never enlarged; {} if it cannot be
      rendered.

    Missing values are None.
    """

    status: PdfStatus
    text: str | None = None
    pdf_info: Mapping[str, str] | None = None
    pdf_extra: PdfExtra | None = None
    meta_xml: str | None = None
    error_msg: str | None = None
    thumbnails: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PdfText:
    """Text and metadata of one PDF: payload of the topic `pdf-text`; field names of seed document
    003.

    - `sha1hex`: SHA-1 of the PDF in hex.
    - `status`: how the extraction ended.
    - `page0_thumbnail`: whether a thumbnail of the first page was made.
    - `file_meta`: size, type and hashes of the PDF; None for a task whose PDF was not available.
    - `source`: capture from which the bytes were read.
    - `extractor`: program, versions and configuration of the extraction, so that PDFs read by an
      older extractor can be selected and read again.

    The fields `text`, `meta_xml`, `pdf_info`, `pdf_extra` and `error_msg` are as in
    `PdfExtraction`; a missing value is None.
    """

    sha1hex: str
    status: PdfStatus
    text: str | None
    page0_thumbnail: bool
    meta_xml: str | None
    pdf_info: Mapping[str, str] | None
    pdf_extra: PdfExtra | None
    file_meta: FileMeta | None
    source: Capture
    extractor: str
    error_msg: str | None = None

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the PDF in hex."""
        return self.sha1hex


PAGE0_FORM = "180px-jpg"
"""Thumbnail format that Fonds makes for every PDF.

The column `has_page0_thumbnail` says whether a thumbnail of this format exists.
"""

_FORM = re.compile(r"([1-9]\d{1,3})px-(jpg|png|webp)", re.ASCII)
_HEIGHT_PER_WIDTH = 300 / 180


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """Image of the first page of a PDF: payload of a topic `pdf-thumbnail-SIZE-TYPE`.

    The message body is the raw image, and the message key is the SHA-1 of the PDF. The thumbnail
    format `form`, such as `180px-jpg`, is in the topic's name and not in the message.
    """

    sha1hex: str
    form: str
    image: bytes

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the PDF in hex."""
        return self.sha1hex

    @property
    def tag(self) -> str:
        """Thumbnail format, such as `180px-jpg`; each format has a topic of its own."""
        return self.form


def parse_thumbnail_form(form: str) -> tuple[int, int, str]:
    """Parse a thumbnail format such as `360px-webp`.

    Returns the maximum width and maximum height in pixels, and `jpg`, `png` or `webp`. The ratio of
    height to width is 300 to 180. Raises ConfigurationError for an invalid format or a width
    outside 10 to 2000.
    """
    match = _FORM.fullmatch(form)
    if match is None or int(match[1]) > 2000:
        raise ConfigurationError(
            f"{form!r} is not a thumbnail format. Write WIDTHpx-TYPE with a width of 10 "
            "to 2000 and jpg, png or webp, for example 360px-webp"
        )
    width = int(match[1])
    return width, round(width * _HEIGHT_PER_WIDTH), match[2]


# Page of a PDF for reading on a screen: its image and the positions of its words.


class PlacedWord(NamedTuple):
    """Word on the image of a PDF page, with its bounding box.

    - `left`, `top`, `right`, `bottom`: bounding box in pixels of the image, with y growing
      downwards.
    - `is_joined`: whether the word continues the previous word without a space. This happens after
      a hyphen at a line end, and in scripts without spaces, where each character is a word.
    """

    text: str
    is_joined: bool
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class PageView:
    """Page of a PDF, rendered for reading on a screen.

    - `image`: WebP image; None if the page cannot be rendered.
    - `width`, `height`: size of the image in pixels.
    - `words`: words of the page's text layer, in the order of the text layer.
    - `page_count`: number of pages of the PDF; 0 if unknown.
    - `error`: sentence that explains why the page cannot be rendered; None without an error.
    """

    image: bytes | None
    width: int = 0
    height: int = 0
    words: tuple[PlacedWord, ...] = ()
    page_count: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """Limits for rendering a page of a PDF as an image.

    - `width_max`, `height_max`: maximum width and height of the image, in pixels.
    - `pixels_max`: maximum number of pixels of the image.
    - `scale_max`: maximum number of pixels per PDF point.
    - `size_max_bytes`: maximum size of the PDF file.
    - `words_max`: maximum number of words returned with positions.
    """

    width_max: int = 1_200
    height_max: int = 1_800
    scale_max: float = 4.0
    pixels_max: int = 50_000_000
    size_max_bytes: int = 256 * 2**20
    words_max: int = 20_000
