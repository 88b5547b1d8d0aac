"""Entries: captures, links and messages that entered Fonds, which records the outcome of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha1

from fonds.model.capture import Capture, RssEntry, format_datetime14
from fonds.model.rows import EntryRow

CAPTURE, LINK, MESSAGE = "capture", "link", "message"
"""Kinds of entries: a file found by a source, a URL named by a source, and a message that another
program put on a public topic.
"""
UNREAD_FINGERPRINT = "0:0"
"""Fingerprint (size and modification time) of an input that cannot be read."""
_UNREAD_SUFFIX = "-unreadable"


def compute_input_id(name: bytes, fingerprint: str) -> str:
    """Return the id of an input (a WARC, CDX, ZIP or loose file): 16 hex digits.

    The id is a hash of the name of the input and its fingerprint (size and modification time).
    """
    digest = sha1(name + b"\x00" + fingerprint.encode())  # noqa: S324 (an id, not a signature)
    return digest.hexdigest()[:16]


def compute_unread_input_id(path: str) -> str:
    """Return the id of the input for a path or URL that cannot be read."""
    return compute_input_id(path.encode("utf-8", "replace"), UNREAD_FINGERPRINT)


def compute_unread_entry_id(input_id: str) -> str:
    """Return the id of the entry that records that an input could not be read completely."""
    return f"{input_id}{_UNREAD_SUFFIX}"


def is_unread(entry_id: str) -> bool:
    """Return whether an entry id belongs to an entry that records an unreadable input."""
    return entry_id.endswith(_UNREAD_SUFFIX)


class UnreadTally(dict[str, int]):
    """Report of a source that an input could not be read completely: the count `{reason: 1}`.

    The count records the failure without an entry. `detail` is a sentence that explains the reason
    for people.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__({reason: 1})
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Entry:
    """Capture, link or message that entered Fonds, with the payload of its first message.

    - `id`: identifier. Finding the same item again gives the same id.
    - `input_id`: id of the input that contains the item.
    - `kind`: `capture`, `link` or `message`.
    - `url`: URL or path shown to people.
    - `item`: payload of the first message, of the type of the pipeline's entry topic.
    - `seen_at`: time at which the item was captured or found, aware UTC; None if unknown.
    - `place`: location of the bytes as text; None if there are no bytes yet.
    """

    id: str
    input_id: str
    kind: str
    url: str
    item: object
    collection: str = "default"
    seen_at: datetime | None = None
    place: str | None = None

    @property
    def seen_datetime14(self) -> str | None:
        """`seen_at` as YYYYMMDDhhmmss in UTC; None if `seen_at` is None."""
        return format_datetime14(self.seen_at) if self.seen_at else None

    def build_row(self, pipeline: str, entered_at: datetime) -> EntryRow:
        """Build the SQL row that records that this entry entered a pipeline at `entered_at`."""
        return EntryRow(
            entry_id=self.id,
            pipeline=pipeline,
            kind=self.kind,
            input_id=self.input_id,
            url=self.url,
            seen=self.seen_datetime14,
            place=self.place,
            collection=self.collection,
            entered_at=entered_at,
        )


def build_capture_entry(capture: Capture) -> Entry:
    """Build the entry that records that a capture entered Fonds."""
    return Entry(
        id=capture.id,
        input_id=capture.input_id,
        kind=CAPTURE,
        url=capture.url,
        item=capture,
        collection=capture.collection,
        seen_at=capture.captured_at,
        place=str(capture.place),
    )


class TlsCheck(StrEnum):
    """How strictly Fonds checks the TLS connection to a server.

    A less strict check is recorded in the story.
    """

    FULL = "full"  # TLS 1.2 or later, and a valid certificate for this name from a known authority
    OLD = "old"  # same certificate; allows older versions, ciphers and renegotiation
    NONE = "none"  # as `OLD`, without checking the certificate


@dataclass(frozen=True, slots=True)
class Link:
    """URL to fetch once; the payload of the first message in a pipeline for fetched pages.

    - `id`: identifier. The same URL in the same input gives the same id
      (`following/link_rules.py`). Fetching a URL again needs another input: another poll or another
      list.
    - `input_id`: id of the poll or list that names the URL.
    - `url`: URL as the source wrote it, valid or not.
    - `domain`: canonical domain of the URL; "" if unknown. One process at a time fetches the links
      of a domain.
    - `rss_entry`: feed entry that names the URL.
    - `found_at`: time at which the source listed the URL, aware UTC; None if unknown.
    - `final_url`: for a page that another program fetched earlier, the URL after redirects; else
      None.
    - `fetch_timestamp`: for a page that another program fetched earlier, the fetch time in Unix
      seconds; else None.
    - `allows_any_site`: True if a person named the URL. Then no list of blocked sites applies to
      the URL and its redirects.
    """

    id: str
    input_id: str
    url: str
    domain: str
    rss_entry: RssEntry = field(default_factory=RssEntry)
    collection: str = "default"
    found_at: datetime | None = None
    tls: TlsCheck = TlsCheck.FULL
    final_url: str | None = None
    fetch_timestamp: float | None = None
    allows_any_site: bool = False

    @property
    def about(self) -> str:
        """Subject of a message with this link: always "", because the content of the URL is not
        known yet.
        """
        return ""

    @property
    def order_key(self) -> str:
        """Key that keeps messages about one site in order: the registered domain of the URL.

        Messages with the same key stay together.
        """
        return self.domain


def build_link_entry(link: Link) -> Entry:
    """Build the entry that records that a link entered Fonds, without capture time and location of
    bytes.
    """
    return Entry(
        id=link.id,
        input_id=link.input_id,
        kind=LINK,
        url=link.url,
        item=link,
        collection=link.collection,
    )
