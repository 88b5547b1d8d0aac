"""take_in: register a task of another program, so that its file and capture are recorded like any
other.

A task is a JSON object that gives the location of a file to read.
"""

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
    """Return an iterator without WARC records. Default of `TaskIntake.scan`, used where no WARCs
    are scanned.
    """
    return iter(())


def require_reading(_: Work) -> bool:
    """Return True for any work: the bytes must be read. Used where earlier results are not looked
    up.
    """
    return True


def find_no_file(_: str) -> FileMeta | None:
    """Return None for any SHA-1. Used where no files are looked up."""
    return None


@dataclass(frozen=True, slots=True)
class TaskIntake:
    """Registers tasks of other programs: records their files and captures, and returns the work to
    do.

    - `locate`: returns the location of a task's bytes, and the URL of its capture.
    - `identify`, `persist`: the steps with these names. They record the capture like any other
      capture.
    - `build_work`: builds the work object (UnextractedPdf or UngrobidedPdf) from a capture and its
      file.
    - `clock`: returns the current time (aware UTC).
    """

    records: Records
    locate: Callable[[Task], tuple[Place, str]]
    identify: Callable[[Capture], Result]
    persist: Callable[[Sequence[IdentifiedCapture]], Sequence[Result]]
    build_work: Callable[[Capture, FileMeta], Work]
    clock: Callable[[], datetime]
    name_place: Callable[[Place], Place] = return_place
    """Function that replaces the path in a location by the name of the WARC, as
    `WarcNames.name_place` does.
    """
    find_file: Callable[[str], FileMeta | None] = find_no_file
    """Function that returns the FileMeta of a SHA-1 from the table; None if unknown."""
    scan: ScanWarc = scan_no_records
    """Function that lists the records of a WARC. It is used to find the response that a revisit
    repeats.
    """
    needs_reading: Callable[[Work], bool] = require_reading
    """Function that returns whether the bytes must be read for this work, although the file is
    known.
    """

    def __call__(self, item: Task | Work) -> Result:
        """Record the file of a task, and return the work on the file, such as an UnextractedPdf.

        Also returns an UnarchivedBody if the body must be archived. If `item` is work that Fonds
        itself sent, it is returned unchanged. Raises PermanentError if the location of a task is
        refused, if the file of such work is unknown, or if the bytes do not have the stated SHA-1.
        Also raises the errors of `IdentifyStep`.
        """
        return self._register_task(item) if isinstance(item, Task) else self._check_known(item)

    def _check_known(self, item: Work) -> Result:
        """Return work that Fonds itself sent, such as an UnextractedPdf, unchanged if its file is
        known.

        Raises DamagedInputError for an unknown file: other programs could send such work with any
        location.
        """
        if not self.records.get(FileMetaRow, [item.file.sha1]):
            detail = (
                f"the message is marked as work of Fonds, but the file {item.file.sha1} is unknown"
            )
            raise DamagedInputError(Reason.BAD_MESSAGE, detail)
        return Result(items=(item,))

    def _register_task(self, task: Task) -> Result:
        if (known_work := self._find_known_work(task)) is not None:
            return Result(items=(known_work,))
        result = self.identify(self._find_capture(task))
        identified_capture = _find_identified(result)
        if identified_capture is not None and identified_capture.file is None:
            result = self._identify_original(task, identified_capture)
            identified_capture = _find_identified(result)
        if identified_capture is None or identified_capture.file is None:
            return result
        _check_sha1(task, identified_capture.file)
        if identified_capture.file.kind is not Kind.PDF:
            detail = f"requested as a PDF, but it is {identified_capture.file.mime}"
            return Result(drop(Reason.UNSUPPORTED_TYPE, detail))
        (persist_result,) = self.persist([identified_capture])
        bodies = tuple(item for item in persist_result.items if isinstance(item, UnarchivedBody))
        return Result(
            items=(self.build_work(identified_capture.capture, identified_capture.file), *bodies)
        )

    def _identify_original(self, task: Task, revisit: IdentifiedCapture) -> Result:
        """Read the response that a revisit repeats. Record the revisit too, if it is a separate
        capture.
        """
        original = find_original(self.records, revisit, self.scan)
        not_here = Result(
            drop(Reason.REVISIT, ("the original of this revisit is not in the library"))
        )
        if original is None:
            return not_here
        place = original.place
        capture = self._find_capture(
            replace(
                task, kind=PlaceKind.WARC, path=place.path, offset=place.offset,
                size_bytes=place.size_bytes, url=original.url, datetime14=original.datetime14,
            ),
            place if place.path == revisit.capture.place.path else None,
        )  # fmt: skip
        result = self.identify(capture)
        identified_capture = _find_identified(result)
        if identified_capture is None:
            return result
        if identified_capture.file is None:
            # A revisit must not lead to another revisit.
            return not_here
        if capture.id != revisit.capture.id and task.sha1hex in (
            None,
            identified_capture.file.sha1,
        ):
            digest = encode_sha1_base32(bytes.fromhex(identified_capture.file.sha1))
            revisit_capture = replace(revisit.capture, digest=digest)
            self.persist([IdentifiedCapture(revisit_capture, None)])
        return result

    def _find_known_work(self, task: Task) -> Work | None:
        """Return the work on the PDF of a task without reading its bytes; None if the bytes must be
        read.

        This is possible if the capture (URL, time and SHA-1) is recorded, or if the file is known
        and its result exists.
        """
        if not task.sha1hex:
            return None
        owner = next(iter(self.records.get(FileMetaRow, [task.sha1hex])), None)
        file = self.find_file(task.sha1hex) if owner is not None else None
        if file is None or owner is None or file.kind is not Kind.PDF:
            return None
        time_filter = {"datetime": task.datetime14} if task.datetime14 else {}
        where = {"sha1hex": file.sha1, "url": task.address, **time_filter}
        row = next(self.records.find(CdxRow, where, count_max=1), None)
        if row is not None and not is_indexed(row.capture_id):
            place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
            if row.mimetype == REVISIT_MIME:
                # A revisit's bytes are stored with the file's primary capture.
                where = {"capture_id": owner.capture_id}
                row = next(self.records.find(CdxRow, where, count_max=1), None)
                if row is None:
                    return None
                place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
            return self.build_work(
                self._build_capture(task, row.capture_id, place, task.address), file
            )
        work = self.build_work(replace(self._find_capture(task), id=owner.capture_id), file)
        return work if self._is_owner(task, owner) or not self.needs_reading(work) else None

    def _is_owner(self, task: Task, file: FileMetaRow) -> bool:
        """Return whether a task has the URL and time of the primary capture of `file`.

        They are compared with the ledger entry of that capture, because a capture whose body is in
        no WARC yet has no `cdx` row.
        """
        where = {"entry_id": file.capture_id, "url": task.address}
        entry = next(self.records.find(EntryRow, where, count_max=1), None)
        return entry is not None and task.datetime14 in (None, entry.seen)

    def _find_capture(self, task: Task, resolved_place: Place | None = None) -> Capture:
        """Build the capture that a task names, with the id of the recorded capture at the same
        location if there is one.

        `resolved_place` is the location if it was already resolved; None resolves it with `locate`.
        """
        known_row = self._find_row(task.path, task.offset) if task.kind is PlaceKind.WARC else None
        if known_row is not None:
            place = Place(
                PlaceKind.WARC, known_row.warc_path, known_row.warc_offset, known_row.warc_csize
            )
            url = task.address
        else:
            place, url = (resolved_place, task.address) if resolved_place else self.locate(task)
            if place.kind is PlaceKind.WARC:
                known_row = self._find_row(self.name_place(place).path, place.offset)
        return self._build_capture(task, known_row.capture_id if known_row else task.id, place, url)

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
        """Return the `cdx` row of the capture at a WARC location; None if there is none or it is
        known only from an index.

        So a repeated task uses the same capture.
        """
        where = {"warc_path": path, "warc_offset": offset}
        row = next(self.records.find(CdxRow, where, count_max=1), None)
        # A capture known only from an index was never entered.
        return None if row is None or is_indexed(row.capture_id) else row

    def _choose_time(self, task: Task) -> datetime:
        """Return the capture time that a task states, else the time when the task was entered.

        A repeated task gets the same time.
        """
        if task.datetime14:
            return parse_datetime14(task.datetime14)
        entries = self.records.find(EntryRow, {"entry_id": task.id}, count_max=1)
        entry = next(entries, None)
        return entry.entered_at if entry else self.clock()


def _find_identified(result: Result) -> IdentifiedCapture | None:
    return next((item for item in result.items if isinstance(item, IdentifiedCapture)), None)


def _check_sha1(task: Task, file: FileMeta) -> None:
    """Raise DamagedInputError if the bytes do not have the SHA-1 that the task states."""
    if task.sha1hex not in (None, file.sha1):
        detail = f"{task.place}: the bytes have the SHA-1 {file.sha1} instead of {task.sha1hex}"
        raise DamagedInputError(Reason.DAMAGED_RECORD, detail)
