"""What was fetched, durable before anything else hears of it: the exchange among the blobs, then its row."""

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
    """The robots.txt that allowed an address."""

    url: RequestUrl
    robots: Robots


@dataclass(frozen=True, slots=True)
class FetchedLink:
    """A link that was answered with a page; `body` has its content codings. Of a page that had not changed
    it is the body that was `previous`, without any. `host` is None where robots.txt was not asked.
    """

    link: Link
    exchange: Exchange
    body: bytes
    previous: FetchedPageRow | None = None
    host: RobotsResponse | None = None


@dataclass(frozen=True, slots=True)
class Spool:
    """Blob before row, row before capture: what anybody is told of is there."""

    blobs: Blobs
    records: Records
    archive: Archive

    def save(self, links: Sequence[FetchedLink]) -> list[Capture]:
        """The captures of what was fetched, in order; done again, they replace what is there."""
        rows = [_build_row(one) for one in links]
        self.blobs.put(
            [
                Blob(
                    build_spool_key(one.link.id), encode_exchange(one.exchange, one.body), BLOB_TYPE
                )
                for one in links
            ]
        )
        self.records.put(rows)
        return [_build_capture(one.link, row) for one, row in zip(links, rows, strict=True)]

    def find_kept(self, links: Sequence[Link]) -> dict[str, Capture]:
        """By their ids, the captures of links that were fetched before: what failed since is no reason to
        fetch them again."""
        rows = self.records.get(FetchedPageRow, [link.id for link in links])
        by_id = {link.id: link for link in links}
        return {row.capture_id: _build_capture(by_id[row.capture_id], row) for row in rows}

    def remove(self, capture: Capture) -> None:
        """Keep nothing of a capture."""
        self.records.delete(FetchedPageRow, [capture.id])
        self.blobs.delete([capture.place.path])

    def load_body(self, previous: FetchedPageRow) -> bytes | None:
        """The body of what was fetched before; None where it was not kept. Raises TransientError."""
        try:
            place = Place(PlaceKind.SPOOL, build_spool_key(previous.capture_id))
            return self.archive.read(place).body or None
        except PermanentError:
            return None

    def find_previous(self, urls: Sequence[str]) -> dict[str, FetchedPageRow]:
        """What was fetched last from these addresses, of what a request can be made conditional by; with
        the id of the capture that had the body."""
        found: dict[str, FetchedPageRow] = {}
        wanted = sorted(set(urls))
        for row in self.records.find(FetchedPageRow, {"url": wanted}, order=("url", "fetched")):
            if row.etag or row.last_modified:
                whole = found.get(row.url) if row.status == NOT_MODIFIED else None
                found[row.url] = row if whole is None else replace(row, capture_id=whole.capture_id)
        return found


def _build_row(link: FetchedLink) -> FetchedPageRow:
    last = link.exchange.hops[-1]
    return FetchedPageRow(
        capture_id=link.link.id,
        url=link.link.url,
        final_url=last.url,
        fetched=last.began_at,
        status=last.status,
        mime=_get_mime(last) or (link.previous.mime if link.previous is not None else None),
        address=last.address,
        tls=last.tls,
        tls_check=link.exchange.tls_check,
        redirects=len(link.exchange.hops) - 1,
        in_spool=True,
        etag=_get_validator(last, "etag"),
        last_modified=_get_validator(last, "last-modified"),
    )


def _get_mime(hop: Hop) -> str | None:
    return (hop.get("content-type") or "").partition(";")[0].strip().lower() or None


def _get_validator(hop: Hop, name: str) -> str | None:
    """All headers of this name as one."""
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
