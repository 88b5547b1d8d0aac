"""Names of WARCs as used in `cdx` and `file:cdx`, and the paths where each named WARC lies.

A name is never a path of this machine. It is `item/file` as given by an index or task. Otherwise it
is the last two parts of the file's path, or more if another WARC already has that name.
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
"""Size of the start of a WARC that identifies it: the first record has an id and a date."""
PATHS_CACHED_MAX = 10_000
ALIKE_MAX = 100
"""Maximum rows examined of WARCs with the same file name."""
NAMES_MAX = 5

CaptureKey = tuple[str, str, int, str]


def build_capture_key(row: CdxRow) -> CaptureKey:
    """Return a key that identifies a capture whatever folder or item its WARC's name has."""
    return row.sha1hex, row.warc_path.rpartition("/")[2], row.warc_offset, row.datetime


def rank_name(name: str) -> int:
    """Return the sort key for several names of one WARC; the lowest is the best name."""
    if name.startswith("/"):
        return 3
    if "://" in name:
        return 1
    return 0 if "/" in name else 2


@dataclass(frozen=True, slots=True)
class WarcNames:
    """Chooses names for WARC files, and records the paths of each name in the table `warc_files`.
    Thread-safe.

    `records`: SQL database with the table.
    `archive`: opens files on this machine, whose first bytes identify a WARC.
    `clock`: returns the current time, aware UTC.
    """

    records: Records
    archive: WarcFiles
    clock: Callable[[], datetime]
    _names: dict[str, str] = field(default_factory=dict)

    def name_place(self, place: Place) -> Place:
        """Replace the WARC's path in a place by its name. Other places are returned unchanged."""
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
        """Record that the WARC called `name` lies at `path`."""
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
        # Every name is taken by earlier content of this same file.
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
        """Hash the start of a file. Returns "" if it cannot be read or is not on this machine."""
        if not path.startswith("/"):
            return ""
        with suppress(PermanentError, OSError), self.archive.open(path) as stream:
            return sha1(stream.read(HEAD_BYTES)).hexdigest()  # noqa: S324 (an id, not a seal)
        return ""


def is_path(name: str) -> bool:
    """Whether a WARC is given by its location: a path of this machine or a URL."""
    return name.startswith("/") or "://" in name


def list_paths(records: Records, name: str) -> Sequence[str]:
    """Return the paths and URLs where the WARC of this name was seen, latest first.

    If no WARC has this name, a single WARC counts whose name ends with it, or with whose name it
    ends: an index may give `a.warc.gz` for `item/a.warc.gz`. Raises PermanentError (MISSING_SOURCE)
    if there are several.
    """
    rows = list(records.find(WarcFileRow, {"name": name})) or _find_single_warc(records, name)
    return [row.path for row in sorted(rows, key=lambda row: row.row_created, reverse=True)]


def _find_single_warc(records: Records, name: str) -> list[WarcFileRow]:
    """Return the rows of the single WARC that an otherwise unknown name may refer to."""
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
    """Whether one of two names is a suffix of the other, compared by whole path parts."""
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
    """Whether two files may be the same WARC, judging by hashes of their starts.

    An empty hash matches any.
    """
    return not first_hash or not other_hash or first_hash == other_hash
