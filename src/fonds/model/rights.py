"""What is stated about the use of a capture: licences, holders, preferences, and the robots.txt in force.

Sources: RFC 9309; IETF drafts draft-ietf-aipref-vocab and draft-ietf-aipref-attach; TDM Reservation Protocol
(W3C community group, tdmrep.json); the X-Robots-Tag header as search engines document it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

STATEMENTS_MAX = 100
"""So many statements are kept of one capture, and as many of one file."""
RAW_MAX_CHARS = 2_000


class Subject(StrEnum):
    """What a statement is about; closed."""

    LICENSE = "license"
    HOLDER = "holder"  # who holds the rights
    PREFERENCE = "preference"  # what may or may not be done


class StatementSource(StrEnum):
    """Where a statement stands; closed."""

    ROBOTS_TXT = "robots.txt"
    TDMREP = "tdmrep.json"
    HEADER = "HTTP header"
    META = "meta element"
    LINK = "link to a licence"
    STRUCTURED_DATA = "structured data"
    TEXT = "text of the page"
    XMP = "XMP of the PDF"
    INFO = "document information of the PDF"
    ARTICLE = "JATS article"
    FEED = "feed"
    FEED_ENTRY = "entry of the feed"


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing stated, as it is compared and as it was written.

    `value` of a licence is an SPDX identifier in lower case where it is known (`cc-by-4.0`, and `cc-by` where
    no version is stated), else its URL, else the text in lower case. Of a preference it is `NAME`, `NAME=y`
    or `NAME=n` in lower case: `noindex`, `noai`, `train-ai=n`, `tdm-reservation=1`, `tdm-policy`. Of a holder
    it is the name. `raw` is what stood there, `name` the header, element or property it stood in. A statement
    for one agent alone has that behind the name: `X-Robots-Tag googlebot`.
    """

    subject: Subject
    value: str
    raw: str
    stated_in: StatementSource
    name: str = ""

    def to_json(self) -> dict[str, str]:
        """The statement as it is stored and as the API answers it."""
        return {
            "subject": self.subject,
            "value": self.value,
            "raw": self.raw,
            "stated_in": self.stated_in,
            "name": self.name,
        }

    @classmethod
    def from_json(cls, stored_value: Mapping[str, Any]) -> Statement:
        """Raises KeyError, ValueError for JSON that is no statement."""
        return cls(
            Subject(stored_value["subject"]),
            stored_value["value"],
            stored_value["raw"],
            StatementSource(stored_value["stated_in"]),
            stored_value["name"],
        )


@dataclass(frozen=True, slots=True)
class RobotsInForce:
    """The robots.txt that held for a capture when it was made.

    `capture_id` is that of the robots.txt itself, None where it was not kept. `rule` is the line that
    decided for the address (`Allow: /news`), "" where none matched. `answer` says what the host answered:
    `200`, another HTTP status, or `unreachable`.
    """

    url: str
    answer: str
    capture_id: str | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Rights:
    """All that is known of one capture: what its host, its response and its file state."""

    robots: RobotsInForce | None = None
    statements: tuple[Statement, ...] = ()

    def list_values(self, subject: Subject) -> tuple[str, ...]:
        """The different values stated about a subject, in the order they were met."""
        return tuple(dict.fromkeys(one.value for one in self.statements if one.subject is subject))

    @property
    def licenses(self) -> tuple[str, ...]:
        """The licences stated, as `license:` finds them."""
        return self.list_values(Subject.LICENSE)

    @property
    def holders(self) -> tuple[str, ...]:
        """The holders stated."""
        return self.list_values(Subject.HOLDER)

    @property
    def prefers(self) -> tuple[str, ...]:
        """The preferences stated, as `prefers:` finds them."""
        return self.list_values(Subject.PREFERENCE)


NO_RIGHTS = Rights()
