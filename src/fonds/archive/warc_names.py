"""Names of WARCs: what `cdx` and `file:cdx` call a file, and the paths where a name is found.

A name never is a path of this machine. It is `item/file` as an index or task gives it, else the last two
parts of the file's path, or more of them where another WARC already has that name.
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
"""The start of a WARC that tells it from others: its first record has an id and a date."""
PATHS_CACHED_MAX = 10_000
ALIKE_MAX = 100
"""Rows of WARCs with the same file name that are looked at."""
NAMES_MAX = 5

CaptureKey = tuple[str, str, int, str]


def build_capture_key(row: CdxRow) -> CaptureKey:
    """Return what identifies a capture, whatever folder or item its WARC is named with."""
    return row.sha1hex, row.warc_path.rpartition("/")[2], row.warc_offset, row.datetime


def rank_name(name: str) -> int:
    """Sort key for names of one WARC; lower is better."""
    if name.startswith("/"):
        return 3
    if "://" in name:
        return 1
    return 0 if "/" in name else 2


@dataclass(frozen=True, slots=True)
class WarcNames:
    """Gives names to WARCs and remembers where they lie, in the rows of `warc_files`.

    `archive` opens files of this machine. Safe for several threads.
    """

    records: Records
    archive: WarcFiles
    clock: Callable[[], datetime]
    _names: dict[str, str] = field(default_factory=dict)

    def name_place(self, place: Place) -> Place:
        """Return the place with the WARC's name for its path; other places stay as they are."""
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
        """Note that the WARC called `name` lies at `path`."""
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
        # Every name is taken by an earlier content of this very file.
        return candidates[-1]

    def _reserve_name(self, name: str, path: str, head: str) -> bool:
        if name == path:
            return True
        own = _build_row(name, path, head, self.clock())
        if self._has_other(own):
            return False
        self.records.put([own], replace=False)
        # Another process may have claimed the name for another file at the same moment.
        if self._has_other(own, previous=path):
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
        """Hash the start of a file; "" where it cannot be read now or lies elsewhere."""
        if not path.startswith("/"):
            return ""
        with suppress(PermanentError, OSError), self.archive.open(path) as stream:
            return sha1(stream.read(HEAD_BYTES)).hexdigest()  # noqa: S324 (an id, not a seal)
        return ""


def is_path(name: str) -> bool:
    """Whether a WARC is given by where it lies now: a path of this machine, or a URL."""
    return name.startswith("/") or "://" in name


def list_paths(records: Records, name: str) -> Sequence[str]:
    """Return the paths and URLs where the WARC of this name was seen, the latest first.

    If no WARC has this name, the only one whose name ends with it counts, or with which it ends: an index
    may give `a.warc.gz` for `item/a.warc.gz`. Raises PermanentError (MISSING_SOURCE) if there are several.
    """
    rows = list(records.find(WarcFileRow, {"name": name})) or _find_single_warc(records, name)
    return [row.path for row in sorted(rows, key=lambda row: row.row_created, reverse=True)]


def _find_single_warc(records: Records, name: str) -> list[WarcFileRow]:
    """The rows of the one WARC that may be meant by a name no WARC has."""
    where = {"file_name": name.rpartition("/")[2]}
    rows = list(records.find(WarcFileRow, where, order=("name",), count_max=ALIKE_MAX))
    alike = [row for row in rows if _is_alike(row.name, name)]
    names = sorted({row.name for row in alike})
    heads = {row.head_sha1 for row in alike}
    if (len(names) > 1 and (len(heads) > 1 or "" in heads)) or (alike and len(rows) == ALIKE_MAX):
        more = ", …" if len(names) > NAMES_MAX else ""
        raise PermanentError(
            Reason.MISSING_SOURCE,
            f"no WARC has this name, and the names of several end alike:"
            f" {', '.join(names[:NAMES_MAX])}{more}. Name it with its folder",
        )
    return alike


def _is_alike(known_name: str, name: str) -> bool:
    """Whether one of two names is the end of the other, part by part."""
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
        # A bare name is one of ours.
        yield name if "/" in name else f"./{name}"


def _is_same(first: str, other: str) -> bool:
    """Whether two files may be the same WARC, by their first bytes."""
    return not first or not other or first == other
