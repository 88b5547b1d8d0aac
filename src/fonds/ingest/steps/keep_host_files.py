"""Store the robots.txt and tdmrep.json of hosts as captures, once per change.

These two files are called host files.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from fonds.fetching.robots import MAX_BYTES, Robots
from fonds.ingest.steps.spool import FetchedLink, Spool
from fonds.model.capture import Capture, format_datetime14
from fonds.model.entry import Link
from fonds.model.errors import PermanentError
from fonds.model.exchange import Exchange, Hop
from fonds.model.file import ROBOTS_TXT, TDMREP, IdentifiedCapture, UnindexedFile
from fonds.model.rows import CdxRow, FetchedPageRow, TakedownRow
from fonds.model.step import Result
from fonds.model.story import UnarchivedBody
from fonds.ports import Records
from fonds.rights.host_files import (
    HostRows,
    build_host_file_row,
    remove_host_rows,
    write_host_rows,
)

CACHE_SIZE = 10_000
"""Maximum number of robots.txt files whose capture ids are cached. The cache avoids a query per
page.
"""
_FOLDERS = {ROBOTS_TXT: "robots", TDMREP: "tdmrep"}


def return_fetched(links: Sequence[FetchedLink]) -> Sequence[FetchedLink]:
    """Return the links unchanged. Used in place of a HostFileKeeper where robots.txt files are not
    stored.
    """
    return links


@dataclass(frozen=True, slots=True)
class HostFile:
    """Response to a request for a robots.txt or tdmrep.json (host file).

    - `mime`: media type that Fonds uses internally for the host file.
    - `hops`: requests and responses, including redirects; the last is the final response.
    - `body`: body of the final response, with its content codings.
    """

    mime: str
    hops: tuple[Hop, ...]
    body: bytes

    @property
    def url(self) -> str:
        """The requested URL, before redirects."""
        return self.hops[0].url

    @property
    def digest(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the body, from which the capture id is
        made.
        """
        return hashlib.sha256(self.body).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class KeptHostFile:
    """Result of storing a robots.txt or tdmrep.json (host file).

    - `capture_id`: id of the capture of the host file; None if the file was not stored.
    - `changed`: SHA-1s of files for whose earlier captures other rights now apply.
    """

    capture_id: str | None = None
    changed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HostFileKeeper:
    """Stores the robots.txt and tdmrep.json of hosts (host files) as captures. Not thread-safe.

    - `spool`: stores a response until it is archived.
    - `identify`, `persist`, `archive`: the steps that every capture passes. They are called
      directly, without a queue.
    - `clock`: returns the current time (aware UTC).
    - `capture_ids`: cached capture ids of robots.txt files, by URL and digest.
    """

    spool: Spool
    records: Records
    identify: Callable[[Capture], Result]
    persist: Callable[[Sequence[IdentifiedCapture]], Sequence[Result]]
    archive: Callable[[Sequence[UnarchivedBody]], object]
    clock: Callable[[], datetime]
    capture_ids: OrderedDict[tuple[str, str], str | None] = field(default_factory=OrderedDict)

    def __call__(self, links: Sequence[FetchedLink]) -> Sequence[FetchedLink]:
        """Store the robots.txt that allowed each link to be fetched. Return the links, whose
        exchanges now have the capture id and the rights statements of the robots.txt.

        The exchange is the requests and responses of the link.
        """
        files = {id(link.host.robots): link.host.robots for link in links if link.host is not None}
        ids = {key: self._find_robots_id(robots) for key, robots in files.items()}
        return [replace(link, exchange=_add_robots_id(link, ids)) for link in links]

    def save(self, file: HostFile) -> KeptHostFile:
        """Store a robots.txt or tdmrep.json (host file) if its bytes differ from the last stored
        bytes at its URL.

        Also record that the file applies to captures of its host from its response time on. A file
        of another type, over 500 KiB or removed by a takedown is not stored. Raises
        StoreUnavailableError if a store is unavailable; a repeated call continues.
        """
        where = {"url": file.url}
        rows = self.records.find(FetchedPageRow, where, order=("-fetched",), count_max=1)
        last_row = next((row for row in rows if row.capture_id.endswith(f"-{file.digest}")), None)
        if last_row is None:
            return self._register_file(self._spool_file(file), file.mime)
        if last_row.in_spool:
            # A killed process may have left it in the spool.
            return self._register_file(self._build_capture(last_row), file.mime)
        return self._extend_last(last_row, file)

    def _find_robots_id(self, robots: Robots) -> str | None:
        """Return the capture id of a robots.txt. Store the robots.txt first if it is not stored
        yet.

        Returns None if the robots.txt is not stored, such as after a failed request.
        """
        if not robots.is_kept:
            return None
        file = HostFile(ROBOTS_TXT, robots.hops, robots.body)
        key = (file.url, file.digest)
        if key not in self.capture_ids:
            self.capture_ids[key] = self.save(file).capture_id
        self.capture_ids.move_to_end(key)
        if len(self.capture_ids) > CACHE_SIZE:
            self.capture_ids.popitem(last=False)
        return self.capture_ids[key]

    def _extend_last(self, last_row: FetchedPageRow, file: HostFile) -> KeptHostFile:
        """Record that a tdmrep.json with unchanged bytes still applies at its new response time. Do
        nothing for a robots.txt.
        """
        if file.mime == ROBOTS_TXT:
            return KeptHostFile(last_row.capture_id)
        places = self.records.find(CdxRow, {"capture_id": last_row.capture_id}, count_max=1)
        sha1hex = next((row.sha1hex for row in places), "")
        if not sha1hex:
            return KeptHostFile()
        row = build_host_file_row(
            last_row.final_url, file.hops[-1].began_at, last_row.capture_id, sha1hex
        )
        rows = HostRows(files=[row] if row is not None else [])
        changed_sha1hexes = write_host_rows(self.records, rows, self.clock())
        if list(self.records.get(TakedownRow, [sha1hex])):
            # A takedown is recorded before it purges, and may not have seen the new row.
            changed_sha1hexes |= remove_host_rows(self.records, rows, self.clock())
        return KeptHostFile(last_row.capture_id, sorted(changed_sha1hexes))

    def _spool_file(self, file: HostFile) -> Capture:
        folder = f"{_FOLDERS[file.mime]}-{hashlib.sha256(file.url.encode()).hexdigest()[:16]}"
        name = f"{folder}-{format_datetime14(file.hops[-1].began_at)}-{file.digest}"
        exchange = Exchange(file.hops)
        link = Link(name, folder, file.url, "")
        (capture,) = self.spool.save([FetchedLink(link, exchange, file.body)])
        return capture

    def _build_capture(self, row: FetchedPageRow) -> Capture:
        link = Link(row.capture_id, row.capture_id.rsplit("-", 2)[0], row.url, "")
        return self.spool.find_kept([link])[row.capture_id]

    def _register_file(self, capture: Capture, mime: str) -> KeptHostFile:
        """Run the identify, persist and archive steps on the capture of a host file.

        If the file is not stored in the end, it is removed from the spool.
        """
        identified_captures = [
            item for item in self._identify(capture) if _is_host_file(item, mime)
        ]
        results = self.persist(identified_captures) if identified_captures else ()
        items = [item for result in results for item in result.items]
        bodies = [item for item in items if isinstance(item, UnarchivedBody)]
        if not bodies:
            self.spool.remove(capture)
            return KeptHostFile()
        self.archive(bodies)
        own_sha1hexes = {item.sha1hex for item in identified_captures}
        other_sha1hexes = {
            item.sha1hex for item in items if isinstance(item, UnindexedFile)
        } - own_sha1hexes
        return KeptHostFile(capture.id, sorted(other_sha1hexes))

    def _identify(self, capture: Capture) -> Sequence[IdentifiedCapture]:
        try:
            items = self.identify(capture).items
        except PermanentError:
            return ()
        return [item for item in items if isinstance(item, IdentifiedCapture)]


def _is_host_file(identified_capture: IdentifiedCapture, mime: str) -> bool:
    """Return whether the response to a request for a host file has the host file's type `mime`.

    Many sites respond with an HTML page instead. Returns False for a tdmrep.json that is too large.
    """
    file = identified_capture.file
    return file is not None and file.mime == mime and (mime != TDMREP or file.size <= MAX_BYTES)


def _add_robots_id(link: FetchedLink, ids: dict[int, str | None]) -> Exchange:
    if link.host is None:
        return link.exchange
    robots = link.host.robots
    return replace(link.exchange, rights=robots.build_rights(link.host.url, ids[id(robots)]))
