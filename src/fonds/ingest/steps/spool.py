"""Spool: folder in the blob store where fetched exchanges are stored until they are archived.

An exchange is all requests and responses of one fetched link. Its blob is written first, then its
row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fonds.fetching.outcomes import NOT_MODIFIED
from fonds.fetching.robots import Robots
from fonds.model.archive import Blob
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.entry import Link
from fonds.model.errors import PermanentError
from fonds.model.exchange import Exchange, Hop
from fonds.model.rows import FetchedPageRow
from fonds.ports import Archive, Blobs, Records
from fonds.text.exchange import build_spool_key, encode_exchange
from fonds.urls.request_url import RequestUrl

VALIDATOR_MAX_CHARS = 2000
BLOB_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class RobotsResponse:
    """The robots.txt that allowed a URL to be fetched.

    - `url`: the URL that was fetched.
    - `robots`: the robots.txt.
    """

    url: RequestUrl
    robots: Robots


@dataclass(frozen=True, slots=True)
class FetchedLink:
    """Link that was fetched.

    - `link`: the link.
    - `exchange`: all requests and responses of the fetch.
    - `body`: body of the last response, with its content codings. For an unchanged page, the
      decoded body of `previous`.
    - `previous`: row of the previous fetch if the page is unchanged, else None.
    - `host`: robots.txt that allowed the fetch; None if none was requested.
    """

    link: Link
    exchange: Exchange
    body: bytes
    previous: FetchedPageRow | None = None
    host: RobotsResponse | None = None


@dataclass(frozen=True, slots=True)
class Spool:
    """Stores fetched exchanges: first the blob, then the row, and only then returns the capture.

    So the body of every returned capture can be read.
    """

    blobs: Blobs
    records: Records
    archive: Archive

    def save(self, links: Sequence[FetchedLink]) -> list[Capture]:
        """Store fetched links. Return their captures, in order. A repeated call replaces what it
        stored before.
        """
        rows = [_build_row(fetched_link) for fetched_link in links]
        self.blobs.put(
            [
                Blob(
                    build_spool_key(fetched_link.link.id),
                    encode_exchange(fetched_link.exchange, fetched_link.body),
                    BLOB_TYPE,
                )
                for fetched_link in links
            ]
        )
        self.records.put(rows)
        return [
            _build_capture(fetched_link.link, row)
            for fetched_link, row in zip(links, rows, strict=True)
        ]

    def find_kept(self, links: Sequence[Link]) -> dict[str, Capture]:
        """Return the captures of those links that were fetched before, by link id. They need not be
        fetched again.
        """
        rows = self.records.get(FetchedPageRow, [link.id for link in links])
        by_id = {link.id: link for link in links}
        return {row.capture_id: _build_capture(by_id[row.capture_id], row) for row in rows}

    def remove(self, capture: Capture) -> None:
        """Remove the row and the blob of a capture from the spool."""
        self.records.delete(FetchedPageRow, [capture.id])
        self.blobs.delete([capture.place.path])

    def load_body(self, previous: FetchedPageRow) -> bytes | None:
        """Return the body of a previous fetch; None if the body is empty or no longer stored.

        Raises TransientError if a store is unavailable.
        """
        try:
            place = Place(PlaceKind.SPOOL, build_spool_key(previous.capture_id))
            return self.archive.read(place).body or None
        except PermanentError:
            return None

    def find_previous(self, urls: Sequence[str]) -> dict[str, FetchedPageRow]:
        """Return the last fetch of each URL that has an ETag or Last-Modified header, for a
        conditional request.

        URLs without such a fetch are left out. If the last fetch was a 304 (not modified), its
        capture id is that of the earlier fetch with the body.
        """
        previous: dict[str, FetchedPageRow] = {}
        unique_urls = sorted(set(urls))
        for row in self.records.find(
            FetchedPageRow, {"url": unique_urls}, order=("url", "fetched")
        ):
            if row.etag or row.last_modified:
                full_row = previous.get(row.url) if row.status == NOT_MODIFIED else None
                previous[row.url] = (
                    row if full_row is None else replace(row, capture_id=full_row.capture_id)
                )
        return previous


def _build_row(link: FetchedLink) -> FetchedPageRow:
    last_hop = link.exchange.hops[-1]
    return FetchedPageRow(
        capture_id=link.link.id,
        url=link.link.url,
        final_url=last_hop.url,
        fetched=last_hop.began_at,
        status=last_hop.status,
        mime=_get_mime(last_hop) or (link.previous.mime if link.previous is not None else None),
        address=last_hop.address,
        tls=last_hop.tls,
        tls_check=link.exchange.tls_check,
        redirects=len(link.exchange.hops) - 1,
        in_spool=True,
        etag=_get_validator(last_hop, "etag"),
        last_modified=_get_validator(last_hop, "last-modified"),
    )


def _get_mime(hop: Hop) -> str | None:
    return (hop.get("content-type") or "").partition(";")[0].strip().lower() or None


def _get_validator(hop: Hop, name: str) -> str | None:
    """Return the values of all response headers with this name, joined by commas and cut to 2,000
    characters.

    Returns None if there is no such header. `name` is in lower case.
    """
    values = [value for key, value in hop.headers if key.lower() == name]
    return ", ".join(values)[:VALIDATOR_MAX_CHARS] or None


def _build_capture(link: Link, row: FetchedPageRow) -> Capture:
    return Capture(
        id=link.id,
        input_id=link.input_id,
        place=Place(PlaceKind.SPOOL, build_spool_key(link.id)),
        url=row.final_url,
        captured_at=row.fetched,
        record_type="response",
        collection=link.collection,
        mime=row.mime,
        status=row.status,
        rss_entry=link.rss_entry,
    )
