"""Files, identified by their SHA-1, and the properties that `identify` finds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fonds.model.capture import Capture
from fonds.model.keys import parse_sha1
from fonds.model.rights import NO_RIGHTS, Rights

REVISIT = "revisit"
"""Tag of an identified capture without bytes."""


PLAIN_TEXT = "text/plain"
PAGE_TYPES = ("text/html", "application/xhtml+xml", PLAIN_TEXT)
"""Types of files that are read as stories. Plain text is one only if a link led to it."""


ROBOTS_TXT, TDMREP = "text/x-robots", "application/tdmrep+json"
"""Types of `/robots.txt` and `/.well-known/tdmrep.json`. Neither is registered."""


class Kind(StrEnum):
    """Kind of a file in Fonds; the value is used on the command line and in the index."""

    PDF = "pdf"
    STORY = "story"
    JATS = "jats"
    UNREAD = "unread"  # kept, but no text is read from it
    OTHER = "other"


SEARCHED_KINDS = (Kind.PDF, Kind.STORY, Kind.JATS)
"""Kinds of files that have documents in the index. Fonds reads no text from the others."""


@dataclass(frozen=True, slots=True)
class FileMeta:
    """Seven fields of `file:meta`; hashes in lower-case hex, size in bytes.

    Source: seed 000, `file:meta`. `mime` is normalized, `magic` describes the bytes,
    `magic_mime` is the type found from the bytes alone.
    """

    size: int
    mime: str
    magic: str
    magic_mime: str
    sha1: str
    md5: str
    sha256: str

    @property
    def kind(self) -> Kind:
        """Kind of the file, which determines its steps."""
        return classify_mime(self.mime)


def classify_mime(mime: str) -> Kind:
    """Return the kind of files of a type."""
    if mime == "application/pdf":
        return Kind.PDF
    if mime in PAGE_TYPES:
        return Kind.STORY
    if mime == "application/jats+xml":
        return Kind.JATS
    if mime in ("application/epub+zip", "application/postscript", ROBOTS_TXT, TDMREP):
        return Kind.UNREAD
    return Kind.OTHER


@dataclass(frozen=True, slots=True)
class RevisitReference:
    """What a revisit record says about the body it refers to.

    `url` and `captured_at` are those of the original capture. `digest` is as written (`sha256:…`),
    "" for none. `record_id` is that of the original record, `urn:uuid:…` without brackets.
    """

    url: str = ""
    captured_at: datetime | None = None
    digest: str = ""
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class IdentifiedCapture:
    """Capture whose bytes were read and hashed; whether they are new is not known yet.

    - `file`: None for a revisit, which has no bytes.
    - `charset`: that of the HTTP Content-Type, if the server sent one.
    - `refers_to`: set for a revisit whose record was read.
    - `rights`: what the response and its host state.
    - `host_text`: text of a robots.txt or tdmrep.json.
    """

    capture: Capture
    file: FileMeta | None
    charset: str | None = None
    refers_to: RevisitReference | None = None
    rights: Rights = NO_RIGHTS
    host_text: str | None = None

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex; "" for a revisit."""
        return self.file.sha1 if self.file else ""

    @property
    def sha1hex(self) -> str | None:
        """SHA-1 of the bytes in hex; for a revisit the one its record declares, None without one."""
        if self.file is not None:
            return self.file.sha1
        raw = parse_sha1(self.capture.digest or "")
        return raw.hex() if raw is not None else None

    @property
    def tag(self) -> str:
        """Kind of the file, or `revisit`."""
        return str(self.file.kind) if self.file else REVISIT


@dataclass(frozen=True, slots=True)
class UnextractedPdf:
    """PDF without extracted text: the message of the work topic `unextracted`.

    `after` is set to extract it again: results from before that time are ignored.
    """

    capture: Capture
    file: FileMeta
    after: datetime | None = None

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnindexedFile:
    """File whose document may lack rights that a later capture states."""

    sha1hex: str

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.sha1hex


@dataclass(frozen=True, slots=True)
class UnparsedPage:
    """Page that is not parsed yet: the message of the work topic `unparsed`.

    Without `charset` the one of the exchange is used. `again` is set if the page was parsed before:
    its body is then already archived.
    """

    capture: Capture
    file: FileMeta
    charset: str | None = None
    again: bool = False

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1
