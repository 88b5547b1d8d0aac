"""Dispositions, which record how one message ended at one step, and the closed list of reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Type of a disposition, which records how one message ended at one step.

    Messages with the verdict `retried` or `deferred` are delivered again later.
    """

    DONE = "done"
    DROPPED = "dropped"
    RETRIED = "retried"
    DEFERRED = "deferred"
    QUARANTINED = "quarantined"


RETURNING_VERDICTS = frozenset({Verdict.RETRIED, Verdict.DEFERRED})

PENDING = "pending"
"""Verdict of a message in the accounting tables (ledger) before the message has ended."""


class Weight(StrEnum):
    """Category of a reason, used to sum up entries on the overview page.

    The counts add up: received = stored + skipped + rejected + failed + in progress. A file that
    is stored without text counts as stored; its reason says why no text was extracted.
    """

    WITHOUT_TEXT = "stored without text"
    SKIPPED = "skipped"
    REJECTED = "rejected"
    FAILED = "failed"


class Reason(StrEnum):
    """Reason why a message was dropped, retried or quarantined, or why a kept file has no text.

    The list of reasons is closed. The dashboard shows the reasons.

    - `weight`: category of the reason.
    - `explanation`: explanation of the reason for people.
    - `retry_hint`: when a retry can succeed, for people; "" if a retry cannot succeed.
    """

    weight: Weight
    explanation: str
    retry_hint: str

    def __new__(
        cls, value: str, weight: Weight = Weight.FAILED, explanation: str = "", retry_hint: str = ""
    ) -> Reason:
        """Create a member of the enumeration of reasons, with its attributes.

        `retry_hint` is "" if a retry cannot succeed.
        """
        member = str.__new__(cls, value)
        member._value_ = value
        member.weight = weight
        member.explanation = explanation
        member.retry_hint = retry_hint
        return member

    # Kept without text: the file and its metadata are stored, but it has no searchable words.
    SCANNED = (
        "scanned",
        Weight.WITHOUT_TEXT,
        "its pages are images without a text layer; Fonds does not run OCR",
    )
    NO_TEXT_ON_PAGES = "no-text-on-pages", Weight.WITHOUT_TEXT, "none of its pages contains text"
    UNREAD_TYPE = (
        "unread-type",
        Weight.WITHOUT_TEXT,
        "Fonds stores this file type but does not extract its text",
    )

    # Set aside: nothing is wrong, and nothing is missing.
    DUPLICATE = (
        "duplicate",
        Weight.SKIPPED,
        "the same bytes are already stored; the capture was recorded",
    )
    REVISIT = (
        "revisit",
        Weight.SKIPPED,
        "a revisit record: the page had not changed, so the record has no body",
    )
    NOT_A_CAPTURE = (
        "not-a-capture",
        Weight.SKIPPED,
        "a request, metadata or warcinfo record, not a capture",
    )

    FOLLOWED = (
        "followed",
        Weight.SKIPPED,
        "a symbolic link to a path outside the given folder; followed because of --follow",
    )

    NOT_MODIFIED = (
        "not-modified",
        Weight.SKIPPED,
        "the server says the page has not changed since the last fetch",
    )

    READ_LATER = (
        "read-later",
        Weight.SKIPPED,
        "the file, folder or record could not be read at first; a later read succeeded",
    )

    REPEATED = "repeated", Weight.SKIPPED, "the list names it more than once"

    # Refused: the input is intact, but Fonds does not keep it.
    HTTP_STATUS = (
        "http-status",
        Weight.REJECTED,
        "the server did not return a page (status other than 200)",
    )
    UNSUPPORTED_TYPE = "unsupported-type", Weight.REJECTED, "neither a PDF nor a web page"
    NO_DIGEST = (
        "no-digest",
        Weight.REJECTED,
        "a line of an index without a SHA-1, so its file is unknown",
    )
    EMPTY_BODY = "empty-body", Weight.REJECTED, "the body has no bytes"
    TOO_LARGE = "too-large", Weight.REJECTED, "larger than the limit for its type"
    NO_TEXT = "no-text", Weight.REJECTED, "a page without enough text to keep"
    NOT_WANTED = (
        "not-wanted",
        Weight.REJECTED,
        "the pipeline has no use for it",
    )
    NOT_FOLLOWED = (
        "not-followed",
        Weight.REJECTED,
        "a symbolic link to a path outside the given folder; use --follow to follow it",
    )
    NO_METADATA = (
        "no-metadata",
        Weight.REJECTED,
        (
            "the story has no metadata record next to it; the pipeline `warc` parses such "
            "pages again"
        ),
    )
    NO_CANONICAL_URL = (
        "no-canonical-url",
        Weight.REJECTED,
        "the page's URL was not recorded, and the page does not state it",
    )
    TAKEN_DOWN = (
        "taken-down",
        Weight.REJECTED,
        "the file was taken down; Fonds refuses its bytes",
    )
    PURGED = "purged", Weight.REJECTED, "a person removed its message from the queue"
    ACCEPTED = (
        "accepted",
        Weight.REJECTED,
        "it failed, and a person accepted the failure as final",
    )
    IS_FEED = "is-feed", Weight.REJECTED, "a feed or sitemap served as a page"

    BAD_URL = (
        "bad-url",
        Weight.REJECTED,
        "not an http or https URL with a host",
    )
    BAD_REDIRECT = (
        "bad-redirect",
        Weight.REJECTED,
        "a redirect to a URL that cannot be fetched, or too many redirects",
    )
    PRIVATE_ADDRESS = (
        "private-address",
        Weight.REJECTED,
        ("its host is in a private or reserved network; allow it with elsewhere.private_addresses"),
    )
    ROBOTS_DENIED = "robots-denied", Weight.REJECTED, "the site's robots.txt does not allow it"
    ROBOTS_UNREACHABLE = (
        "robots-unreachable",
        Weight.REJECTED,
        (
            "the site's robots.txt was unreachable on every attempt; Fonds fetches nothing "
            "without it"
        ),
    )
    NO_SUCH_HOST = "no-such-host", Weight.REJECTED, "its host name has no IP address"
    UNREACHABLE = (
        "unreachable",
        Weight.REJECTED,
        "its server did not answer, closed the connection or was too slow on every attempt",
    )
    THROTTLED = "throttled", Weight.REJECTED, "its server asked to wait on every attempt"
    BAD_CERTIFICATE = (
        "bad-certificate",
        Weight.REJECTED,
        "the server's TLS certificate is not valid",
    )
    NOT_YET = "not-yet", Weight.REJECTED, "waiting for the site's next free slot"

    # Rejected or skipped while links are listed, before anything is fetched.
    KNOWN_LINK = (
        "known-link",
        Weight.SKIPPED,
        "the URL was listed before and is not fetched again",
    )
    NOT_SAMPLED = "not-sampled", Weight.SKIPPED, "outside the share set by --sample"
    NO_URL = "no-url", Weight.REJECTED, "a feed entry or list row without a URL"
    NO_HOST = "no-host", Weight.REJECTED, "a URL without a host"
    BAD_SCHEME = "bad-scheme", Weight.REJECTED, "a URL with a scheme other than http or https"
    BAD_HOST = (
        "bad-host",
        Weight.REJECTED,
        ("a URL of this machine or a private network; allow it with elsewhere.private_addresses"),
    )
    NON_NEWS = (
        "non-news",
        Weight.REJECTED,
        "the site is on the list of sites that are not news",
    )

    # Downloads of an old system, by their ids.
    REDUNDANT_FEED = (
        "redundant-feed",
        Weight.SKIPPED,
        'the download is a "feed not changed" note, not a page',
    )
    NO_SUCH_VERSION = (
        "no-such-version",
        Weight.REJECTED,
        "its id was used twice, and no version of the object matches the collection date",
    )

    # Failed: a person may want to look.
    DAMAGED_RECORD = (
        "damaged-record",
        Weight.FAILED,
        "the WARC, ARC or ZIP file is damaged at this position",
        "after you replace the file with an intact copy",
    )
    TRUNCATED_RECORD = (
        "truncated-record",
        Weight.FAILED,
        "the record ends before its declared length",
        "after you replace the file with an intact copy",
    )
    BOMB = "bomb", Weight.FAILED, "it decompresses to far more than its size allows"
    BAD_ENCODING = (
        "bad-encoding",
        Weight.FAILED,
        ("the declared compression does not match the bytes"),
    )
    MISSING_SOURCE = (
        "missing-source",
        Weight.FAILED,
        "its file or WARC is missing; use --warc-base to say where the WARCs of an index are",
        "after you put the file back, or ingest its index with --warc-base",
    )
    UNREADABLE_SOURCE = (
        "unreadable-source",
        Weight.FAILED,
        "the file cannot be opened or read",
        "after you make the file readable",
    )
    BAD_INDEX_LINE = (
        "bad-index-line",
        Weight.FAILED,
        "an invalid line in an index or task list",
    )
    BAD_LISTING = (
        "bad-listing",
        Weight.FAILED,
        "a feed, sitemap, page or table of links that cannot be parsed",
    )
    BAD_MESSAGE = (
        "bad-message",
        Weight.FAILED,
        "an invalid message that another program put on a topic",
    )
    BROKEN_PDF = "broken-pdf", Weight.FAILED, "the PDF cannot be opened or repaired"
    ENCRYPTED_PDF = "encrypted-pdf", Weight.FAILED, "the PDF needs a password"
    BROKEN_ARTICLE = (
        "broken-article",
        Weight.FAILED,
        "looks like a JATS or NLM XML article but cannot be parsed",
    )
    TIMEOUT = (
        "timeout",
        Weight.FAILED,
        "reading it exceeded the time limit and was stopped",
        "with a longer time limit, or on a less busy machine",
    )
    OUT_OF_MEMORY = (
        "out-of-memory",
        Weight.FAILED,
        "reading it exceeded the memory limit",
        "with a larger memory limit",
    )
    CRASHED_READER = (
        "crashed-reader",
        Weight.FAILED,
        "the isolated reader crashed on it",
        "with a newer version of Fonds, or with more free memory",
    )
    STORE_UNAVAILABLE = (
        "store-unavailable",
        Weight.FAILED,
        "a store did not answer on any attempt",
        "when the store answers",
    )
    INTERNAL_ERROR = (
        "internal-error",
        Weight.FAILED,
        "a bug in Fonds; please report it",
        "with a newer version of Fonds",
    )


