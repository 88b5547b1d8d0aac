"""Results of reading a PDF: extraction status, text, thumbnails and page views."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition, Reason, Weight, drop, quarantine
from fonds.model.errors import ConfigurationError
from fonds.model.file import FileMeta

SCANNED_ORIGIN = "scanned"
"""`origin` of a PDF whose pages are pictures without a text layer."""


class StatusClass(StrEnum):
    """Class of a status; decides whether another try on the same bytes makes sense."""

    OK = "ok"  # something was kept; not retried with the same extractor
    CONTENT = "content"  # caused by the file; not retried with the same extractor
    LIMIT = "limit"  # caused by a limit; retried when its record expires or limits change
    TRANSIENT = "transient"  # the bytes were not available; retried at any time
    INTERNAL = "internal"  # bug in Fonds; retried at any time


class PdfStatus(StrEnum):
    """How the extraction of one PDF ended; closed. `docs/pdf-statuses.md` is generated from it.

    `reason` is why a message with this status is quarantined or dropped, None if something was
    kept.
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
        """Create a status with its class, reason and a sentence for people."""
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
"""Statuses of a task that leads to no PDF, in our rows and in those of GROBID."""


def build_ending(status: PdfStatus, detail: str | None) -> Disposition:
    """Return the disposition of a message whose PDF has this status."""
    if status.reason is None:
        return DONE
    build = drop if status.reason.weight is Weight.REFUSED else quarantine
    return build(status.reason, detail or status.value)


STOPPED_STATUSES = frozenset(
    {PdfStatus.ERROR_TIMEOUT, PdfStatus.ERROR_MEMORY, PdfStatus.ERROR_CRASH}
)
"""Statuses of files that killed a reader: recorded, and not tried again for a while."""


@dataclass(frozen=True, slots=True)
class PdfExtraction:
    """Result of reading one PDF in an isolated process: plain values and image bytes.

    - `text`: pages joined with form feeds; None without text.
    - `pdf_info`: every key of the Info dictionary, dates as ISO 8601 in UTC.
    - `pdf_extra`: `page_count`, `word_count`, `page0_width`, `page0_height` (points, crop box,
      rotation applied), `permanent_id`, `update_id` (lower-case hex), `pdf_version` ("1.7"), and
      other small values.
    - `thumbnails`: images of page 0 by format (`180px-jpg`), never enlarged; {} if it cannot be
      rendered.

    Missing values are None.
    """

    status: PdfStatus
    text: str | None = None
    pdf_info: Mapping[str, str] | None = None
    pdf_extra: Mapping[str, Any] | None = None
    meta_xml: str | None = None
    error_msg: str | None = None
    thumbnails: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PdfText:
    """Message of the topic `pdf-text`; field names and types of seed 003.

    `page0_thumbnail` says whether a thumbnail was made. `source` is the capture the bytes came
    from. `extractor` names program, versions and configuration, so that re-extraction can select by
    them. `file_meta` is None for a task whose PDF was not available.
    """

    sha1hex: str
    status: PdfStatus
    text: str | None
    page0_thumbnail: bool
    meta_xml: str | None
    pdf_info: Mapping[str, str] | None
    pdf_extra: Mapping[str, Any] | None
    file_meta: FileMeta | None
    source: Capture
    extractor: str
    error_msg: str | None = None

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.sha1hex


PAGE0_FORM = "180px-jpg"
"""Thumbnail format that every PDF has; `has_page0_thumbnail` refers to it."""

_FORM = re.compile(r"([1-9]\d{1,3})px-(jpg|png|webp)", re.ASCII)
_HEIGHT_PER_WIDTH = 300 / 180


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """Message of a topic `pdf-thumbnail-SIZE-TYPE`: raw bytes, keyed by the PDF's SHA-1.

    The format `form` (`180px-jpg`) is in the topic's name and not in the message.
    """

    sha1hex: str
    form: str
    image: bytes

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.sha1hex

    @property
    def tag(self) -> str:
        """Format; each has its own topic."""
        return self.form


def parse_thumbnail_form(form: str) -> tuple[int, int, str]:
    """Return maximum width and height in pixels, and `jpg`, `png` or `webp`, of a format such as
    `360px-webp`.

    The box has the shape of the seed's 180x300. Raises ConfigurationError.
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
    """Word and its box in pixels of the image, y downwards.

    `is_joined` says that it continues the previous word without a space: after a hyphen at a line
    end, and in scripts without spaces, where each character is a word.
    """

    text: str
    is_joined: bool
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class PageView:
    """Rendered page of a PDF.

    - `image`: WebP of `width` x `height` pixels; None if the page cannot be rendered, and `error`
      explains it.
    - `words`: words of the text layer in its order.
    - `page_count`: 0 means unknown.
    """

    image: bytes | None
    width: int = 0
    height: int = 0
    words: tuple[PlacedWord, ...] = ()
    page_count: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """Limits for rendering a page.

    - `width_max`, `height_max`, `pixels_max`: size of the image in pixels.
    - `scale_max`: pixels per point.
    - `size_max_bytes`: size of the PDF.
    - `words_max`: number of words with positions.
    """

    width_max: int = 1_200
    height_max: int = 1_800
    scale_max: float = 4.0
    pixels_max: int = 50_000_000
    size_max_bytes: int = 256 * 2**20
    words_max: int = 20_000
