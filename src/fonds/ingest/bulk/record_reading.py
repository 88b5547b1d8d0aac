"""Runs the pipeline's extraction steps on one capture, outside a pipeline; nothing is stored."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import Any

import msgspec

from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition, Reason, Verdict, drop, end, quarantine
from fonds.model.errors import ConfigurationError, PermanentError, TransientError, find_shortage
from fonds.model.file import FileMeta, IdentifiedCapture, Kind, UnextractedPdf, UnparsedPage
from fonds.model.message import Message
from fonds.model.paper import UnreadArticle
from fonds.model.pdf import PAGE0_FORM, PdfText, Thumbnail
from fonds.model.secrets import redact_secrets
from fonds.model.step import Result
from fonds.model.story import ParsedPage
from fonds.papers.article_result import ArticleResult
from fonds.queues.messages.envelope import decode, encode

DETAIL_MAX_CHARS = 2_000
SHA1HEX_CHARS = 40
_SEPARATOR = b"\t"


@dataclass(frozen=True, slots=True)
class RecordState:
    """State of one record that holds a capture.

    - `ending` is DONE unless its body is not to be extracted.
    - `identified` has no file if the record has no body or it was not read.
    """

    identified: IdentifiedCapture
    ending: Disposition = DONE

    @property
    def capture(self) -> Capture:
        """The capture of the record."""
        return self.identified.capture

    @property
    def file(self) -> FileMeta | None:
        """The file of its body, if it was read and accepted."""
        return self.identified.file


def encode_record(record: RecordState) -> bytes:
    """Encode a record to sort by the body's SHA-1, then by time and id of the capture.

    Records without a body sort anywhere among the others.
    """
    capture, ending = record.capture, record.ending
    name = capture.id.encode("utf-8", "replace")
    digest = record.file.sha1 if record.file else sha1(name).hexdigest()  # noqa: S324 (a key)
    ending_fields = (str(ending.verdict), ending.reason, ending.detail[:DETAIL_MAX_CHARS])
    key = b" ".join((digest.encode(), capture.datetime14.encode(), name))
    return _SEPARATOR.join((key, msgspec.json.encode(ending_fields), encode(record.identified)))


def decode_record(record: bytes) -> RecordState:
    """Decode a record of `encode_record`."""
    _, ending_fields, body = record.split(_SEPARATOR, 2)
    verdict, reason, detail = msgspec.json.decode(ending_fields)
    identified = decode(Message("", body), IdentifiedCapture)
    if not isinstance(identified, IdentifiedCapture):
        raise TypeError(f"not an identified capture: {record[:80]!r}")
    ending = Disposition(Verdict(verdict), Reason(reason) if reason else None, detail)
    return RecordState(identified, ending)


StepFunction = Callable[[Any], Result]
UNREAD_MESSAGE = "not a PDF, a web page or a JATS article"
StepOutput = PdfText | ParsedPage | ArticleResult


@dataclass(frozen=True, slots=True)
class ReadingSteps:
    """The steps `identify`, `extract_pdf`, `parse_story` and `read_article`, and what ends their
    child processes.
    """

    steps: Mapping[str, StepFunction]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class BodyResult:
    """What was extracted from one body, and how that ended; `thumbnail` has a PDF's default format."""

    ended: Disposition
    output: StepOutput | None = None
    thumbnail: bytes | None = None


def identify(steps: Mapping[str, StepFunction], capture: Capture) -> RecordState:
    """Identify what a record holds. Raises errors that the record does not cause."""
    result = run_step(steps["identify"], capture)
    identified = next((item for item in result.items if isinstance(item, IdentifiedCapture)), None)
    if identified is None:
        return RecordState(IdentifiedCapture(capture, None), result.disposition)
    if identified.file is None:
        return RecordState(identified, drop(Reason.REVISIT, capture.digest or ""))
    return RecordState(identified, result.disposition)


def read_body(steps: Mapping[str, StepFunction], record: RecordState, file: FileMeta) -> BodyResult:
    """Extract a body; there is a result even if the child process dies. Raises as `identify` does."""
    if file.kind is Kind.PDF:
        result = run_step(steps["extract_pdf"], UnextractedPdf(record.capture, file))
    elif file.kind is Kind.STORY:
        charset = record.identified.charset
        result = run_step(steps["parse_story"], UnparsedPage(record.capture, file, charset))
    elif file.kind is Kind.JATS:
        result = run_step(steps["read_article"], UnreadArticle(record.capture, file))
    else:
        return BodyResult(drop(Reason.NOT_WANTED, f"{file.mime} is {UNREAD_MESSAGE}"))
    output = next((item for item in result.items if isinstance(item, StepOutput)), None)
    thumbnails = [item for item in result.items if isinstance(item, Thumbnail)]
    default_image = next((item.image for item in thumbnails if item.form == PAGE0_FORM), None)
    return BodyResult(result.disposition, output, default_image)


def run_step(step: StepFunction, item: object) -> Result:
    """Run a step. A fault in the item or in the step becomes its disposition.

    Raises TransientError, ConfigurationError, and shortages of the machine.
    """
    try:
        return step(item)
    except PermanentError as error:
        return Result(end(error.reason, error.detail))
    except (TransientError, ConfigurationError):
        raise
    except Exception as error:
        if (shortage := find_shortage(error)) is not None:
            raise shortage from error
        trace = redact_secrets(traceback.format_exc())[-DETAIL_MAX_CHARS:]
        return Result(quarantine(Reason.INTERNAL_ERROR, trace))
