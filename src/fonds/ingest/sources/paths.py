"""Captures out of folders, WARC, ARC, CDX, ZIP and loose files, each recognised by its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fonds.ingest.sources.container import Container, detect_container, is_archive_name
from fonds.ingest.sources.indexes import has_local_part, read_index, read_zipnum
from fonds.ingest.sources.remote_files import (
    is_remote,
)
from fonds.ingest.sources.task_lists import read_tasks
from fonds.ingest.sources.walk import FoundPath, iter_files
from fonds.ingest.sources.warcs import read_warc
from fonds.ingest.sources.zips import read_zip
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.entry import (
    Entry,
    build_capture_entry,
    compute_input_id,
    compute_unread_entry_id,
    compute_unread_input_id,
)
from fonds.model.errors import cause_of, find_shortage
from fonds.model.rows import InputRow
from fonds.pipelines.runtime.intake import (
    build_failed_input,
    build_unread_input,
)

HEAD_BYTES = 64 * 1024
KINDS = {
    Container.WARC: "warc",
    Container.ARC: "warc",
    Container.CDX: "index",
    Container.CDXJ: "index",
    Container.ZIPNUM: "zipnum",
    Container.TASKS: "tasks",
    Container.ZIP: "zip",
}
NOUNS = {"warc": "WARC", "index": "index", "zipnum": "index", "tasks": "list", "zip": "ZIP"}
"""What people call each kind of input."""
NAMES = {".cdx": "index", ".cdxj": "index", ".cdx.gz": "index", ".cdxj.gz": "index", ".wacz": "zip"}
"""What a file is by the end of its name when its content does not tell; its reader says what is wrong."""


@dataclass(frozen=True, slots=True)
class PathSource:
    """What a person names on the command line. `warc_base` is where the WARCs of a CDX lie ('' beside it).
    Links that lead out of what was named are followed with `follows_links` alone, and noted either way.

    `inbox` takes WARCs that had to be unpacked; they are kept there. `has_part` says whether a part of a
    ZipNum index is there, by the index and the part's name.
    """

    paths: Sequence[Path]
    home: Path
    collection: str
    warc_base: str
    follows_links: bool = False
    has_part: Callable[[Path, bytes], bool] = has_local_part

    @property
    def inbox(self) -> Path:
        """Where unpacked WARCs are kept."""
        return self.home / "inbox"

    def iter_inputs(self) -> Iterator[InputRow]:
        """One input for each file found; what cannot be read is one too, so that it is accounted for."""
        for found in iter_files(self.paths, self.home, follow=self.follows_links):
            yield _build_input(found, self.warc_base, self.follows_links)

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """What lies in one input, from `row.position` on. An input in which nothing lies is one entry."""
        for found in self.iter_captures(row):
            yield build_capture_entry(found) if isinstance(found, Capture) else found

    def iter_captures(self, row: InputRow) -> Iterator[Capture | Mapping[str, int] | int]:
        """Yield what `entries` does, with captures as they are."""
        is_empty = row.position == 0
        for found in self._read(row):
            is_empty = is_empty and isinstance(found, int)
            yield found
        if is_empty:
            yield self._build_empty_capture(row)

    def _read(self, row: InputRow) -> Iterator[Capture | Mapping[str, int] | int]:
        path = Path(row.path)
        try:
            if row.error is not None:
                yield self.build_unreadable(row, row.error)
            elif row.kind == "link":
                yield self._build_link_capture(row, path)
            elif row.kind == "warc":
                with path.open("rb") as stream:
                    yield from read_warc(stream, row, self.collection, path)
            elif row.kind == "index":
                yield from read_index(
                    path, row, self.collection, self.warc_base, self.follows_links
                )
            elif row.kind == "zipnum":
                yield from read_zipnum(path, row, self.collection, self.has_part)
            elif row.kind == "tasks":
                yield from read_tasks(
                    path, row, self.collection, self.warc_base, self.follows_links
                )
            elif row.kind == "zip":
                yield from read_zip(path, row, self.collection, self.inbox)
            else:
                yield self._build_file_capture(row, path)
        except OSError as error:
            if (short := find_shortage(error)) is not None:
                raise short from error
            yield self.build_unreadable(row, f"{row.path}: {cause_of(error)}")

    def _build_file_capture(self, row: InputRow, path: Path) -> Capture:
        return Capture(
            id=f"{row.input_id}-{0:012x}",
            input_id=row.input_id,
            place=Place(PlaceKind.FILE, row.path),
            url=path.as_uri(),
            captured_at=_to_datetime(path.stat().st_mtime),
            record_type="file",
            collection=self.collection,
        )

    def _build_link_capture(self, row: InputRow, path: Path) -> Capture:
        """A link that leads out of what was named, as an entry that says where to."""
        return replace(
            self.build_unreadable(row, f"it leads to {path.resolve()}"),
            id=f"{row.input_id}-link",
            input_id=row.input_id,
            damage_reason=Reason.FOLLOWED if self.follows_links else Reason.NOT_FOLLOWED,
        )

    def _build_empty_capture(self, row: InputRow) -> Capture:
        """An input without a record, member or line, as an entry that says so."""
        return replace(
            self.build_unreadable(row, f"nothing lies in this {NOUNS.get(row.kind, 'file')}"),
            id=f"{row.input_id}-empty",
            input_id=row.input_id,
            damage_reason=Reason.EMPTY_BODY,
        )

    def build_unreadable(self, row: InputRow, detail: str) -> Capture:
        """Return an input that cannot be read, a file of this machine or a URL, as an entry that says so.

        It is the one entry of an input of its own, so that its failure can end when the path is read.
        """
        missing = row.kind == "missing"
        input_id = compute_unread_input_id(row.path)
        return Capture(
            id=compute_unread_entry_id(input_id),
            input_id=input_id,
            place=Place(PlaceKind.FILE, row.path),
            url=row.path if is_remote(row.path) else Path(row.path).as_uri(),
            captured_at=row.updated,
            record_type="file",
            collection=self.collection,
            damage=detail,
            damage_reason=Reason.MISSING_SOURCE if missing else Reason.UNREADABLE_SOURCE,
        )


def _build_input(found_path: FoundPath, warc_base: str, follow: bool) -> InputRow:
    """One path as an input: the same as long as path, size and time are, and for an index the base."""
    fingerprint = f"{found_path.size_bytes}:{found_path.modified_ns}"
    error, kind = found_path.error, "missing" if found_path.is_missing else "unreadable"
    path = os.fsencode(found_path.path)
    if found_path.is_led_out:
        kind, fingerprint = "link", f"link:{follow}"
    elif error is None:
        error, kind = _inspect_file(found_path.path)
    if error is not None:
        shown = path.decode("utf-8", "backslashreplace")
        return build_failed_input(shown, kind, _to_datetime(found_path.modified_ns / 1e9), error)
    if kind in ("index", "tasks") and warc_base:
        # Told where the WARCs are, what was not found before is looked for again.
        fingerprint += f":{warc_base}"
    if kind in ("index", "tasks") and follow:
        fingerprint += ":follow"
    return build_unread_input(
        compute_input_id(path, fingerprint),
        path.decode("utf-8", "backslashreplace"),
        kind,
        fingerprint,
        _to_datetime(found_path.modified_ns / 1e9),
    )


def _inspect_file(path: Path) -> tuple[str | None, str]:
    """Why a file cannot be read, or None, and what kind of input it is. Raises what the machine lacks."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8; rename it and take it in again", "unreadable"
    try:
        return None, detect_kind(path)
    except OSError as error:
        if (short := find_shortage(error)) is not None:
            raise short from error
        return cause_of(error), "unreadable"


def _to_datetime(seconds: float) -> datetime:
    """A file's time; the beginning of 1970 for one no calendar holds."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def detect_kind(path: Path) -> str:
    """Return what kind of input a file is, by its content, else by its name. Raises OSError."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    found = detect_container(head)
    if found is None:
        if is_archive_name(path.name):
            return "warc"
        ending = "".join(path.suffixes[-2:]).lower()
        named = NAMES.get(ending) or NAMES.get(path.suffix.lower())
        return named if named and head else "file"
    return KINDS.get(found, "file")
