"""Task lists: captures from JSON lines that give the location of a file.

The module also decides which locations tasks of other programs may name. The format of a line is
that of a work object (`queues/messages/work_objects.py`). Files and WARCs are searched below a
configured folder or URL, never at an arbitrary path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fonds.ingest.sources.damage_runs import Item
from fonds.ingest.sources.indexes import (
    build_damaged_capture,
    find_in_folder,
    is_file,
    normalize_warc_name,
    read_lines,
)
from fonds.model.capture import Capture, Place, PlaceKind, parse_datetime14
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, cause_of
from fonds.model.keys import encode_sha1_base32
from fonds.model.rows import InputRow
from fonds.model.task import Task
from fonds.queues.messages.work_objects import read_task


def read_tasks(
    path: Path, row: InputRow, collection: str, base: str, follows_links: bool = False
) -> Iterator[Item]:
    """Yield a line number (from 0) and a capture for each line of a task list, from line
    `row.position` on.

    An unreadable line yields a capture that reports the damage. Files and WARCs are searched below
    the folder or URL `base`; '' means the folder of the list.
    """

    def entry(line: bytes, number: int) -> Capture | None:
        return (
            _build_capture(line, row, collection, path, number, base, follows_links)
            if line.strip()
            else None
        )

    yield from read_lines(path, row, collection, entry)


def _build_capture(
    line: bytes,
    row: InputRow,
    collection: str,
    path: Path,
    number: int,
    base: str,
    follows_links: bool,
) -> Capture:
    try:
        task = read_task(line)
        place = _build_place(task, path.parent, base, follows_links)
    except ValueError as error:
        detail = f"line {number + 1}: {error}"
        return build_damaged_capture(row, collection, path, number, Reason.BAD_INDEX_LINE, detail)
    except PermanentError as error:
        detail = f"line {number + 1}: {error.detail}"
        return build_damaged_capture(row, collection, path, number, error.reason, detail)
    return Capture(
        id=f"{row.input_id}-{number:012x}",
        input_id=row.input_id,
        place=place,
        url=_choose_url(task, place),
        captured_at=parse_datetime14(task.datetime14) if task.datetime14 else row.updated,
        record_type="file" if place.kind is PlaceKind.FILE else "response",
        collection=collection,
        mime=task.mime,
        digest=encode_sha1_base32(bytes.fromhex(task.sha1hex)) if task.sha1hex else None,
    )


def _choose_url(task: Task, place: Place) -> str:
    if task.kind is PlaceKind.FILE and not task.url:
        return Path(place.path).absolute().as_uri()
    return task.address


def _build_place(task: Task, folder: Path, base: str, follows_links: bool) -> Place:
    """Return the location of a task's bytes. Local names are searched below `base`, or below
    `folder` if `base` is ''.

    Raises ValueError if the task contains no file name, and PermanentError if a symbolic link leads
    out of the folder.
    """
    if task.kind is PlaceKind.WARC:
        path = _resolve_in_folder(task.path, folder, base, follows_links)
        return _build_warc_place(task, path)
    if task.kind is PlaceKind.FILE:
        return Place(PlaceKind.FILE, _resolve_in_folder(task.path, folder, base, follows_links))
    return Place(task.kind, task.place)


def _build_warc_place(task: Task, path: str) -> Place:
    name = normalize_warc_name(task.path)
    return Place(PlaceKind.WARC, path, task.offset, task.size_bytes, name=name)


def _resolve_in_folder(name: str, folder: Path, base: str, follows_links: bool) -> str:
    path = find_in_folder(name, folder, base, follows_links)
    if path is None:
        raise ValueError(f"no file named {name!r}")
    return path


@dataclass(frozen=True, slots=True)
class TaskPlaces:
    """Resolves the locations in tasks of other programs to locations that Fonds may read.

    - `warc_base`: folder or URL of WARCs.
    - `folder`: folder of single files, and of WARCs if `warc_base` is ''.
    - `follows_links`: whether files may be outside the folder, through symbolic links.

    If `warc_base` and `folder` are empty, no local file is read. If only `warc_base` is empty, a
    capture whose WARC is not below `folder` is requested from the web archive, if the task states
    its time.
    """

    warc_base: str
    folder: str
    follows_links: bool = False

    def __call__(self, task: Task) -> tuple[Place, str]:
        """Return the location of a task's bytes, and the URL of the capture.

        Raises PermanentError (`unreadable-source`) if the location is not allowed; the text of the
        error says why.
        """
        place = self._build_place(task)
        return place, _choose_url(task, place)

    def _build_place(self, task: Task) -> Place:
        if task.kind is PlaceKind.FILE:
            return Place(PlaceKind.FILE, self._resolve_allowed(task.path))
        if task.kind is not PlaceKind.WARC:
            return Place(task.kind, task.place)
        if self.warc_base:
            path = find_in_folder(task.path, Path(), self.warc_base, self.follows_links)
            if path is None:
                raise PermanentError(Reason.UNREADABLE_SOURCE, f"no file named {task.path!r}")
            return _build_warc_place(task, path)
        try:
            path = self._resolve_allowed(task.path)
            if is_file(Path(path)) or not task.datetime14:
                return _build_warc_place(task, path)
        except PermanentError:
            if not task.datetime14:
                raise
        return Place(PlaceKind.REPLAY, f"{task.datetime14}/{task.url}")

    def _resolve_allowed(self, name: str) -> str:
        """Resolve a local path and its symbolic links. Raises PermanentError if the result is
        outside `folder`, or if `folder` is empty.
        """
        if not self.folder:
            detail = (
                f"{name[:200]!r} is a file on this computer. To allow such files, "
                "set elsewhere.task_folder"
            )
            raise PermanentError(Reason.UNREADABLE_SOURCE, detail)
        try:
            base = Path(self.folder).expanduser().resolve()
            path = (base / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            detail = f"cannot resolve the file {name[:200]!r}: {cause_of(error)}"
            raise PermanentError(Reason.UNREADABLE_SOURCE, detail) from error
        if not path.is_relative_to(base):
            detail = (
                f"{name[:200]!r} is outside elsewhere.task_folder, so other programs cannot use it"
            )
            raise PermanentError(Reason.UNREADABLE_SOURCE, detail)
        return str(path)
