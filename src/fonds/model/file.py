"""A file: bytes known by their SHA-1, and what `identify` learns of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fonds.model.capture import Capture
from fonds.model.keys import parse_sha1
from fonds.model.rights import NO_RIGHTS, Rights

REVISIT = "revisit"
"""The tag of an identified capture that holds no bytes."""


PLAIN_TEXT = "text/plain"
PAGE_TYPES = ("text/html", "application/xhtml+xml", PLAIN_TEXT)
"""Types of files that are read as stories. Plain text is one only where a link led to it."""


ROBOTS_TXT, TDMREP = "text/x-robots", "application/tdmrep+json"
"""Types of `/robots.txt` and `/.well-known/tdmrep.json`. Neither is registered."""


class Kind(StrEnum):
    """What a body is to Fonds; the value is the word of the command line and the index."""

    PDF = "pdf"
    STORY = "story"
    JATS = "jats"
    UNREAD = "unread"  # kept, and read by nothing here
    OTHER = "other"


SEARCHED_KINDS = (Kind.PDF, Kind.STORY, Kind.JATS)
"""Kinds of files that have documents in the index. Fonds reads no text from the others."""


@dataclass(frozen=True, slots=True)
class FileMeta:
    """The seven fields of `file:meta`; hashes in lower-case hex, size in bytes.

    Source: seed 000, `file:meta`. `mime` is normalised, `magic` says in words what the bytes are,
    `magic_mime` is the type by the bytes alone.
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
        """Which road the file takes."""
        return classify_mime(self.mime)


def classify_mime(mime: str) -> Kind:
    """Return which road files of a type take."""
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
    """What a revisit record says of the body it repeats.

    `url` and `captured_at` are those of the capture it refers to, `digest` is as written (`sha256:…`), "" for
    none. `record_id` is that of the record it refers to, `urn:uuid:…` without brackets.
    """

    url: str = ""
    captured_at: datetime | None = None
    digest: str = ""
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class IdentifiedCapture:
    """A capture whose bytes were read and hashed; not yet known whether they are new.

    `file` is None for a revisit, which holds no bytes. `charset` is that of the HTTP Content-Type,
    when the server sent one. `refers_to` is set for a revisit whose record was read. `rights` are what the
    response and its host state. `host_text` is the text of a robots.txt or tdmrep.json.
    """

    capture: Capture
    file: FileMeta | None
    charset: str | None = None
    refers_to: RevisitReference | None = None
    rights: Rights = NO_RIGHTS
    host_text: str | None = None

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex; '' for a revisit."""
        return self.file.sha1 if self.file else ""

    @property
    def sha1hex(self) -> str | None:
        """The SHA-1 in hex of the bytes it is about; of a revisit those its record declares, None without."""
        if self.file is not None:
            return self.file.sha1
        raw = parse_sha1(self.capture.digest or "")
        return raw.hex() if raw is not None else None

    @property
    def tag(self) -> str:
        """Its kind, or `revisit`."""
        return str(self.file.kind) if self.file else REVISIT


@dataclass(frozen=True, slots=True)
class UnextractedPdf:
    """A PDF nobody has extracted yet: the message of the work topic `unextracted`.

    `after` is set when it is to be extracted again: what was known of it before that moment does not
    count.
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
    """A file of which a later capture states something about its use that its document may not have yet."""

    sha1hex: str

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.sha1hex


@dataclass(frozen=True, slots=True)
class UnparsedPage:
    """A page nobody has parsed yet: the message of the work topic `unparsed`.

    `charset` None: the exchange is asked for it. `again` is set when it was parsed before: then its body
    lies where it is to lie.
    """

    capture: Capture
    file: FileMeta
    charset: str | None = None
    again: bool = False

    @property
    def about(self) -> str:
        """The file's SHA-1 in hex."""
        return self.file.sha1
