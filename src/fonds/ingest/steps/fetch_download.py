"""fetch_download: what an old system kept of a page, out of its bucket, into the spool as if fetched then.

Source: seed 004, Appendix A (`historical`); mediacloud/story-indexer, hist-fetcher.
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
"""What the old system kept instead of a feed that had not changed."""


class DownloadStore(Protocol):
    """Objects by their `s3://BUCKET/KEY`; errors are those of `Archive.read`, and TransientError."""

    def read_dated(
        self, url: str, max_bytes: int, version: str | None = None
    ) -> tuple[bytes, datetime]:
        """The object, or this version of it, and when it was written, aware."""

    def list_versions(self, url: str) -> Sequence[tuple[str, datetime]]:
        """Ids of its versions, and when each was written."""


@dataclass(frozen=True, slots=True)
class FetchDownloadStep:
    """Objects are gzip, or as they are; neither has more than `body_max_bytes`."""

    downloads: DownloadStore
    spool: Spool
    body_max_bytes: int

    def __call__(self, link: Link) -> Result:
        """The capture of a page where and when the table says it was found; what it does not say is the
        object's address, and when that was written. Raises as `DownloadStore` does, and as `decode_body`."""
        kept = self.spool.find_kept([link])
        if link.id in kept:
            return Result(items=(kept[link.id],))
        url = link.url.partition("#")[0]
        version = self._choose_version(link, url)
        if isinstance(version, Result):
            return version
        sent, modified = self.downloads.read_dated(url, self.body_max_bytes, version)
        body = self._unpack(sent)
        if body.startswith(REDUNDANT):
            return Result(drop(Reason.REDUNDANT_FEED))
        fetched_at = _to_datetime(link.fetch_timestamp) or modified
        found_at = link.final_url if link.final_url not in (None, NEED_CANONICAL_URL) else url
        # Nothing of the answer was noted but that there was one.
        hop = Hop(found_at or url, fetched_at, 200, "HTTP/1.0 200 OK", ())
        return Result(items=tuple(self.spool.save([FetchedLink(link, Exchange((hop,)), body)])))

    def _choose_version(self, link: Link, url: str) -> str | Result | None:
        """Which version is meant; None for the newest, a result where none can be told to be."""
        number = _parse_downloads_id(link)
        if not is_ambiguous(number):
            return None
        versions = [
            ObjectVersion(id_, written) for id_, written in self.downloads.list_versions(url)
        ]
        chosen = choose(number, _to_datetime(link.fetch_timestamp), versions)
        if chosen is None:
            told = f"{url} has {len(versions)} versions"
            return Result(drop(Reason.NO_SUCH_VERSION, told))
        return chosen.id

    def _unpack(self, body: bytes) -> bytes:
        if not body.startswith(GZIP_MAGIC):
            return body
        return decode_body(lambda: iter([body]), ["gzip"], body_max_bytes=self.body_max_bytes)


def _parse_downloads_id(link: Link) -> int:
    """Raises PermanentError for a link that is to no download."""
    told = link.rss_entry.link or ""
    if not (told.isascii() and told.isdigit() and len(told) <= 18):
        raise PermanentError(Reason.BAD_URL, f"not the id of a download: {told[:80]!r}")
    return int(told)


def _to_datetime(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
