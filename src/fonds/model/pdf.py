"""What is learned from one PDF; the message of the topic `pdf-text`, and the thumbnail beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fonds.model.capture import Capture
from fonds.model.disposition import Reason
from fonds.model.file import FileMeta


class PdfStatus(StrEnum):
    """How the extraction of one PDF ended; closed. `reason` is None where something was kept."""

    reason: Reason | None

    def __new__(cls, value: str, reason: Reason | None = None) -> PdfStatus:
        """Attach the reason a message with this status is quarantined for."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.reason = reason
        return member

    SUCCESS = "success", None
    TEXT_TRUNCATED = "text-truncated", None  # text cut at a limit, the rest is complete
    PARTIAL = "partial", None  # some pages could not be read
    PARSE_ERROR = "parse-error", Reason.BROKEN_PDF
    ENCRYPTED = "encrypted", Reason.ENCRYPTED_PDF
    EMPTY_PDF = "empty-pdf", Reason.BROKEN_PDF  # opens, and has no pages
    TOO_LARGE = "too-large", Reason.TOO_LARGE
    ERROR_TIMEOUT = "error-timeout", Reason.TIMEOUT
    ERROR_MEMORY = "error-memory", Reason.OUT_OF_MEMORY
    ERROR_CRASH = "error-crash", Reason.CRASHED_READER


@dataclass(frozen=True, slots=True)
class PdfExtraction:
    """The outcome of reading one PDF in an isolated process: plain values and the thumbnail's bytes.

    `text` joins the pages with form feeds; None when there is none. `pdf_info` holds every key of the
    Info dictionary, dates as ISO 8601 in UTC. `pdf_extra` holds `page_count`, `word_count`,
    `page0_width`, `page0_height` (points, crop box, rotation applied), `permanent_id`, `update_id`
    (lower-case hex), `pdf_version` ("1.7"), and what else is small. Absent things are None.
    `thumbnail_jpeg` is page 0 within 180x300 pixels, never enlarged; None when it cannot be drawn.
    """

    status: PdfStatus
    text: str | None = None
    pdf_info: Mapping[str, str] | None = None
    pdf_extra: Mapping[str, Any] | None = None
    meta_xml: str | None = None
    error_msg: str | None = None
    thumbnail_jpeg: bytes | None = None


@dataclass(frozen=True, slots=True)
class PdfText:
    """The message of the topic `pdf-text`; field names and types of seed 003.

    `page0_thumbnail` says that a thumbnail was made. `source` is the capture the bytes came from.
    `extractor` names program and version, so that re-extraction can go by version.
    """

    sha1hex: str
    status: PdfStatus
    text: str | None
    page0_thumbnail: bool
    meta_xml: str | None
    pdf_info: Mapping[str, str] | None
    pdf_extra: Mapping[str, Any] | None
    file_meta: FileMeta
    source: Capture
    extractor: str
    error_msg: str | None = None


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """The message of the topic `pdf-thumbnail-180px-jpg`: raw JPEG bytes, keyed by the PDF's SHA-1."""

    sha1hex: str
    jpeg: bytes
