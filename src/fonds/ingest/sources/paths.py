"""Source of captures from local paths: folders, WARC, ARC, CDX, ZIP and single files.

The type of a file is detected from its content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fonds.ingest.sources.container import Container, detect_container, is_archive_name
from fonds.ingest.sources.damage_runs import Item
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
"""Display name of each kind of input."""
NAMES = {".cdx": "index", ".cdxj": "index", ".cdx.gz": "index", ".cdxj.gz": "index", ".wacz": "zip"}
"""Kind of input by file name suffix, used if the content is not recognised. The reader of that kind
reports the damage.
"""


@dataclass(frozen=True, slots=True)
class PathSource:
    """Source of captures from the paths on the command line.

    - `paths`: files and folders to read.
    - `home`: library folder. WARCs that are compressed in a ZIP are decompressed to its subfolder
      `inbox`.
    - `collection`: collection of the captures.
    - `warc_base`: folder or URL of the WARCs that a CDX index names; '' means the folder of the
      index.
    - `follows_links`: whether to read files behind symbolic links that lead out of the given paths.
      In either case the links themselves are recorded.
    - `has_part`: returns whether a part (CDX file) of a ZipNum index exists, given the index and
      the name of the part.
    """

    paths: Sequence[Path]
    home: Path
    collection: str
    warc_base: str
    follows_links: bool = False
    has_part: Callable[[Path, bytes], bool] = has_local_part

    @property
    def inbox(self) -> Path:
        """Folder to which WARCs that are compressed in a ZIP are decompressed."""
        return self.home / "inbox"

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield one input row per file. A file that cannot be read has a row too, so that its
        failure is recorded.
        """
        for path in iter_files(self.paths, self.home, follows_links=self.follows_links):
            yield _build_input(path, self.warc_base, self.follows_links)

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the entries of an input (file) from `row.position` on.

        Numbers between the entries are positions from which a later call can resume. Mappings count
        skipped records by reason. An input without records, members or lines yields one entry that
        reports this.
        """
        for capture in self.iter_captures(row):
            yield build_capture_entry(capture) if isinstance(capture, Capture) else capture

    def iter_captures(self, row: InputRow) -> Iterator[Item]:
        """Yield the captures of an input in place of the entries, and the same positions and counts
        as `iter_entries`.
        """
        is_empty = row.position == 0
        for capture in self._read(row):
            is_empty = is_empty and isinstance(capture, int)
            yield capture
        if is_empty:
            yield self._build_empty_capture(row)

    def _read(self, row: InputRow) -> Iterator[Item]:
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
            if (shortage := find_shortage(error)) is not None:
                raise shortage from error
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
        """Build the capture that reports a symbolic link out of the given paths, with the path to
        which the link points.
        """
        return replace(
            self.build_unreadable(row, f"the link points to {path.resolve()}"),
            id=f"{row.input_id}-link",
            input_id=row.input_id,
            damage_reason=Reason.FOLLOWED if self.follows_links else Reason.NOT_FOLLOWED,
        )

    def _build_empty_capture(self, row: InputRow) -> Capture:
        """Build the capture that reports an input without records, members or lines."""
        return replace(
            self.build_unreadable(row, f"this {NOUNS.get(row.kind, 'file')} is empty"),
            id=f"{row.input_id}-empty",
            input_id=row.input_id,
            damage_reason=Reason.EMPTY_BODY,
        )

    def build_unreadable(self, row: InputRow, detail: str) -> Capture:
        """Build the capture that records that a local file or URL cannot be read; `detail` says
        why.

        The id of its row in `inputs` depends only on the path, and differs from the id of the file
        itself. So a later successful read of the path can mark the failure as resolved.
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


def _build_input(found_path: FoundPath, warc_base: str, follows_links: bool) -> InputRow:
    """Build the input row of a file or symbolic link.

    Its id depends on the path, size and modification time of the file. The id of an index or task
    list also depends on `warc_base` and `follows_links`.
    """
    fingerprint = f"{found_path.size_bytes}:{found_path.modified_ns}"
    error, kind = found_path.error, "missing" if found_path.is_missing else "unreadable"
    path = os.fsencode(found_path.path)
    if found_path.is_outside:
        kind, fingerprint = "link", f"link:{follows_links}"
    elif error is None:
        error, kind = _inspect_file(found_path.path)
    if error is not None:
        display_path = path.decode("utf-8", "backslashreplace")
        return build_failed_input(
            display_path, kind, _to_datetime(found_path.modified_ns / 1e9), error
        )
    if kind in ("index", "tasks") and warc_base:
        # With another base, WARCs that were not found before are searched again.
        fingerprint += f":{warc_base}"
    if kind in ("index", "tasks") and follows_links:
        fingerprint += ":follow"
    return build_unread_input(
        compute_input_id(path, fingerprint),
        path.decode("utf-8", "backslashreplace"),
        kind,
        fingerprint,
        _to_datetime(found_path.modified_ns / 1e9),
    )


def _inspect_file(path: Path) -> tuple[str | None, str]:
    """Inspect a local file. Return why it cannot be read (None if it can) and its kind of input,
    such as `zip`.

    Raises an error if the machine lacks file descriptors or memory.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8. Rename it and ingest it again", "unreadable"
    try:
        return None, detect_kind(path)
    except OSError as error:
        if (shortage := find_shortage(error)) is not None:
            raise shortage from error
        return cause_of(error), "unreadable"


def _to_datetime(seconds: float) -> datetime:
    """Convert Unix seconds to a UTC datetime. Times outside the calendar become 1970-01-01."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def detect_kind(path: Path) -> str:
    """Return the kind of input that a file is, such as `warc` or `file`, for its input row.

    The content decides, or the file name if the content is not recognised. Raises OSError if the
    file cannot be read.
    """
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    container = detect_container(head)
    if container is None:
        if is_archive_name(path.name):
            return "warc"
        ending = "".join(path.suffixes[-2:]).lower()
        kind = NAMES.get(ending) or NAMES.get(path.suffix.lower())
        return kind if kind and head else "file"
    return KINDS.get(container, "file")
