"""Papers on their way to GROBID and back, and the versions and statuses of what is read and matched."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fonds.model.capture import Capture
from fonds.model.file import FileMeta
from fonds.model.pdf import StatusClass

GROBID_EXTRACTOR = "grobid (fulltext, fonds-client/1)"
"""Names our client and what it asks for. Another name when something else is asked for: then
`fonds catchup grobid` asks anew."""
JATS_VERSION = "fonds-jats/3"
"""Version of the JATS reader."""
MATCH_VERSION = "fonds-match/1"
"""Version of the match rules. When it changes, `fonds catchup match` matches all papers again."""


class GrobidStatus(StrEnum):
    """How GROBID's reading of one PDF ended; closed. `status_code` is what is kept where no server
    answered, below 0 as no HTTP status is."""

    status_class: StatusClass
    status_code: int

    def __new__(
        cls, value: str, status_class: StatusClass = StatusClass.OK, status_code: int = 0
    ) -> GrobidStatus:
        """Attach to the status its class and its code."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.status_class = status_class
        member.status_code = status_code
        return member

    SUCCESS = "success", StatusClass.OK
    NO_CONTENT = "no-content", StatusClass.CONTENT  # there was no text in it
    ERROR = "error", StatusClass.CONTENT  # GROBID failed on it, and said so
    BAD_XML = "bad-grobid-xml", StatusClass.CONTENT  # what came is no TEI
    TIMEOUT = "error-timeout", StatusClass.LIMIT, -4
    BLOB_TOO_LARGE = "blob-too-large", StatusClass.LIMIT, -5
    TEI_TOO_LARGE = "tei-too-large", StatusClass.LIMIT
    SOURCE = "error-source", StatusClass.TRANSIENT, -6  # the PDF's bytes could not be had
    NOT_PDF = "not-pdf", StatusClass.CONTENT, -7  # a task led to other bytes
    EMPTY_BLOB = "empty-blob", StatusClass.CONTENT, -8  # a task led to no bytes
    TOO_LARGE = "too-large", StatusClass.LIMIT, -9  # a task led to more bytes than are read


@dataclass(frozen=True, slots=True)
class GrobidResponse:
    """What came of asking GROBID about one PDF. `status_code` is the HTTP status; `tei` what it sent."""

    status: GrobidStatus
    status_code: int
    tei: bytes | None = None
    error_msg: str | None = None


@dataclass(frozen=True, slots=True)
class UngrobidedPdf:
    """A PDF GROBID has not read yet: the message of the work topic `ungrobided`.

    `after` is set when it is to be read again: what was known of it before that moment does not count.
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
    """An article in JATS that was not read yet: the message of the work topic `unread-articles`."""

    capture: Capture
    file: FileMeta

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnmatchedPaper:
    """A paper whose bibliography is there and was not held against the catalogue yet."""

    sha1hex: str

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.sha1hex


@dataclass(frozen=True, slots=True)
class GrobidOutput:
    """The message of the topic `grobid-output`: how it ended, whatever way, and the TEI.

    `source` is the capture the bytes came from, `file_meta` None for a task whose PDF could not be had.
    `extractor` names our client and what it asks for; the server's own version stands in the TEI.
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
    """How surely a work was found; closed."""

    EXACT = "exact"
    STRONG = "strong"
    WEAK = "weak"
    AMBIGUOUS = "ambiguous"
    NONE = "none"
