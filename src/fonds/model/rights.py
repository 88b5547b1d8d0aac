"""Statements about the permitted use of a capture: licences, rights holders, usage preferences, and
the robots.txt that was in force.

Sources: RFC 9309; IETF drafts draft-ietf-aipref-vocab and draft-ietf-aipref-attach; TDM Reservation
Protocol (W3C community group, tdmrep.json); the X-Robots-Tag header as search engines document it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

STATEMENTS_MAX = 100
"""Maximum number of rights statements kept for one capture, and for one file."""
RAW_MAX_CHARS = 2_000


class Subject(StrEnum):
    """Subject of a statement about use: a licence, a rights holder or a usage preference."""

    LICENSE = "license"
    HOLDER = "holder"  # rights holder
    PREFERENCE = "preference"  # permitted or forbidden use


class StatementSource(StrEnum):
    """Where a statement about use was found."""

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
    """One statement about the permitted use of a capture or file.

    - `subject`: what the statement is about.
    - `value`: normalized value. For a licence: the SPDX identifier in lower case if known
      (`cc-by-4.0`, or `cc-by` without a version), else the licence's URL, else the licence's text
      in lower case. For a preference: `NAME`, `NAME=y` or `NAME=n` in lower case, such as
      `noindex`, `noai`, `train-ai=n`, `tdm-reservation=1` or `tdm-policy`. For a rights holder: the
      name.
    - `raw`: the text as written.
    - `stated_in`: kind of source in which the statement was found.
    - `name`: name of the header, element or property in which the statement was found. If the
      statement is for one crawler only, the crawler's name follows: `X-Robots-Tag googlebot`.
    """

    subject: Subject
    value: str
    raw: str
    stated_in: StatementSource
    name: str = ""


@dataclass(frozen=True, slots=True)
class StatedRights:
    """List of statements about use, as stored in JSON columns of SQL rows."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class RobotsInForce:
    """The robots.txt that was in force for a capture when the capture was made.

    - `url`: URL of the robots.txt.
    - `answer`: response of the host to the request for the robots.txt: `200`, another HTTP status,
      or `unreachable`.
    - `capture_id`: id of the capture of the robots.txt; None if the robots.txt was not kept.
    - `rule`: line that decided about the captured URL (`Allow: /news`); "" if no line matched.
    """

    url: str
    answer: str
    capture_id: str | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Rights:
    """What the host, the response and the file of one capture state about permitted use.

    `robots` is None if the robots.txt in force is unknown.
    """

    robots: RobotsInForce | None = None
    statements: tuple[Statement, ...] = ()

    def list_values(self, subject: Subject) -> tuple[str, ...]:
        """Return the distinct values of all statements with a given subject, in order of
        appearance.
        """
        return tuple(
            dict.fromkeys(
                statement.value for statement in self.statements if statement.subject is subject
            )
        )

    @property
    def licenses(self) -> tuple[str, ...]:
        """Licences stated for the capture, normalized as for the search field `license:`."""
        return self.list_values(Subject.LICENSE)

    @property
    def holders(self) -> tuple[str, ...]:
        """Names of the rights holders stated for the capture."""
        return self.list_values(Subject.HOLDER)

    @property
    def prefers(self) -> tuple[str, ...]:
        """Usage preferences stated for the capture, normalized as for the search field
        `prefers:`.
        """
        return self.list_values(Subject.PREFERENCE)


NO_RIGHTS = Rights()
