"""What was fetched, durable before anything else hears of it: the exchange among the blobs, then its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fonds.crawl.outcomes import NOT_MODIFIED
from fonds.crawl.request_url import RequestUrl
from fonds.crawl.robots import Robots
from fonds.formats.spooled import spool_key, to_spool
from fonds.model.blob import Blob
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.errors import PermanentError
from fonds.model.exchange import Exchange, Hop
from fonds.model.link import Link
from fonds.model.rows import FetchedRow
from fonds.ports import Archive, Blobs, Records

VALIDATOR_CHARS_MAX = 2000
BLOB_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """The robots.txt that allowed an address."""

    url: RequestUrl
    robots: Robots


@dataclass(frozen=True, slots=True)
class Fetched:
    """A link that was answered with a page; `body` has its content codings. Of a page that had not changed
    it is the body that was `known`, without any. `host` is None where robots.txt was not asked.
    """

    link: Link
    exchange: Exchange
    body: bytes
    known: FetchedRow | None = None
    host: HostAnswer | None = None


@dataclass(frozen=True, slots=True)
class Spool:
    """Blob before row, row before capture: what anybody is told of is there."""

    blobs: Blobs
    records: Records
    archive: Archive

    def keep(self, some: Sequence[Fetched]) -> list[Capture]:
        """The captures of what was fetched, in order; done again, they replace what is there."""
        rows = [_row(one) for one in some]
        self.blobs.put(
            [
                Blob(spool_key(one.link.id), to_spool(one.exchange, one.body), BLOB_TYPE)
                for one in some
            ]
        )
        self.records.put(rows)
        return [_capture(one.link, row) for one, row in zip(some, rows, strict=True)]

    def kept(self, links: Sequence[Link]) -> dict[str, Capture]:
        """By their ids, the captures of links that were fetched before: what failed since is no reason to
        fetch them again."""
        rows = self.records.get(FetchedRow, [link.id for link in links])
        by_id = {link.id: link for link in links}
        return {row.capture_id: _capture(by_id[row.capture_id], row) for row in rows}

    def forget(self, capture: Capture) -> None:
        """Keep nothing of a capture."""
        self.records.delete(FetchedRow, [capture.id])
        self.blobs.delete([capture.place.path])

    def known_body(self, before: FetchedRow) -> bytes | None:
        """The body of what was fetched before; None where it was not kept. Raises TransientError."""
        try:
            place = Place(PlaceKind.SPOOL, spool_key(before.capture_id))
            return self.archive.read(place).body or None
        except PermanentError:
            return None

    def before(self, urls: Sequence[str]) -> dict[str, FetchedRow]:
        """What was fetched last from these addresses, of what a request can be made conditional by; with
        the id of the capture that had the body."""
        found: dict[str, FetchedRow] = {}
        wanted = sorted(set(urls))
        for row in self.records.find(FetchedRow, {"url": wanted}, order=("url", "fetched")):
            if row.etag or row.last_modified:
                whole = found.get(row.url) if row.status == NOT_MODIFIED else None
                found[row.url] = row if whole is None else replace(row, capture_id=whole.capture_id)
        return found


def _row(one: Fetched) -> FetchedRow:
    last = one.exchange.hops[-1]
    return FetchedRow(
        capture_id=one.link.id,
        url=one.link.url,
        final_url=last.url,
        fetched=last.began_at,
        status=last.status,
        mime=_mime(last) or (one.known.mime if one.known is not None else None),
        address=last.address,
        tls=last.tls,
        tls_check=one.exchange.tls_check,
        redirects=len(one.exchange.hops) - 1,
        in_spool=True,
        etag=_validator(last, "etag"),
        last_modified=_validator(last, "last-modified"),
    )


def _mime(hop: Hop) -> str | None:
    return (hop.get("content-type") or "").partition(";")[0].strip().lower() or None


def _validator(hop: Hop, name: str) -> str | None:
    """All headers of this name as one."""
    values = [value for key, value in hop.headers if key.lower() == name]
    return ", ".join(values)[:VALIDATOR_CHARS_MAX] or None


def _capture(link: Link, row: FetchedRow) -> Capture:
    return Capture(
        id=link.id,
        input_id=link.input_id,
        place=Place(PlaceKind.SPOOL, spool_key(link.id)),
        url=row.final_url,
        captured_at=row.fetched,
        record_type="response",
        collection=link.collection,
        mime=row.mime,
        status=row.status,
        rss_entry=link.rss_entry,
    )
