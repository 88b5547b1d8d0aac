"""Statements about the use of a capture: licences, holders, preferences, and the robots.txt in
force.

Sources: RFC 9309; IETF drafts draft-ietf-aipref-vocab and draft-ietf-aipref-attach; TDM Reservation
Protocol (W3C community group, tdmrep.json); the X-Robots-Tag header as search engines document it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

STATEMENTS_MAX = 100
"""Maximum statements kept per capture, and per file."""
RAW_MAX_CHARS = 2_000


class Subject(StrEnum):
    """Subject of a statement; closed."""

    LICENSE = "license"
    HOLDER = "holder"  # rights holder
    PREFERENCE = "preference"  # permitted or forbidden use


class StatementSource(StrEnum):
    """Where a statement was found; closed."""

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
    """One statement, normalized and as written.

    - `value` of a licence: SPDX identifier in lower case if known (`cc-by-4.0`, or `cc-by` without
      a version), else its URL, else the text in lower case.
    - `value` of a preference: `NAME`, `NAME=y` or `NAME=n` in lower case: `noindex`, `noai`,
      `train-ai=n`, `tdm-reservation=1`, `tdm-policy`.
    - `value` of a holder: the name.
    - `raw`: the text as written.
    - `name`: the header, element or property it was found in. The crawler follows if it is for one
      alone: `X-Robots-Tag googlebot`.
    """

    subject: Subject
    value: str
    raw: str
    stated_in: StatementSource
    name: str = ""


@dataclass(frozen=True, slots=True)
class StatedRights:
    """Statements as rows store them."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class RobotsInForce:
    """The robots.txt in force for a capture when it was made.

    - `capture_id`: that of the robots.txt itself, None if it was not kept.
    - `rule`: line that decided for the address (`Allow: /news`), "" if none matched.
    - `answer`: answer of the host: `200`, another HTTP status, or `unreachable`.
    """

    url: str
    answer: str
    capture_id: str | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Rights:
    """Known rights of one capture: what its host, its response and its file state."""

    robots: RobotsInForce | None = None
    statements: tuple[Statement, ...] = ()

    def list_values(self, subject: Subject) -> tuple[str, ...]:
        """Return the distinct values stated about a subject, in order."""
        return tuple(
            dict.fromkeys(
                statement.value for statement in self.statements if statement.subject is subject
            )
        )

    @property
    def licenses(self) -> tuple[str, ...]:
        """Stated licences, as found by `license:`."""
        return self.list_values(Subject.LICENSE)

    @property
    def holders(self) -> tuple[str, ...]:
        """Stated holders."""
        return self.list_values(Subject.HOLDER)

    @property
    def prefers(self) -> tuple[str, ...]:
        """Stated preferences, as found by `prefers:`."""
        return self.list_values(Subject.PREFERENCE)


NO_RIGHTS = Rights()
