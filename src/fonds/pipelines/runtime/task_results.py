"""Process PDFs that other programs request, in the steps that extract PDFs or send them to GROBID.

Such a request is a task. The steps also accept work objects, with which Fonds requests the
processing of a file that it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum, auto
from typing import TypeVar

from fonds.model.capture import Capture, Place, PlaceKind, parse_datetime14
from fonds.model.disposition import Reason, end
from fonds.model.errors import PermanentError
from fonds.model.file import UnextractedPdf
from fonds.model.paper import UngrobidedPdf
from fonds.model.step import Item, Result
from fonds.model.task import Task

Work = UnextractedPdf | UngrobidedPdf
"""A known PDF that is to be extracted: by Fonds (UnextractedPdf) or by GROBID (UngrobidedPdf)."""
W = TypeVar("W", bound=Work)


class MissingPdfReason(Enum):
    """Reason why no PDF could be read for a task, a request of another program to process a PDF."""

    NOT_PDF = auto()
    EMPTY = auto()
    TOO_LARGE = auto()
    SOURCE = auto()


_MISSING_REASONS = {
    Reason.UNSUPPORTED_TYPE: MissingPdfReason.NOT_PDF,
    Reason.IS_FEED: MissingPdfReason.NOT_PDF,
    Reason.EMPTY_BODY: MissingPdfReason.EMPTY,
    Reason.TOO_LARGE: MissingPdfReason.TOO_LARGE,
    Reason.MISSING_SOURCE: MissingPdfReason.SOURCE,
    Reason.UNREADABLE_SOURCE: MissingPdfReason.SOURCE,
    Reason.DAMAGED_RECORD: MissingPdfReason.SOURCE,
    Reason.TRUNCATED_RECORD: MissingPdfReason.SOURCE,
    Reason.BAD_ENCODING: MissingPdfReason.SOURCE,
    Reason.HTTP_STATUS: MissingPdfReason.SOURCE,
    Reason.REVISIT: MissingPdfReason.SOURCE,
}


def register_then_run(
    register_task: Callable[[Task | W], Result],
    item: Task | W,
    kind: type[W],
    action: Callable[[W], Result],
    build_missing: Callable[[Task, str, MissingPdfReason, str], Item],
) -> Result:
    """Run `action` on a PDF that another program or Fonds itself requested, and return all results.

    `register_task` is called first. It records the file of another program's task, or checks an
    item that Fonds sent. `action` is then called with each resulting work object of the type
    `kind`.

    If a task states a SHA-1 but no PDF can be read, `build_missing` builds the result from the
    task, the SHA-1, the reason and an explanation. Raises PermanentError for any other refused
    item.
    """
    if not isinstance(item, Task):
        intake_result = register_task(item)
    else:
        try:
            intake_result = register_task(item)
        except PermanentError as error:
            intake_result = Result(end(error.reason, error.detail))
        disposition = intake_result.disposition
        missing_reason = _MISSING_REASONS.get(disposition.reason) if disposition.reason else None
        if item.sha1hex is not None and missing_reason is not None and not intake_result.items:
            explanation = disposition.detail or (
                disposition.reason.explanation if disposition.reason else ""
            )
            return replace(
                intake_result,
                items=(build_missing(item, item.sha1hex, missing_reason, explanation),),
            )
    work = next(
        (result_item for result_item in intake_result.items if isinstance(result_item, kind)), None
    )
    if work is None:
        return intake_result
    result = action(work)
    other_items = tuple(
        result_item for result_item in intake_result.items if result_item is not work
    )
    return replace(result, items=(*result.items, *other_items))


def build_lost_capture(task: Task) -> Capture:
    """Return a capture with the URL and location that a task states, for a result without bytes.

    The bytes of the capture could not be read. Without a stated time, the current time is used.
    """
    path = task.path if task.kind is PlaceKind.WARC else task.place
    return Capture(
        id=task.id,
        input_id="",
        place=Place(task.kind, path, task.offset, task.size_bytes),
        url=task.address,
        captured_at=parse_datetime14(task.datetime14) if task.datetime14 else datetime.now(UTC),
        record_type="file" if task.kind is PlaceKind.FILE else "response",
        collection=task.collection,
        mime=task.mime,
    )
