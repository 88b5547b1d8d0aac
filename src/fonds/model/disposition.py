"""How one message ended at one step, and the closed list of reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Five ways a message leaves a step; `retry` and `defer` messages return."""

    DONE = "done"
    DROPPED = "dropped"
    RETRIED = "retried"
    DEFERRED = "deferred"
    QUARANTINED = "quarantined"


COMES_BACK = frozenset({Verdict.RETRIED, Verdict.DEFERRED})

PENDING = "pending"
"""Verdict in the ledger of a message that has not ended yet."""


class Weight(StrEnum):
    """Category of a reason on the overview: received = kept + set aside + refused + failed + in
    flight.

    Files kept without text count as kept; their reason says why they have none.
    """

    KEPT = "kept without text"
    SET_ASIDE = "set aside"
    REFUSED = "refused"
    FAILED = "failed"


class Reason(StrEnum):
    """Reason why a message was dropped, retried or quarantined, or why a kept file has no text.

    The list is closed. The dashboard shows it.
    """

    weight: Weight
    explanation: str
    again: str

    def __new__(
        cls, value: str, weight: Weight = Weight.FAILED, explanation: str = "", again: str = ""
    ) -> Reason:
        """Create a reason with its weight, a sentence for people, and when a retry can help ("" for
        never).
        """
        member = str.__new__(cls, value)
        member._value_ = value
        member.weight = weight
        member.explanation = explanation
        member.again = again
        return member

    # Kept without text: the file and its metadata are stored, but it has no searchable words.
    SCANNED = (
        "scanned",
        Weight.KEPT,
        "its pages are pictures without a text layer; Fonds recognises no text in pictures",
    )
    NO_TEXT_ON_PAGES = "no-text-on-pages", Weight.KEPT, "no page of it has text"
    UNREAD_TYPE = (
        "unread-type",
        Weight.KEPT,
        "Fonds keeps files of this type and reads no text from them",
    )

    # Set aside: nothing is wrong, and nothing is missing.
    DUPLICATE = (
        "duplicate",
        Weight.SET_ASIDE,
        "the same bytes were already here; the capture was noted",
    )
    REVISIT = (
        "revisit",
        Weight.SET_ASIDE,
        "the record says the page had not changed and holds no body",
    )
    NOT_A_CAPTURE = (
        "not-a-capture",
        Weight.SET_ASIDE,
        "a request, metadata or warcinfo record: it describes a capture and holds none",
    )

    FOLLOWED = (
        "followed",
        Weight.SET_ASIDE,
        "a link that leads out of the folder that was named; it was followed, as --follow asks",
    )

    NOT_MODIFIED = (
        "not-modified",
        Weight.SET_ASIDE,
        "the server says the page had not changed since it was fetched last",
    )

    READ_LATER = (
        "read-later",
        Weight.SET_ASIDE,
        "the file, folder or record could not be read at first, and was read later",
    )

    REPEATED = "repeated", Weight.SET_ASIDE, "the same list names it more than once"

    # Refused: the input is intact, but Fonds does not keep it.
    HTTP_STATUS = (
        "http-status",
        Weight.REFUSED,
        "the server did not answer with a page (not status 200)",
    )
    UNSUPPORTED_TYPE = "unsupported-type", Weight.REFUSED, "neither a PDF nor a web page"
    NO_DIGEST = (
        "no-digest",
        Weight.REFUSED,
        "a line of an index without a SHA-1: nobody can say which file it is of",
    )
    EMPTY_BODY = "empty-body", Weight.REFUSED, "no bytes at all"
    TOO_LARGE = "too-large", Weight.REFUSED, "larger than the limit for its kind"
    NO_TEXT = "no-text", Weight.REFUSED, "a page without any text worth keeping"
    NOT_WANTED = (
        "not-wanted",
        Weight.REFUSED,
        "nothing of it is wanted by the pipeline it came into",
    )
    NOT_FOLLOWED = (
        "not-followed",
        Weight.REFUSED,
        "a link that leads out of the folder that was named; --follow follows it",
    )
    NO_METADATA = (
        "no-metadata",
        Weight.REFUSED,
        "no record of a story's metadata lies beside it; the pipeline `warc` reads such pages anew",
    )
    NO_CANONICAL_URL = (
        "no-canonical-url",
        Weight.REFUSED,
        "nobody noted where the page was found, and the page does not say it",
    )
    TAKEN_DOWN = (
        "taken-down",
        Weight.REFUSED,
        "its bytes were taken down and are not taken in again",
    )
    PURGED = "purged", Weight.REFUSED, "a person took its message off the queue"
    ACCEPTED = (
        "accepted",
        Weight.REFUSED,
        "it had failed, and a person accepted that as final",
    )
    IS_FEED = "is-feed", Weight.REFUSED, "a feed or sitemap served as a page"

    BAD_URL = (
        "bad-url",
        Weight.REFUSED,
        "an address that cannot be fetched: no http(s) URL of a host",
    )
    BAD_REDIRECT = (
        "bad-redirect",
        Weight.REFUSED,
        "a redirect to what cannot be fetched, or more of them than are followed",
    )
    PRIVATE_ADDRESS = (
        "private-address",
        Weight.REFUSED,
        "its host is in a private or reserved network; elsewhere.private_addresses allows these",
    )
    ROBOTS_DENIED = "robots-denied", Weight.REFUSED, "the site's robots.txt does not allow it"
    ROBOTS_UNREACHABLE = (
        "robots-unreachable",
        Weight.REFUSED,
        "the site's robots.txt could not be had, again and again; without it nothing is fetched",
    )
    NO_SUCH_HOST = "no-such-host", Weight.REFUSED, "its host has no address"
    UNREACHABLE = (
        "unreachable",
        Weight.REFUSED,
        "its server did not answer, broke off or was too slow, again and again",
    )
    THROTTLED = "throttled", Weight.REFUSED, "its server asked us to come later, again and again"
    BAD_CERTIFICATE = (
        "bad-certificate",
        Weight.REFUSED,
        "its server could not prove with TLS that it is who it says",
    )
    NOT_YET = "not-yet", Weight.REFUSED, "it waits for its site's turn"

    # Refused or set aside while links are listed, before anything is fetched.
    KNOWN_LINK = (
        "known-link",
        Weight.SET_ASIDE,
        "the address was listed before, and is not fetched again for that",
    )
    NOT_SAMPLED = "not-sampled", Weight.SET_ASIDE, "outside of the share that --sample asked for"
    NO_URL = "no-url", Weight.REFUSED, "an entry of a feed or a row of a list without an address"
    NO_HOST = "no-host", Weight.REFUSED, "an address that names no host"
    BAD_SCHEME = "bad-scheme", Weight.REFUSED, "an address of neither http nor https"
    BAD_HOST = (
        "bad-host",
        Weight.REFUSED,
        "an address of this machine or a network of its own; elsewhere.private_addresses allows them",
    )
    NON_NEWS = (
        "non-news",
        Weight.REFUSED,
        "an address of a site that is on the list of those that are no news",
    )

    # Downloads of an old system, by their ids.
    REDUNDANT_FEED = (
        "redundant-feed",
        Weight.SET_ASIDE,
        "the old system kept a remark that a feed had not changed instead of a page",
    )
    NO_SUCH_VERSION = (
        "no-such-version",
        Weight.REFUSED,
        "its id was given out twice, and no version of the object is of the time it was collected",
    )

    # Failed: a person may want to look.
    DAMAGED_RECORD = (
        "damaged-record",
        Weight.FAILED,
        "the WARC, ARC or ZIP is damaged at this place",
        "once the file was replaced by one that is whole",
    )
    TRUNCATED_RECORD = (
        "truncated-record",
        Weight.FAILED,
        "the record ends before its declared length",
        "once the file was replaced by one that is whole",
    )
    BOMB = "bomb", Weight.FAILED, "it unpacks to far more than its size allows"
    BAD_ENCODING = "bad-encoding", Weight.FAILED, "the declared compression does not fit the bytes"
    MISSING_SOURCE = (
        "missing-source",
        Weight.FAILED,
        "the file or WARC it came from cannot be found; --warc-base says where an index's WARCs are",
        "once it is back in its place, or ingest its index with --warc-base",
    )
    UNREADABLE_SOURCE = (
        "unreadable-source",
        Weight.FAILED,
        "the file cannot be opened or read",
        "once the file may be read",
    )
    BAD_INDEX_LINE = (
        "bad-index-line",
        Weight.FAILED,
        "a line of an index or a list of work that cannot be understood",
    )
    BAD_LISTING = (
        "bad-listing",
        Weight.FAILED,
        "a feed, sitemap, page or table of links in which nothing can be understood",
    )
    BAD_MESSAGE = (
        "bad-message",
        Weight.FAILED,
        "a message another program put on a topic, and that cannot be understood",
    )
    BROKEN_PDF = "broken-pdf", Weight.FAILED, "the PDF cannot be opened, not even after repair"
    ENCRYPTED_PDF = "encrypted-pdf", Weight.FAILED, "the PDF cannot be opened without its password"
    BROKEN_ARTICLE = (
        "broken-article",
        Weight.FAILED,
        "what begins as an article in JATS or NLM XML cannot be read as one",
    )
    TIMEOUT = (
        "timeout",
        Weight.FAILED,
        "reading it took longer than the limit and was stopped",
        "with a longer limit, or on a machine that is less busy",
    )
    OUT_OF_MEMORY = (
        "out-of-memory",
        Weight.FAILED,
        "reading it took more memory than the limit",
        "with a larger limit",
    )
    CRASHED_READER = (
        "crashed-reader",
        Weight.FAILED,
        "the isolated reader died on it",
        "with a newer Fonds, or where the machine had no memory left",
    )
    STORE_UNAVAILABLE = (
        "store-unavailable",
        Weight.FAILED,
        "a store did not answer, again and again",
        "once the store answers",
    )
    INTERNAL_ERROR = (
        "internal-error",
        Weight.FAILED,
        "a fault in Fonds itself; please report it",
        "with a newer Fonds",
    )


