"""What hosts say to crawlers, robots.txt and tdmrep.json: kept as captures, once for each change."""

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
"""Robots.txt files whose captures are remembered, so that the records are not asked for each page."""
_FOLDERS = {ROBOTS_TXT: "robots", TDMREP: "tdmrep"}


def return_fetched(links: Sequence[FetchedLink]) -> Sequence[FetchedLink]:
    """What was fetched as it is, where robots.txt files are not kept."""
    return links


@dataclass(frozen=True, slots=True)
class HostFile:
    """The answer to a request for a robots.txt or tdmrep.json; `body` has its content codings.

    `mime` is the type such a file has here. The last of the `hops` answered.
    """

    mime: str
    hops: tuple[Hop, ...]
    body: bytes

    @property
    def url(self) -> str:
        """The address that was asked for, before redirects."""
        return self.hops[0].url

    @property
    def digest(self) -> str:
        """What tells its bytes from others."""
        return hashlib.sha256(self.body).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class KeptHostFile:
    """`capture_id` is None for what was not kept. `changed` are the SHA-1s of files captured before whose
    captures have other rights now."""

    capture_id: str | None = None
    changed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HostFileKeeper:
    """Keeps what hosts say to crawlers. Such a file takes the steps of every capture, at once: no message
    leads to it, `fetched` has a row of it. Not for several threads at once.
    """

    spool: Spool
    records: Records
    identify: Callable[[Capture], Result]
    persist: Callable[[Sequence[IdentifiedCapture]], Sequence[Result]]
    archive: Callable[[Sequence[UnarchivedBody]], object]
    clock: Callable[[], datetime]
    capture_ids: OrderedDict[tuple[str, str], str | None] = field(default_factory=OrderedDict)

    def __call__(self, links: Sequence[FetchedLink]) -> Sequence[FetchedLink]:
        """Note in each exchange what the robots.txt stated, and its capture, which is there by then."""
        files = {id(one.host.robots): one.host.robots for one in links if one.host is not None}
        ids = {key: self._find_robots_id(robots) for key, robots in files.items()}
        return [replace(one, exchange=_add_robots_id(one, ids)) for one in links]

    def save(self, file: HostFile) -> KeptHostFile:
        """Keep a file whose bytes differ from those kept last of its address; note that it is in force.

        Nothing is kept of a body that is no file of this type, is larger than 500 KiB, or was taken down.
        Raises StoreUnavailableError; done again, it goes on.
        """
        where = {"url": file.url}
        rows = self.records.find(FetchedPageRow, where, order=("-fetched",), count_max=1)
        last = next((row for row in rows if row.capture_id.endswith(f"-{file.digest}")), None)
        if last is None:
            return self._register_file(self._spool_file(file), file.mime)
        if last.in_spool:
            # A process that was killed may have left it there.
            return self._register_file(self._build_capture(last), file.mime)
        return self._extend_last(last, file)

    def _find_robots_id(self, robots: Robots) -> str | None:
        """The capture of a robots.txt; None for one not kept."""
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

    def _extend_last(self, last: FetchedPageRow, file: HostFile) -> KeptHostFile:
        """What has not changed since it was kept is in force from now on."""
        if file.mime == ROBOTS_TXT:
            return KeptHostFile(last.capture_id)
        places = self.records.find(CdxRow, {"capture_id": last.capture_id}, count_max=1)
        sha1hex = next((row.sha1hex for row in places), "")
        if not sha1hex:
            return KeptHostFile()
        row = build_host_file_row(last.final_url, file.hops[-1].began_at, last.capture_id, sha1hex)
        rows = HostRows(files=[row] if row is not None else [])
        changed = write_host_rows(self.records, rows, self.clock())
        if list(self.records.get(TakedownRow, [sha1hex])):
            # A takedown says so before it purges, and may not have seen the row.
            changed |= remove_host_rows(self.records, rows, self.clock())
        return KeptHostFile(last.capture_id, sorted(changed))

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
        """It has gone all its way; of what is no such file nothing stays."""
        found = [one for one in self._identify(capture) if _is_host_file(one, mime)]
        results = self.persist(found) if found else ()
        items = [one for result in results for one in result.items]
        bodies = [one for one in items if isinstance(one, UnarchivedBody)]
        if not bodies:
            self.spool.remove(capture)
            return KeptHostFile()
        self.archive(bodies)
        own = {one.sha1hex for one in found}
        others = {one.sha1hex for one in items if isinstance(one, UnindexedFile)} - own
        return KeptHostFile(capture.id, sorted(others))

    def _identify(self, capture: Capture) -> Sequence[IdentifiedCapture]:
        try:
            items = self.identify(capture).items
        except PermanentError:
            return ()
        return [one for one in items if isinstance(one, IdentifiedCapture)]


def _is_host_file(identified: IdentifiedCapture, mime: str) -> bool:
    """Whether it is what it is called: many sites answer with a page."""
    file = identified.file
    return file is not None and file.mime == mime and (mime != TDMREP or file.size <= MAX_BYTES)


def _add_robots_id(link: FetchedLink, ids: dict[int, str | None]) -> Exchange:
    if link.host is None:
        return link.exchange
    robots = link.host.robots
    return replace(link.exchange, rights=robots.build_rights(link.host.url, ids[id(robots)]))
