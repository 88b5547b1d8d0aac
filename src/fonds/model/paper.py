"""Messages and statuses of papers: GROBID, JATS articles and catalogue matching."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fonds.model.capture import Capture
from fonds.model.file import FileMeta
from fonds.model.pdf import StatusClass

GROBID_EXTRACTOR = "grobid (fulltext, fonds-client/1)"
"""Identifies our client and its request. Change it with the request; `fonds catchup grobid` then
asks again.
"""
JATS_VERSION = "fonds-jats/3"
"""Version of the JATS reader."""
MATCH_VERSION = "fonds-match/1"
"""Version of the match rules. When it changes, `fonds catchup match` matches all papers again."""


class GrobidStatus(StrEnum):
    """How GROBID's reading of one PDF ended; closed.

    `status_code` is stored if no server answered; it is below 0, unlike an HTTP status.
    """

    status_class: StatusClass
    status_code: int

    def __new__(
        cls, value: str, status_class: StatusClass = StatusClass.OK, status_code: int = 0
    ) -> GrobidStatus:
        """Create a status with its class and code."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.status_class = status_class
        member.status_code = status_code
        return member

    SUCCESS = "success", StatusClass.OK
    NO_CONTENT = "no-content", StatusClass.CONTENT  # the PDF has no text
    ERROR = "error", StatusClass.CONTENT  # GROBID reported an error
    BAD_XML = "bad-grobid-xml", StatusClass.CONTENT  # the response is not TEI
    TIMEOUT = "error-timeout", StatusClass.LIMIT, -4
    BLOB_TOO_LARGE = "blob-too-large", StatusClass.LIMIT, -5
    TEI_TOO_LARGE = "tei-too-large", StatusClass.LIMIT
    SOURCE = "error-source", StatusClass.TRANSIENT, -6  # the PDF's bytes were not available
    NOT_PDF = "not-pdf", StatusClass.CONTENT, -7  # a task led to other bytes
    EMPTY_BLOB = "empty-blob", StatusClass.CONTENT, -8  # a task led to no bytes
    TOO_LARGE = "too-large", StatusClass.LIMIT, -9  # a task led to a file over the size limit


@dataclass(frozen=True, slots=True)
class GrobidResponse:
    """Response of GROBID for one PDF. `status_code` is the HTTP status, `tei` the body."""

    status: GrobidStatus
    status_code: int
    tei: bytes | None = None
    error_msg: str | None = None


@dataclass(frozen=True, slots=True)
class UngrobidedPdf:
    """PDF that GROBID has not read yet: the message of the work topic `ungrobided`.

    `after` is set to read it again: results from before that time are ignored.
    """

    capture: Capture
    file: FileMeta
    after: datetime | None = None

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnreadArticle:
    """JATS article that is not read yet: the message of the work topic `unread-articles`."""

    capture: Capture
    file: FileMeta

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnmatchedPaper:
    """Paper with a bibliography that is not matched with the catalogue yet."""

    sha1hex: str

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.sha1hex


@dataclass(frozen=True, slots=True)
class GrobidOutput:
    """Result of GROBID, success or failure: the message of the topic `grobid-output`.

    `source` is the capture the bytes came from. `file_meta` is None for a task whose PDF was not
    available. `extractor` identifies our client and its request; the TEI names the server's
    version.
    """

    sha1hex: str
    status: GrobidStatus
    status_code: int
    tei_xml: str | None
    error_msg: str | None
    file_meta: FileMeta | None
    source: Capture
    extractor: str

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.sha1hex


class MatchStatus(StrEnum):
    """Confidence of a match with a work; closed."""

    EXACT = "exact"
    STRONG = "strong"
    WEAK = "weak"
    AMBIGUOUS = "ambiguous"
    NONE = "none"
