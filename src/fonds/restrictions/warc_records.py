"""Find the WARCs of the library that have records of a file, and purge these records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fonds.leases.leases import Leases
from fonds.model.errors import FondsError
from fonds.model.restrictions import Tombstone
from fonds.model.rows import CdxRow, TakedownRow
from fonds.ports import Stores, WarcFiles
from fonds.ports.scan import iter_pages
from fonds.stores.journal_table.cells import FILE_CDX, read_location
from fonds.stores.journal_table.keys import build_row_key

Tick = Callable[[str, int], None]
"""Function that is called with the name of the WARC being rewritten and the number of bytes
processed.
"""


@dataclass(frozen=True, slots=True)
class OwnWarc:
    """WARC of the library that has records of a file.

    - `name`: name of the WARC.
    - `captures`: number of captures of the file in the WARC's index; None without an index.
    - `size_bytes`: size of the WARC; None if it cannot be found now.
    - `is_open`: whether the WARC is still being written.
    """

    name: str
    captures: int | None
    size_bytes: int | None
    is_open: bool


def find_warc_names(stores: Stores, sha1hex: str) -> set[str]:
    """Return the names, without folders, of the library's WARCs that may contain a file.

    The names are in the rows of the file, and in its takedown row until the takedown has rewritten
    the WARC.
    """
    paths = {row.warc_path for row in stores.records.find(CdxRow, {"sha1hex": sha1hex})}
    pages = iter_pages(stores.table, stores.journal, build_row_key(sha1hex), columns=[FILE_CDX])
    paths |= {path for page in pages for _, cells in page for path in _iter_paths(cells)}
    for row in stores.records.get(TakedownRow, [sha1hex]):
        paths |= set(row.rest.warcs)
    return {name for name in paths if "/" not in name}


def _iter_paths(cells: dict[str, bytes]) -> Iterator[str]:
    try:
        location = read_location(cells)
    except ValueError:
        return
    if location is not None:
        yield location.warc


def scan_warc_names(archive: WarcFiles, sha1hex: str) -> Iterator[str]:
    """Yield the names of the library's WARCs whose index lists records of a file.

    The index of every WARC is read.
    """
    for name in archive.iter_names():
        warc = archive.inspect(name)
        if any(record.sha1hex == sha1hex for record in (warc.records if warc else None) or ()):
            yield name


def list_own_warcs(archive: WarcFiles, names: Sequence[str], sha1hex: str) -> list[OwnWarc]:
    """Return size, number of captures of the file, and whether it is open, for each WARC in
    `names`.

    The index of each WARC is read, not its records.
    """
    own_warcs = []
    for name in names:
        warc = archive.inspect(name)
        records = warc.records if warc else None
        captures = None if records is None else sum(record.sha1hex == sha1hex for record in records)
        size_bytes = warc.size_bytes if warc else None
        own_warcs.append(OwnWarc(name, captures, size_bytes, warc is not None and warc.is_open))
    return own_warcs


@dataclass(frozen=True, slots=True)
class WarcPurge:
    """Rewriter that removes a file from the library's WARCs.

    Call the object with a row of `takedowns` and the name of a WARC. Leases ensure that only one
    process rewrites a WARC at a time.

    - `archive`: the library's WARCs.
    - `leases`: leases, one for each WARC that is rewritten.
    - `report`: function that receives a sentence about the outcome for people.
    - `tick`: function that receives the name of the WARC and the number of bytes done.
    """

    archive: WarcFiles
    leases: Leases
    report: Callable[[str], None] = lambda _: None
    tick: Tick = lambda name, done_bytes: None

    def __call__(self, row: TakedownRow, name: str) -> bool:
        """Replace all records of a file in one WARC by tombstones.

        Return whether no record of the file is left. If False, the caller must try again later.
        """
        tombstone = Tombstone(row.sha1hex, row.reason_class, row.row_created)
        try:
            with self.leases.acquire_renewed(f"warc {name}") as lease:

                def tick(done_bytes: int) -> None:
                    self.leases.check(lease)
                    self.tick(name, done_bytes)

                purge = self.archive.purge(name, tombstone, tick)
                # Another process may have considered the lease expired and replaced this copy.
                self.leases.check(lease)
        except FondsError as error:
            self.report(f"{name} still contains records of {row.sha1hex}: {error}")
            return False
        if purge.waiting_reason:
            self.report(f"{name} still contains records of {row.sha1hex}: {purge.waiting_reason}")
        elif purge.records:
            noun = "record" if purge.records == 1 else "records"
            self.report(f"{name}: {purge.records:,} {noun} replaced, {purge.size_bytes:,} bytes")
        return not purge.waiting_reason
