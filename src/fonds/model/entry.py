"""An entry: whatever came in and must be accounted for; a capture is one kind, a link another."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha1

from fonds.model.capture import Capture, RssEntry, format_datetime14
from fonds.model.rows import EntryRow

CAPTURE, LINK, MESSAGE = "capture", "link", "message"
"""Kinds of entries: what a source found, what it named, and what somebody else put on a public topic."""
UNREAD_FINGERPRINT = "0:0"
"""The fingerprint of what could not be read: such an input is one of its own for each path."""
_UNREAD = "-unreadable"


def compute_input_id(name: bytes, fingerprint: str) -> str:
    """Return the id of an input with this name and fingerprint: 16 hex digits."""
    digest = sha1(name + b"\x00" + fingerprint.encode())  # noqa: S324 (a key, not a seal)
    return digest.hexdigest()[:16]


def compute_unread_input_id(path: str) -> str:
    """Return the id of the input that stands for a path or URL as long as it cannot be read."""
    return compute_input_id(path.encode("utf-8", "replace"), UNREAD_FINGERPRINT)


def compute_unread_entry_id(input_id: str) -> str:
    """Return the id of the entry that says that an input could not be read, or not to its end."""
    return f"{input_id}{_UNREAD}"


def is_unread(entry_id: str) -> bool:
    """Whether an entry says that an input could not be read."""
    return entry_id.endswith(_UNREAD)


class UnreadTally(dict[str, int]):
    """The tally of an input that could not be read, or not to its end: one, by its reason.

    `detail` is why, for people.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__({reason: 1})
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing a source found, and the first message made of it.

    `id` is the same whenever the same thing is found again. `input_id` names the input it was found in.
    `kind` says what it is (`capture`, `link`, `document`), `url` what people call it. `item` is the payload
    of its message, of the type the pipeline's entry topic carries. `seen_at` (aware UTC) and `place` are
    None for what was not seen at a time or lies nowhere.
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
        """The entry as it goes onto the books of a pipeline."""
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
    """The entry of a capture."""
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


# A link: an address a source says is to be fetched, with what it said of it.


class TlsCheck(StrEnum):
    """How a server's TLS is held to account; what was relaxed stands in the story."""

    FULL = "full"  # TLS 1.2 at least, and a certificate for this name from an authority we know
    OLD = "old"  # the certificate as above; older versions, ciphers and renegotiation are let pass
    NONE = "none"  # no certificate is asked for, and as above


@dataclass(frozen=True, slots=True)
class Link:
    """An address to fetch once; the message the road of fetched pages begins with.

    `id` is the same whenever the same input names the same address again (`following/link_rules.py` makes
    it); what is to be fetched anew comes out of another input: another poll, another list. `url` is as
    the source wrote it, usable or not. `domain` is who answers for it, "" where that cannot be told; its
    links are fetched by one process at a time. `found_at` is aware UTC: when the source saw it. Of what
    was fetched by others before, `final_url` is where the page was found and `fetch_timestamp` when, in
    Unix seconds; None where nobody noted it. `allows_any_site`: a person named the address, so that no
    list of sites forbids it or what it redirects to."""

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
        """Nothing yet: what lies there is not known."""
        return ""

    @property
    def order_key(self) -> str:
        """Links of one domain stay together."""
        return self.domain


def build_link_entry(link: Link) -> Entry:
    """The entry of a link. It was seen at no time and lies nowhere until it is fetched."""
    return Entry(
        id=link.id,
        input_id=link.input_id,
        kind=LINK,
        url=link.url,
        item=link,
        collection=link.collection,
    )
