"""identify: read the bytes of a capture, hash them, and detect their type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fonds.extract.mime import FEED_MIMES
from fonds.fetching.robots import decode_robots_text
from fonds.model.archive import Payload
from fonds.model.capture import Capture, PlaceKind
from fonds.model.disposition import DONE, Disposition, Reason, drop, end
from fonds.model.errors import DamagedInputError, PermanentError
from fonds.model.file import (
    PLAIN_TEXT,
    REVISIT,
    ROBOTS_TXT,
    TDMREP,
    FileMeta,
    IdentifiedCapture,
    Kind,
    RevisitReference,
)
from fonds.model.keys import encode_sha1_base32, parse_sha1
from fonds.model.rights import NO_RIGHTS, Rights
from fonds.model.step import Output, Result
from fonds.ports import Archive
from fonds.rights.preferences import read_header_statements
from fonds.urls.parts import split_address

FULLY_FETCHED_KINDS = frozenset({PlaceKind.FILE, PlaceKind.REPLAY, PlaceKind.PETABOX})
_LARGE_KINDS = (Kind.PDF, Kind.UNREAD)
NOT_MODIFIED = 304
ACCEPTED_STATUSES = frozenset({200, 203, 226})  # 226 marks FTP transfers in old indexes
SUCCESSES = frozenset(range(200, 300))
_HOST_FILES = {
    ("/robots.txt", PLAIN_TEXT): ROBOTS_TXT,
    ("/.well-known/tdmrep.json", "application/json"): TDMREP,
}
"""Types by path and detected type; a page at one of these paths stays a page."""


EMITS = (
    Output(IdentifiedCapture, str(Kind.PDF)),
    Output(IdentifiedCapture, str(Kind.STORY)),
    Output(IdentifiedCapture, str(Kind.JATS)),
    Output(IdentifiedCapture, str(Kind.UNREAD)),
    Output(IdentifiedCapture, REVISIT),
)


@dataclass(frozen=True, slots=True)
class IdentifyStep:
    """Identifies captures.

    - `describe` builds a FileMeta from bytes and a declared type.
    - The limits are in bytes.
    - `statuses` are the HTTP statuses of responses with a file.
    - `takes_plain_text` is for pipelines that begin with links: linked plain text is a story; other
      plain
      text in a crawl is not.
    """

    archive: Archive
    describe: Callable[[bytes, str | None], FileMeta]
    pdf_max_bytes: int
    page_max_bytes: int
    statuses: frozenset[int] = ACCEPTED_STATUSES
    takes_plain_text: bool = False

    def __call__(self, capture: Capture) -> Result:
        """Return an IdentifiedCapture for what is accepted, or the reason for what is not.

        Raises DamagedInputError, LimitError and PermanentError as `Archive.read` does.
        """
        disposition = self._judge_unread(capture)
        if disposition is not None:
            return Result(disposition)
        if capture.record_type == REVISIT:
            return Result(items=(self._identify_revisit(capture),))
        payload = self.archive.read(capture.place)
        if not payload.body and payload.warc_headers.get("WARC-Type", "").lower() == REVISIT:
            return Result(items=(_build_revisit(capture, payload),))
        http = payload.http
        if http is not None and not self._is_kept(http.status, capture):
            return Result(drop(Reason.HTTP_STATUS, f"status {http.status}"))
        if not payload.body:
            return Result(drop(Reason.EMPTY_BODY))
        file = self.describe(payload.body, (http and http.get("content-type")) or capture.mime)
        file = _set_host_file_type(capture, file)
        _check_digest(capture, file)
        disposition = self._judge(file)
        if disposition is not DONE:
            return Result(disposition)
        charset = http.charset if http else None
        rights = read_stated_rights(capture, payload)
        text = decode_robots_text(payload.body) if file.mime in (ROBOTS_TXT, TDMREP) else None
        return Result(
            items=(IdentifiedCapture(capture, file, charset, rights=rights, host_text=text),)
        )

    def _identify_revisit(self, capture: Capture) -> IdentifiedCapture:
        """Identify a revisit. If it has no SHA-1, read what its record refers to.

        A revisit with a SHA-1 whose record cannot be read states no rights.
        """
        is_known = parse_sha1(capture.digest or "") is not None
        try:
            payload = self.archive.read(capture.place)
        except PermanentError:
            if not is_known:
                raise
            return IdentifiedCapture(capture, None)
        refers_to = None if is_known else _build_reference(capture, payload.warc_headers)
        rights = read_stated_rights(capture, payload)
        return IdentifiedCapture(capture, None, refers_to=refers_to, rights=rights)

    def _judge(self, file: FileMeta) -> Disposition:
        if file.kind is Kind.OTHER or (file.mime == PLAIN_TEXT and not self.takes_plain_text):
            feed = file.mime in FEED_MIMES
            return drop(Reason.IS_FEED if feed else Reason.UNSUPPORTED_TYPE, file.mime)
        limit_bytes = self.pdf_max_bytes if file.kind in _LARGE_KINDS else self.page_max_bytes
        if file.size > limit_bytes:
            detail = f"{file.size} bytes; the limit for a {file.kind} is {limit_bytes}"
            return drop(Reason.TOO_LARGE, detail)
        return DONE

    def _judge_unread(self, capture: Capture) -> Disposition | None:
        """Return the disposition that needs no reading, or None."""
        if capture.damage is not None:
            return end(capture.damage_reason or Reason.DAMAGED_RECORD, capture.damage)
        status = capture.status if capture.record_type != "revisit" else None
        if status is not None and not self._is_kept(status, capture):
            return drop(Reason.HTTP_STATUS, f"status {status}")
        return None

    def _is_kept(self, status: int, capture: Capture) -> bool:
        """Return whether a response with this status has a page. Our own 304 has the page fetched
        before.
        """
        return status in self.statuses or (
            status == NOT_MODIFIED and capture.place.kind is PlaceKind.SPOOL
        )


def _set_host_file_type(capture: Capture, file: FileMeta) -> FileMeta:
    """Set the own types of robots.txt and tdmrep.json, which are neither pages nor unknown data."""
    mime = _HOST_FILES.get((split_address(capture.url).path, file.magic_mime))
    return file if mime is None else replace(file, mime=mime)


def read_stated_rights(capture: Capture, payload: Payload) -> Rights:
    """Return the rights stated in the robots.txt we fetched, the response headers, and the feed."""
    http, exchange, entry = payload.http, payload.exchange, capture.rss_entry
    exchange_rights = exchange.rights if exchange is not None and exchange.rights else NO_RIGHTS
    statements = read_header_statements(http, capture.url) if http is not None else ()
    by_feed = entry.rights if entry is not None else ()
    return replace(exchange_rights, statements=(*exchange_rights.statements, *statements, *by_feed))


def _build_revisit(capture: Capture, payload: Payload) -> IdentifiedCapture:
    """Return a capture whose record proves to be a revisit, with the SHA-1 it declares."""
    reference = _build_reference(capture, payload.warc_headers)
    sha1 = parse_sha1(reference.digest)
    digest = reference.digest or None if sha1 is None else encode_sha1_base32(sha1)
    revisit = replace(capture, record_type=REVISIT, mime=None, digest=digest)
    rights = read_stated_rights(capture, payload)
    return IdentifiedCapture(revisit, None, refers_to=reference, rights=rights)


def _build_reference(capture: Capture, headers: Mapping[str, str]) -> RevisitReference:
    fields = {name.lower(): value.strip() for name, value in headers.items()}
    return RevisitReference(
        url=fields.get("warc-refers-to-target-uri", "").strip("<>"),
        captured_at=_parse_moment(fields.get("warc-refers-to-date", "")),
        digest=fields.get("warc-payload-digest", "") or capture.digest or "",
        record_id=fields.get("warc-refers-to", "").strip("<>"),
    )


def _parse_moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check_digest(capture: Capture, file: FileMeta) -> None:
    """Check the digest of fetched bytes: a web archive may return another capture of the URL.

    The digests of WARC records are not checked: too many include content codings. Raises
    DamagedInputError.
    """
    if capture.digest is None or capture.place.kind not in FULLY_FETCHED_KINDS:
        return
    expected = parse_sha1(capture.digest)
    if expected is not None and expected.hex() != file.sha1:
        detail = (
            f"{capture.place}: the bytes have the SHA-1 {file.sha1} instead of {expected.hex()}"
        )
        raise DamagedInputError(Reason.DAMAGED_RECORD, detail)
