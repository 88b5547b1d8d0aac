"""take_in: what another program's task names becomes a file and a capture of ours, like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from fonds.archive.table_places import is_indexed
from fonds.archive.warc.scanner import Damage, RecordHead
from fonds.ingest.revisits import ScanWarc, find_original
from fonds.ingest.steps.persist_file import return_place
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    parse_datetime14,
)
from fonds.model.disposition import Reason, drop
from fonds.model.errors import DamagedInputError
from fonds.model.file import FileMeta, IdentifiedCapture, Kind
from fonds.model.keys import encode_sha1_base32
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.model.step import Result
from fonds.model.story import UnarchivedBody
from fonds.model.task import Task
from fonds.pipelines.runtime.task_results import Work
from fonds.ports import Records


def scan_no_records(_: str) -> Iterator[RecordHead | Damage]:
    """List no records, where no WARCs are scanned."""
    return iter(())


def require_reading(_: Work) -> bool:
    """Read all bytes, where nothing is remembered."""
    return True


def find_no_file(_: str) -> FileMeta | None:
    """Know no file."""
    return None


@dataclass(frozen=True, slots=True)
class TaskIntake:
    """`locate` says where a task's bytes are looked for, and the URL they go by; `identify` and `persist`
    are the steps of these names: nothing is noted here that is not noted of every capture. `work` makes of
    a capture and its file what is asked for.
    """

    records: Records
    locate: Callable[[Task], tuple[Place, str]]
    identify: Callable[[Capture], Result]
    persist: Callable[[Sequence[IdentifiedCapture]], Sequence[Result]]
    work: Callable[[Capture, FileMeta], Work]
    clock: Callable[[], datetime]
    name_place: Callable[[Place], Place] = return_place
    """Gives a place with its WARC's name for the path, as `WarcNames.named` does."""
    find_file: Callable[[str], FileMeta | None] = find_no_file
    """Gives what the table says of a file by its SHA-1."""
    scan: ScanWarc = scan_no_records
    """Lists the records of a WARC, to find the response that a revisit repeats."""
    needs_reading: Callable[[Work], bool] = require_reading
    """Whether work on a known file still has to read its bytes."""

    def __call__(self, item: Task | Work) -> Result:
        """Known work, also of a file that was here already, and an Unarchived where one is needed.

        What comes as known work stays as it is if its file is known. Raises PermanentError if not, for a
        place that is refused, and for other bytes than those asked for; else as `Identify` does.
        """
        return self._register_task(item) if isinstance(item, Task) else self._check_known(item)

    def _check_known(self, item: Work) -> Result:
        """Whoever claims to be Fonds could name any place; of known files nothing new is learned so."""
        if not self.records.get(FileMetaRow, [item.file.sha1]):
            told = f"it is marked as work of Fonds, and the file {item.file.sha1} is not known here"
            raise DamagedInputError(Reason.BAD_MESSAGE, told)
        return Result(items=(item,))

    def _register_task(self, task: Task) -> Result:
        if (known := self._find_known_work(task)) is not None:
            return Result(items=(known,))
        result = self.identify(self._find_capture(task))
        one = _find_identified(result)
        if one is not None and one.file is None:
            result = self._identify_original(task, one)
            one = _find_identified(result)
        if one is None or one.file is None:
            return result
        _check_sha1(task, one.file)
        if one.file.kind is not Kind.PDF:
            told = f"asked for as a PDF, and is {one.file.mime}"
            return Result(drop(Reason.UNSUPPORTED_TYPE, told))
        (noted,) = self.persist([one])
        bodies = tuple(item for item in noted.items if isinstance(item, UnarchivedBody))
        return Result(items=(self.work(one.capture, one.file), *bodies))

    def _identify_original(self, task: Task, revisit: IdentifiedCapture) -> Result:
        """Read the response that a revisit repeats, and note the revisit where they are two captures."""
        original = find_original(self.records, revisit, self.scan)
        lost = Result(drop(Reason.REVISIT, "what it repeats is not here"))
        if original is None:
            return lost
        place = original.place
        capture = self._find_capture(
            replace(
                task, kind=PlaceKind.WARC, path=place.path, offset=place.offset,
                size_bytes=place.size_bytes, url=original.url, datetime14=original.datetime14,
            ),
            place if place.path == revisit.capture.place.path else None,
        )  # fmt: skip
        result = self.identify(capture)
        one = _find_identified(result)
        if one is None:
            return result
        if one.file is None:
            # One revisit may not lead to another.
            return lost
        if capture.id != revisit.capture.id and task.sha1hex in (None, one.file.sha1):
            digest = encode_sha1_base32(bytes.fromhex(one.file.sha1))
            noted = replace(revisit.capture, digest=digest)
            self.persist([IdentifiedCapture(noted, None)])
        return result

    def _find_known_work(self, task: Task) -> Work | None:
        """Work on a capture that is known by URL, time and SHA-1, or on a file that needs no reading.

        Nothing is read or noted again."""
        if not task.sha1hex:
            return None
        owner = next(iter(self.records.get(FileMetaRow, [task.sha1hex])), None)
        file = self.find_file(task.sha1hex) if owner is not None else None
        if file is None or owner is None or file.kind is not Kind.PDF:
            return None
        when = {"datetime": task.datetime14} if task.datetime14 else {}
        where = {"sha1hex": file.sha1, "url": task.address, **when}
        row = next(self.records.find(CdxRow, where, count_max=1), None)
        if row is not None and not is_indexed(row.capture_id):
            place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
            if row.mimetype == REVISIT_MIME:
                # Its bytes lie with the capture that brought them first.
                where = {"capture_id": owner.capture_id}
                row = next(self.records.find(CdxRow, where, count_max=1), None)
                if row is None:
                    return None
                place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
            return self.work(self._build_capture(task, row.capture_id, place, task.address), file)
        work = self.work(replace(self._find_capture(task), id=owner.capture_id), file)
        return work if self._is_owner(task, owner) or not self.needs_reading(work) else None

    def _is_owner(self, task: Task, file: FileMetaRow) -> bool:
        """Whether the capture that brought a file, which lies in no WARC yet, is the one a task names."""
        where = {"entry_id": file.capture_id, "url": task.address}
        entry = next(self.records.find(EntryRow, where, count_max=1), None)
        return entry is not None and task.datetime14 in (None, entry.seen)

    def _find_capture(self, task: Task, allowed: Place | None = None) -> Capture:
        """Return the capture a task names; `allowed` is its place where that was checked before."""
        known = self._find_row(task.path, task.offset) if task.kind is PlaceKind.WARC else None
        if known is not None:
            place = Place(PlaceKind.WARC, known.warc_path, known.warc_offset, known.warc_csize)
            url = task.address
        else:
            place, url = (allowed, task.address) if allowed else self.locate(task)
            if place.kind is PlaceKind.WARC:
                known = self._find_row(self.name_place(place).path, place.offset)
        return self._build_capture(task, known.capture_id if known else task.id, place, url)

    def _build_capture(self, task: Task, capture_id: str, place: Place, url: str) -> Capture:
        return Capture(
            id=capture_id,
            input_id="",
            place=place,
            url=url,
            captured_at=self._choose_time(task),
            record_type="file" if place.kind is PlaceKind.FILE else "response",
            collection=task.collection,
            mime=task.mime,
            digest=encode_sha1_base32(bytes.fromhex(task.sha1hex)) if task.sha1hex else None,
        )

    def _find_row(self, path: str, offset: int) -> CdxRow | None:
        """The capture that lies there: whoever asks for it again asks for no other one."""
        where = {"warc_path": path, "warc_offset": offset}
        row = next(self.records.find(CdxRow, where, count_max=1), None)
        # What an index alone tells of was never entered.
        return None if row is None or is_indexed(row.capture_id) else row

    def _choose_time(self, task: Task) -> datetime:
        """When it was seen: as the task says, else when the task came; the same when it comes again."""
        if task.datetime14:
            return parse_datetime14(task.datetime14)
        entries = self.records.find(EntryRow, {"entry_id": task.id}, count_max=1)
        entry = next(entries, None)
        return entry.entered_at if entry else self.clock()


def _find_identified(result: Result) -> IdentifiedCapture | None:
    return next((item for item in result.items if isinstance(item, IdentifiedCapture)), None)


def _check_sha1(task: Task, file: FileMeta) -> None:
    """Raises DamagedInputError for other bytes than those asked for."""
    if task.sha1hex not in (None, file.sha1):
        told = f"{task.place}: the bytes are those of {file.sha1}, not of {task.sha1hex}"
        raise DamagedInputError(Reason.DAMAGED_RECORD, told)
