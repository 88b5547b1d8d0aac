"""Entries: everything that comes in and is accounted for, such as captures and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha1

from fonds.model.capture import Capture, RssEntry, format_datetime14
from fonds.model.rows import EntryRow

CAPTURE, LINK, MESSAGE = "capture", "link", "message"
"""Kinds of entries: found by a source, named by a source, put on a public topic by another program."""
UNREAD_FINGERPRINT = "0:0"
"""Fingerprint of an unreadable input, which is a separate input per path."""
_UNREAD_SUFFIX = "-unreadable"


def compute_input_id(name: bytes, fingerprint: str) -> str:
    """Return the id of an input with this name and fingerprint: 16 hex digits."""
    digest = sha1(name + b"\x00" + fingerprint.encode())  # noqa: S324 (an id, not a signature)
    return digest.hexdigest()[:16]


def compute_unread_input_id(path: str) -> str:
    """Return the id of the input for a path or URL while it cannot be read."""
    return compute_input_id(path.encode("utf-8", "replace"), UNREAD_FINGERPRINT)


def compute_unread_entry_id(input_id: str) -> str:
    """Return the id of the entry that records that an input could not be read, or not to its end."""
    return f"{input_id}{_UNREAD_SUFFIX}"


def is_unread(entry_id: str) -> bool:
    """Return whether an entry records an unreadable input."""
    return entry_id.endswith(_UNREAD_SUFFIX)


class UnreadTally(dict[str, int]):
    """Tally of an input that could not be read, or not to its end: one, by its reason.

    `detail` explains why, for people.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__({reason: 1})
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Entry:
    """Item that a source found, with its first message.

    - `id`: the same whenever the same item is found again.
    - `input_id`: the input it was found in.
    - `kind`: `capture`, `link` or `message`.
    - `url`: name shown to people.
    - `item`: payload of its message, of the type of the pipeline's entry topic.
    - `seen_at`: aware UTC; None if unknown.
    - `place`: location; None without one.
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
        """`seen_at` as YYYYMMDDhhmmss in UTC."""
        return format_datetime14(self.seen_at) if self.seen_at else None

    def build_row(self, pipeline: str, entered_at: datetime) -> EntryRow:
        """Build the entry's row in the ledger of a pipeline."""
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
    """Return the entry of a capture."""
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
    """How strictly a server's TLS is checked; a relaxed check is recorded in the story."""

    FULL = "full"  # TLS 1.2 or later, and a valid certificate for this name from a known authority
    OLD = "old"  # same certificate; allows older versions, ciphers and renegotiation
    NONE = "none"  # as `OLD`, without checking the certificate


@dataclass(frozen=True, slots=True)
class Link:
    """URL to fetch once; the first message of the pipeline for fetched pages.

    - `id`: the same whenever the same input names the same address again (made by
      `following/link_rules.py`). A repeated fetch comes from another input: another poll, another
      list.
    - `url`: as the source wrote it, usable or not.
    - `domain`: canonical domain, "" if unknown; one process at a time fetches its links.
    - `found_at`: aware UTC time at which the source saw it.
    - `final_url`, `fetch_timestamp`: for pages fetched earlier by others, the address of the page
      and the time in Unix seconds; None if not recorded.
    - `allows_any_site`: a person named the address, so no list of sites blocks it or its redirects.
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
        """Empty: the content is not known yet."""
        return ""

    @property
    def order_key(self) -> str:
        """Domain; keeps links of one domain together."""
        return self.domain


def build_link_entry(link: Link) -> Entry:
    """Return the entry of a link. It has no time and no location until it is fetched."""
    return Entry(
        id=link.id,
        input_id=link.input_id,
        kind=LINK,
        url=link.url,
        item=link,
        collection=link.collection,
    )
