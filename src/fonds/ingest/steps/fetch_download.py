"""fetch_download: copy a page that an old system stored in S3 to the spool, as if Fonds had fetched
it at that time.

Source: seed document 004, Appendix A (`historical`); mediacloud/story-indexer, hist-fetcher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from fonds.following.listings.csv_tables import (
    NEED_CANONICAL_URL,
    ObjectVersion,
    choose,
    is_ambiguous,
)
from fonds.ingest.steps.spool import FetchedLink, Spool
from fonds.model.capture import Capture
from fonds.model.disposition import Reason, drop
from fonds.model.entry import Link
from fonds.model.errors import PermanentError
from fonds.model.exchange import Exchange, Hop
from fonds.model.step import Output, Result
from fonds.text.coding import decode_body

EMITS = (Output(Capture),)
GZIP_MAGIC = b"\x1f\x8b"
REDUNDANT = b"(redundant feed)"
"""Content that the old system stored in place of a feed that had not changed."""


class DownloadStore(Protocol):
    """Interface that reads objects in S3, given as `s3://BUCKET/KEY`.

    Its methods raise the errors of `Archive.read`, and TransientError.
    """

    def read_dated(
        self, url: str, max_bytes: int, version: str | None = None
    ) -> tuple[bytes, datetime]:
        """Return the bytes of an S3 object, and when the object was written (aware UTC).

        If `version` is set, that version of the object is read, else the newest.
        """

    def list_versions(self, url: str) -> Sequence[tuple[str, datetime]]:
        """Return the version ids of an S3 object, each with the time when the version was written
        (aware UTC).
        """


@dataclass(frozen=True, slots=True)
class FetchDownloadStep:
    """Step that copies one page, which an old system stored as an S3 object (a download), to the
    spool.

    - `downloads`: reads the objects, which may be compressed with gzip.
    - `spool`: stores the copies.
    - `body_max_bytes`: maximum size of an object, both compressed and decompressed.
    """

    downloads: DownloadStore
    spool: Spool
    body_max_bytes: int

    def __call__(self, link: Link) -> Result:
        """Copy the page of a link to the spool and return its capture, with the URL and time that
        the link states.

        In place of a URL or time that the link does not state, that of the S3 object is used.
        Raises the errors of `DownloadStore` and `decode_body`.
        """
        captures = self.spool.find_kept([link])
        if link.id in captures:
            return Result(items=(captures[link.id],))
        url = link.url.partition("#")[0]
        version = self._choose_version(link, url)
        if isinstance(version, Result):
            return version
        object_data, written_at = self.downloads.read_dated(url, self.body_max_bytes, version)
        body = self._unpack(object_data)
        if body.startswith(REDUNDANT):
            return Result(drop(Reason.REDUNDANT_FEED))
        fetched_at = _to_datetime(link.fetch_timestamp) or written_at
        found_at = link.final_url if link.final_url not in (None, NEED_CANONICAL_URL) else url
        # Only the existence of the response was recorded.
        hop = Hop(found_at or url, fetched_at, 200, "HTTP/1.0 200 OK", ())
        return Result(items=tuple(self.spool.save([FetchedLink(link, Exchange((hop,)), body)])))

    def _choose_version(self, link: Link, url: str) -> str | Result | None:
        """Return the version id of the S3 object to read; None for the newest version.

        A certain version is needed if two downloads have the same id. If the version cannot be
        determined, returns a Result that drops the link and states the reason.
        """
        number = _parse_downloads_id(link)
        if not is_ambiguous(number):
            return None
        versions = [
            ObjectVersion(id_, written_at) for id_, written_at in self.downloads.list_versions(url)
        ]
        version = choose(number, _to_datetime(link.fetch_timestamp), versions)
        if version is None:
            detail = f"{url} has {len(versions)} versions"
            return Result(drop(Reason.NO_SUCH_VERSION, detail))
        return version.id

    def _unpack(self, body: bytes) -> bytes:
        if not body.startswith(GZIP_MAGIC):
            return body
        return decode_body(lambda: iter([body]), ["gzip"], body_max_bytes=self.body_max_bytes)


def _parse_downloads_id(link: Link) -> int:
    """Return the numeric id of a download from its link. Raises PermanentError if the link has no
    valid id.

    A download is a page that an old system has stored.
    """
    text = link.rss_entry.link or ""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise PermanentError(Reason.BAD_URL, f"not a download id: {text[:80]!r}")
    return int(text)


def _to_datetime(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
