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
"""Media types of host files, by URL path and detected type. An HTML page at such a path stays a
page.
"""


EMITS = (
    Output(IdentifiedCapture, str(Kind.PDF)),
    Output(IdentifiedCapture, str(Kind.STORY)),
    Output(IdentifiedCapture, str(Kind.JATS)),
    Output(IdentifiedCapture, str(Kind.UNREAD)),
    Output(IdentifiedCapture, REVISIT),
)


@dataclass(frozen=True, slots=True)
class IdentifyStep:
    """Step that identifies the bytes of captures: it computes their hashes and detects their media
    type.

    - `archive`: reads the bytes.
    - `describe`: builds the FileMeta (hashes, size, type) from bytes and the declared media type.
    - `pdf_max_bytes`: maximum size of PDFs and other large kinds of files.
    - `page_max_bytes`: maximum size of all other files.
    - `statuses`: HTTP statuses of responses that are accepted.
    - `takes_plain_text`: whether plain text is accepted as a story. It is set in pipelines that
      begin with links.
    """

    archive: Archive
    describe: Callable[[bytes, str | None], FileMeta]
    pdf_max_bytes: int
    page_max_bytes: int
    statuses: frozenset[int] = ACCEPTED_STATUSES
    takes_plain_text: bool = False

    def __call__(self, capture: Capture) -> Result:
        """Read a capture and return an IdentifiedCapture, or a result that drops the capture and
        states the reason.

        Raises DamagedInputError, LimitError and PermanentError under the conditions of
        `Archive.read`. Also raises DamagedInputError if a single file, or bytes requested from a
        web archive, do not match their declared digest.
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
        """Identify a revisit from its record. The result has no file, because a revisit has no
        body.

        If the capture declares no SHA-1, the result says which earlier capture the record refers
        to. If the record cannot be read but the capture declares a SHA-1, the result has no rights
        statements.
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
        """Return why a capture is refused without reading it, such as for damage or its HTTP
        status; None if it must be read.
        """
        if capture.damage is not None:
            return end(capture.damage_reason or Reason.DAMAGED_RECORD, capture.damage)
        status = capture.status if capture.record_type != "revisit" else None
        if status is not None and not self._is_kept(status, capture):
            return drop(Reason.HTTP_STATUS, f"status {status}")
        return None

    def _is_kept(self, status: int, capture: Capture) -> bool:
        """Return whether a response with this HTTP status has a body to store.

        A 304 (not modified) that Fonds fetched has the body of the previous fetch.
        """
        return status in self.statuses or (
            status == NOT_MODIFIED and capture.place.kind is PlaceKind.SPOOL
        )


def _set_host_file_type(capture: Capture, file: FileMeta) -> FileMeta:
    """Give a robots.txt or tdmrep.json the media type that Fonds uses internally for these files.

    They are recognised by URL path and detected media type. Other files are returned unchanged.
    """
    mime = _HOST_FILES.get((split_address(capture.url).path, file.magic_mime))
    return file if mime is None else replace(file, mime=mime)


def read_stated_rights(capture: Capture, payload: Payload) -> Rights:
    """Return all rights statements about a capture: from the robots.txt of its fetch, its response
    headers and its feed entry.
    """
    http, exchange, entry = payload.http, payload.exchange, capture.rss_entry
    exchange_rights = exchange.rights if exchange is not None and exchange.rights else NO_RIGHTS
    statements = read_header_statements(http, capture.url) if http is not None else ()
    by_feed = entry.rights if entry is not None else ()
    return replace(exchange_rights, statements=(*exchange_rights.statements, *statements, *by_feed))


def _build_revisit(capture: Capture, payload: Payload) -> IdentifiedCapture:
    """Convert a capture to a revisit, because its WARC record is one, with the SHA-1 that the
    record declares.

    An index may describe a revisit as a response. Only its record shows that it is a revisit.
    """
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
    """Check that single files, and bytes requested from a web archive, have the SHA-1 that their
    capture declares.

    A web archive may return another capture of the URL. Local WARC records are not checked, because
    many declare the digest of a body with content codings. Raises DamagedInputError if the SHA-1s
    differ.
    """
    if capture.digest is None or capture.place.kind not in FULLY_FETCHED_KINDS:
        return
    declared_sha1 = parse_sha1(capture.digest)
    if declared_sha1 is not None and declared_sha1.hex() != file.sha1:
        detail = f"{capture.place}: the bytes have the SHA-1 {file.sha1} instead of {declared_sha1.hex()}"
        raise DamagedInputError(Reason.DAMAGED_RECORD, detail)