@dataclass(frozen=True, slots=True)
class Disposition:
    """How one message ended at one step; exactly one each.

    `detail` is a sentence about this message. `after_s` is the delay in seconds before it returns.
    """

    verdict: Verdict
    reason: Reason | None = None
    detail: str = ""
    after_s: float = 0.0


DONE = Disposition(Verdict.DONE)


def keep_without_text(reason: Reason, detail: str = "") -> Disposition:
    """Complete the message: the file is kept, and has no text for this reason."""
    return Disposition(Verdict.DONE, reason, detail)


def drop(reason: Reason, detail: str = "") -> Disposition:
    """End the message for a reason that is not a failure."""
    return Disposition(Verdict.DROPPED, reason, detail)


def quarantine(reason: Reason, detail: str = "") -> Disposition:
    """Move the complete message to quarantine for a person to look at."""
    return Disposition(Verdict.QUARANTINED, reason, detail)


def end(reason: Reason, detail: str = "") -> Disposition:
    """End the message: quarantine failures, drop everything else."""
    return (quarantine if reason.weight is Weight.FAILED else drop)(reason, detail)


def retry(reason: Reason, detail: str, after_s: float) -> Disposition:
    """Retry the message after at least `after_s` seconds; this counts as an attempt."""
    return Disposition(Verdict.RETRIED, reason, detail, after_s)


def defer(reason: Reason, detail: str, after_s: float) -> Disposition:
    """Delay the message for `after_s` seconds; this does not count as an attempt."""
    return Disposition(Verdict.DEFERRED, reason, detail, after_s)
