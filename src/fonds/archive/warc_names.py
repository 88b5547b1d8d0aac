"""Names of WARC files in the `cdx` table and `file:cdx` cells, and the paths where each named WARC
is.

A stored name is never a path of this machine. It is `item/file` if a CDX index or task gave that
name. Otherwise it is the last two components of the file's path, or more if another WARC already
has that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha1

from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.rows import CdxRow, WarcFileRow
from fonds.ports import Records, WarcFiles

HEAD_BYTES = 1024
"""Bytes at the start of a WARC whose hash identifies the file. The first record there has an id and
a date, so different files have different hashes.
"""
PATHS_CACHED_MAX = 10_000
ALIKE_MAX = 100
"""Maximum number of rows of `warc_files` examined when several WARCs have the same file name."""
NAMES_MAX = 5

CaptureKey = tuple[str, str, int, str]


def build_capture_key(row: CdxRow) -> CaptureKey:
    """Return a key that identifies a capture, regardless of the folder or item in its WARC's name.

    The key is the SHA-1, the WARC's file name, the record's offset, and the capture time.
    """
    return row.sha1hex, row.warc_path.rpartition("/")[2], row.warc_offset, row.datetime


def rank_name(name: str) -> int:
    """Return the sort key for several names of one WARC; the lowest key is the best name.

    The order is: `item/file`, a URL, a name without a folder, an absolute path.
    """
    if name.startswith("/"):
        return 3
    if "://" in name:
        return 1
    return 0 if "/" in name else 2


@dataclass(frozen=True, slots=True)
class WarcNames:
    """Chooses names for WARC files, and records the path of each named WARC in the table
    `warc_files`.

    Thread-safe.

    `records`: SQL database with the table.
    `archive`: opens WARC files on this machine; a hash of their first bytes identifies a WARC.
    `clock`: returns the current time, aware UTC.
    """

    records: Records
    archive: WarcFiles
    clock: Callable[[], datetime]
    _names: dict[str, str] = field(default_factory=dict)

    def name_place(self, place: Place) -> Place:
        """Return a location with the path of its WARC replaced by the WARC's name.

        Chooses and records a name if the WARC has none. Locations that are not in a WARC, or
        already have a name, are returned unchanged.
        """
        if place.kind is not PlaceKind.WARC or not is_path(place.path):
            return place
        name = self._names.get(place.path)
        if name is None:
            name = self._choose_name(place)
            if len(self._names) >= PATHS_CACHED_MAX:
                self._names.clear()
            self._names[place.path] = name
        return Place(place.kind, name, place.offset, place.size_bytes)

    def record_path(self, name: str, path: str) -> None:
        """Record in the table `warc_files` that the WARC called `name` is stored at `path`.

        Does nothing if `path` is neither an absolute path nor a URL.
        """
        if is_path(path) and name != path:
            row = _build_row(name, path, self._hash_head(path), self.clock())
            self.records.put([row], replace=False)

    def _choose_name(self, place: Place) -> str:
        path, head = place.path, self._hash_head(place.path)
        for row in self.records.find(WarcFileRow, {"path": path}):
            if _is_same(row.head_sha1, head):
                return row.name
        candidates = list(_iter_candidates(place))
        for name in candidates:
            if self._reserve_name(name, path, head):
                return name
        # Every name is taken by earlier content of the same path.
        return candidates[-1]

    def _reserve_name(self, name: str, path: str, head: str) -> bool:
        if name == path:
            return True
        own_row = _build_row(name, path, head, self.clock())
        if self._has_other(own_row):
            return False
        self.records.put([own_row], replace=False)
        # Another process may have reserved the name for another file at the same time.
        if self._has_other(own_row, previous=path):
            self.records.delete(WarcFileRow, [(name, path)])
            return False
        return True

    def _has_other(self, warc_row: WarcFileRow, previous: str | None = None) -> bool:
        return any(
            not _is_same(row.head_sha1, warc_row.head_sha1)
            for row in self.records.find(WarcFileRow, {"name": warc_row.name})
            if previous is None or row.path < previous
        )

    def _hash_head(self, path: str) -> str:
        """Return the SHA-1 of the first 1024 bytes of a WARC, in hex.

        Returns "" if the file cannot be read or is not on this machine.
        """
        if not path.startswith("/"):
            return ""
        with suppress(PermanentError, OSError), self.archive.open(path) as stream:
            return sha1(stream.read(HEAD_BYTES)).hexdigest()  # noqa: S324 (an id, not a seal)
        return ""


def is_path(name: str) -> bool:
    """Return whether a WARC is given by its location (an absolute path or a URL) rather than by a
    name.
    """
    return name.startswith("/") or "://" in name


def list_paths(records: Records, name: str) -> Sequence[str]:
    """Return the paths and URLs where the WARC called `name` was seen, latest first.

    If no WARC has exactly this name, the function uses the single WARC whose name ends with `name`,
    or whose name is the end of `name`: an index may give `a.warc.gz` for `item/a.warc.gz`. Returns
    an empty list if there is no such WARC. Raises PermanentError (MISSING_SOURCE) if there are
    several.
    """
    rows = list(records.find(WarcFileRow, {"name": name})) or _find_single_warc(records, name)
    return [row.path for row in sorted(rows, key=lambda row: row.row_created, reverse=True)]


def _find_single_warc(records: Records, name: str) -> list[WarcFileRow]:
    """Return the `warc_files` rows of the only WARC whose name ends with `name`, or whose name is
    the end of `name`.

    Returns an empty list if there is none. Raises PermanentError (MISSING_SOURCE) if several
    different WARCs have such names.
    """
    where = {"file_name": name.rpartition("/")[2]}
    rows = list(records.find(WarcFileRow, where, order=("name",), count_max=ALIKE_MAX))
    alike_rows = [row for row in rows if _is_alike(row.name, name)]
    names = sorted({row.name for row in alike_rows})
    heads = {row.head_sha1 for row in alike_rows}
    if (len(names) > 1 and (len(heads) > 1 or "" in heads)) or (
        alike_rows and len(rows) == ALIKE_MAX
    ):
        ellipsis = ", …" if len(names) > NAMES_MAX else ""
        raise PermanentError(
            Reason.MISSING_SOURCE,
            (
                "no WARC with this name; several names end like it: "
                f"{', '.join(names[:NAMES_MAX])}{ellipsis}. Give the name with its folder"
            ),
        )
    return alike_rows


def _is_alike(known_name: str, name: str) -> bool:
    """Return whether one of two names is a suffix of the other, compared by whole path
    components.
    """
    known_name = known_name.removeprefix("./")
    return known_name == name or known_name.endswith(f"/{name}") or name.endswith(f"/{known_name}")


def _build_row(name: str, path: str, head: str, now: datetime) -> WarcFileRow:
    return WarcFileRow(name, path, head, now, name.rpartition("/")[2])


def _iter_candidates(place: Place) -> Iterator[str]:
    if place.name and "/" in place.name:
        yield place.name
    if "://" in place.path:
        yield place.path
        return
    parts = place.path.strip("/").split("/")
    for count in range(min(2, len(parts)), len(parts) + 1):
        name = "/".join(parts[-count:])
        # A name without a folder is reserved for WARCs written by Fonds.
        yield name if "/" in name else f"./{name}"


def _is_same(first_hash: str, other_hash: str) -> bool:
    """Return whether two files may be the same WARC, given the hashes of their first bytes.

    An empty hash is unknown and matches any hash.
    """
    return not first_hash or not other_hash or first_hash == other_hash
