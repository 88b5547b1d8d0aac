"""Files, identified by their SHA-1, with their kinds, sizes, media types and hashes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fonds.model.capture import Capture
from fonds.model.keys import parse_sha1
from fonds.model.rights import NO_RIGHTS, Rights

REVISIT = "revisit"
"""Tag of a revisit capture, which has no bytes."""


PLAIN_TEXT = "text/plain"
PAGE_TYPES = ("text/html", "application/xhtml+xml", PLAIN_TEXT)
"""Media types of files that are read as stories (news pages).

A plain text file is read as a story only if a link led to the file.
"""


ROBOTS_TXT, TDMREP = "text/x-robots", "application/tdmrep+json"
"""Media types that Fonds gives to `/robots.txt` and `/.well-known/tdmrep.json`.

Neither media type is registered.
"""


class Kind(StrEnum):
    """Kind of a file, which decides how Fonds reads the file.

    The value is used on the command line and in the index.
    """

    PDF = "pdf"
    STORY = "story"
    JATS = "jats"
    UNREAD = "unread"  # kept, but no text is read from it
    OTHER = "other"


SEARCHED_KINDS = (Kind.PDF, Kind.STORY, Kind.JATS)
"""Kinds of files that have documents in the index.

Fonds reads no text from files of other kinds.
"""


@dataclass(frozen=True, slots=True)
class FileMeta:
    """Size, media types and hashes of a file, as stored in column `file:meta` of the wide table.

    - `size`: size in bytes.
    - `mime`: normalized media type.
    - `magic`: text that describes the type of the bytes.
    - `magic_mime`: media type found from the bytes alone.
    - `sha1`, `md5`, `sha256`: hashes in lower-case hex.

    Source: seed document 000, `file:meta`.
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
        """Kind of the file, which determines the steps that process the file."""
        return classify_mime(self.mime)


def classify_mime(mime: str) -> Kind:
    """Return the kind of a file (such as PDF, news page or JATS article) from its media type."""
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
    """What a WARC revisit record states about the original capture, which has the same body.

    - `url`: URL of the original capture; "" if not stated.
    - `captured_at`: time of the original capture; None if not stated.
    - `digest`: hash of the body as written (`sha256:…`); "" if not stated.
    - `record_id`: id of the original WARC record, `urn:uuid:…` without brackets; "" if not stated.
    """

    url: str = ""
    captured_at: datetime | None = None
    digest: str = ""
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class IdentifiedCapture:
    """Capture whose bytes were read and hashed.

    Whether the same bytes are already stored is not known yet.

    - `file`: size, type and hashes of the file; None for a revisit capture, which has no bytes.
    - `charset`: charset of the HTTP Content-Type; None if the server sent none.
    - `refers_to`: original capture of a revisit; None for other captures, or if the revisit record
      could not be read.
    - `rights`: licences and usage preferences that the response and its host state.
    - `host_text`: text of a robots.txt or tdmrep.json; None for other files.
    """

    capture: Capture
    file: FileMeta | None
    charset: str | None = None
    refers_to: RevisitReference | None = None
    rights: Rights = NO_RIGHTS
    host_text: str | None = None

    @property
    def about(self) -> str:
        """Subject of a message with this capture: SHA-1 of the file in hex; "" for a revisit
        capture.
        """
        return self.file.sha1 if self.file else ""

    @property
    def sha1hex(self) -> str | None:
        """SHA-1 of the captured bytes in hex.

        For a revisit capture, the SHA-1 that the WARC record declares; None if it declares none.
        """
        if self.file is not None:
            return self.file.sha1
        raw = parse_sha1(self.capture.digest or "")
        return raw.hex() if raw is not None else None

    @property
    def tag(self) -> str:
        """Kind of the file as text; `revisit` for a capture whose WARC record has no bytes of its
        own.
        """
        return str(self.file.kind) if self.file else REVISIT


@dataclass(frozen=True, slots=True)
class UnextractedPdf:
    """PDF without extracted text: payload of messages of the work topic `unextracted`.

    `after` is set to extract the text again: text extracted before this time is ignored. None to
    keep any existing text.
    """

    capture: Capture
    file: FileMeta
    after: datetime | None = None

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.file.sha1


@dataclass(frozen=True, slots=True)
class UnindexedFile:
    """File whose index document is built again, because it may lack rights that a later capture
    states.
    """

    sha1hex: str

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.sha1hex


@dataclass(frozen=True, slots=True)
class UnparsedPage:
    """Page that is not parsed yet: payload of messages of the work topic `unparsed`.

    - `charset`: charset of the page; None to use the charset of the HTTP exchange.
    - `again`: whether the page was parsed before. The body of such a page is already archived.
    """

    capture: Capture
    file: FileMeta
    charset: str | None = None
    again: bool = False

    @property
    def about(self) -> str:
        """Subject of a message with this payload: SHA-1 of the file in hex."""
        return self.file.sha1
