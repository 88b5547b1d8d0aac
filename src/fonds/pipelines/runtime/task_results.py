"""Handle PDFs that arrive as tasks of other programs, in the steps that extract PDFs.

These steps accept both work objects of Fonds about known files and tasks.
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
    """Why the PDF of a task is unavailable."""

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
    """Register a task or check a work object, then run `action` on the resulting work. Return all
    results.

    If a task states a SHA-1 but leads to no PDF, the result is built by `build_missing` from the
    task, the SHA-1, the reason and a message. Raises PermanentError for any other refused item.
    """
    if not isinstance(item, Task):
        intake_result = register_task(item)
    else:
        try:
            intake_result = register_task(item)
        except PermanentError as error:
            intake_result = Result(end(error.reason, error.detail))
        ended = intake_result.disposition
        missing_reason = _MISSING_REASONS.get(ended.reason) if ended.reason else None
        if item.sha1hex is not None and missing_reason is not None and not intake_result.items:
            explanation = ended.detail or (ended.reason.explanation if ended.reason else "")
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
    """Return the capture that a task names, although its bytes are unavailable."""
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