@dataclass(frozen=True, slots=True)
class Disposition:
    """Record of how one message ended at one step. Each message has exactly one per step.

    - `verdict`: type of the end.
    - `reason`: reason from the closed list; None for a message that is simply done.
    - `detail`: sentence about this message for people.
    - `after_s`: delay in seconds before a retried or deferred message is delivered again.
    """

    verdict: Verdict
    reason: Reason | None = None
    detail: str = ""
    after_s: float = 0.0


DONE = Disposition(Verdict.DONE)


def keep_without_text(reason: Reason, detail: str = "") -> Disposition:
    """Return the disposition of a message whose work is done, although its file has no text.

    The file is kept. `reason` says why no text was extracted.
    """
    return Disposition(Verdict.DONE, reason, detail)


def drop(reason: Reason, detail: str = "") -> Disposition:
    """Return the disposition of a message that ends for a reason that is not a failure."""
    return Disposition(Verdict.DROPPED, reason, detail)


def quarantine(reason: Reason, detail: str = "") -> Disposition:
    """Return the disposition that moves a failed message to quarantine, where a person can examine
    it.
    """
    return Disposition(Verdict.QUARANTINED, reason, detail)


def end(reason: Reason, detail: str = "") -> Disposition:
    """Return the disposition of a message that ends for a reason: quarantine after a failure, else
    drop.
    """
    return (quarantine if reason.weight is Weight.FAILED else drop)(reason, detail)


def retry(reason: Reason, detail: str, after_s: float) -> Disposition:
    """Return the disposition that retries a failed message after at least `after_s` seconds.

    A retry counts as an attempt.
    """
    return Disposition(Verdict.RETRIED, reason, detail, after_s)


def defer(reason: Reason, detail: str, after_s: float) -> Disposition:
    """Return the disposition that delays a message by `after_s` seconds.

    A deferral does not count as an attempt.
    """
    return Disposition(Verdict.DEFERRED, reason, detail, after_s)
