"""Messages and statuses of papers: GROBID results, JATS articles and matches with the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fonds.model.capture import Capture
from fonds.model.file import FileMeta
from fonds.model.pdf import StatusClass

GROBID_EXTRACTOR = "grobid (fulltext, fonds-client/1)"
"""Version of the GROBID client and of the request that the client sends.

Change this value when the request changes. Then `fonds catchup grobid` sends all PDFs to GROBID
again.
"""
JATS_VERSION = "fonds-jats/3"
"""Version of the code of Fonds that reads JATS articles."""
MATCH_VERSION = "fonds-match/1"
"""Version of the rules for matching papers with catalogue records.

When the version changes, `fonds catchup match` matches all papers again.
"""


class GrobidStatus(StrEnum):
    """How GROBID's processing of one PDF ended.

    - `status_class`: class of the status, which decides whether a retry makes sense.
    - `status_code`: code stored if no GROBID server answered. The code is below 0, unlike an HTTP
      status.
    """

    status_class: StatusClass
    status_code: int

    def __new__(
        cls, value: str, status_class: StatusClass = StatusClass.OK, status_code: int = 0
    ) -> GrobidStatus:
        """Create a member of the enumeration of GROBID statuses, with its status class and status
        code.
        """
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
    """Response of GROBID for one PDF.

    - `status`: how the processing ended.
    - `status_code`: HTTP status, or a code below 0 if no server answered.
    - `tei`: TEI XML of the paper; None if the processing failed.
    - `error_msg`: error for people; None without an error.
    """

    status: GrobidStatus
    status_code: int
    tei: bytes | None = None
    error_msg: str | None = None


@dataclass(frozen=True, slots=True)
class UngrobidedPdf:
    """PDF that GROBID has not processed yet: payload of messages of the work topic `ungrobided`.

    `after` is set to process the PDF again: GROBID results from before this time are ignored. None
    to keep any existing result.
    """

    capture: Capture
    file: FileMeta
    after: datetime | None = None

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnreadArticle:
    """JATS article that is not read yet: payload of the work topic `unread-articles`."""

    capture: Capture
    file: FileMeta

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnmatchedPaper:
    """Paper with a bibliography that is not yet matched with the catalogue of works."""

    sha1hex: str

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.sha1hex


@dataclass(frozen=True, slots=True)
class GrobidOutput:
    """Result of GROBID for one PDF, success or failure: payload of the topic `grobid-output`.

    - `sha1hex`: SHA-1 of the PDF in hex.
    - `status`: how the processing ended.
    - `status_code`: HTTP status, or a code below 0 if no server answered.
    - `tei_xml`: TEI XML of the paper, which names the version of the GROBID server; None after a
      failure.
    - `error_msg`: error for people; None without an error.
    - `file_meta`: size, type and hashes of the PDF; None for a task whose PDF was not available.
    - `source`: capture from which the bytes were read.
    - `extractor`: version of the GROBID client and of the request that the client sends.
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
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.sha1hex


class MatchStatus(StrEnum):
    """Strength of the match between a paper or reference and a work in the catalogue."""

    EXACT = "exact"
    STRONG = "strong"
    WEAK = "weak"
    AMBIGUOUS = "ambiguous"
    NONE = "none"
