"""Run the extraction steps of the pipelines on one capture, without a queue and without storing
results.
"""

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
    """Capture from a WARC after its bytes were read and identified.

    - `identified`: the capture and its file. The file is None if the record has no body, or its
      body was not read or not accepted.
    - `ending`: DONE if the body can be extracted. Otherwise the verdict and reason with which the
      capture ended.
    """

    identified: IdentifiedCapture
    ending: Disposition = DONE

    @property
    def capture(self) -> Capture:
        """The capture that was identified."""
        return self.identified.capture

    @property
    def file(self) -> FileMeta | None:
        """Hashes, size and type of the body; None if the body was not read or not accepted."""
        return self.identified.file


def encode_record(record: RecordState) -> bytes:
    """Encode a RecordState as bytes that sort by SHA-1 of the body, then capture time, then capture
    id.

    Records without a body have no particular order.
    """
    capture, ending = record.capture, record.ending
    name = capture.id.encode("utf-8", "replace")
    digest = record.file.sha1 if record.file else sha1(name).hexdigest()  # noqa: S324 (a key)
    ending_fields = (str(ending.verdict), ending.reason, ending.detail[:DETAIL_MAX_CHARS])
    key = b" ".join((digest.encode(), capture.datetime14.encode(), name))
    return _SEPARATOR.join((key, msgspec.json.encode(ending_fields), encode(record.identified)))


def decode_record(record: bytes) -> RecordState:
    """Decode the bytes that `encode_record` produced."""
    _, ending_fields, body = record.split(_SEPARATOR, 2)
    verdict, reason, detail = msgspec.json.decode(ending_fields)
    identified_capture = decode(Message("", body), IdentifiedCapture)
    if not isinstance(identified_capture, IdentifiedCapture):
        raise TypeError(f"not an identified capture: {record[:80]!r}")
    ending = Disposition(Verdict(verdict), Reason(reason) if reason else None, detail)
    return RecordState(identified_capture, ending)


StepFunction = Callable[[Any], Result]
UNREAD_MESSAGE = "not a PDF, a web page or a JATS article"
StepOutput = PdfText | ParsedPage | ArticleResult


@dataclass(frozen=True, slots=True)
class ReadingSteps:
    """The pipeline steps that identify and extract a capture, ready to be called in this process.

    - `steps`: the functions of the steps `identify`, `extract_pdf`, `parse_story` and
      `read_article`, by name.
    - `close`: function that ends the child processes of the steps.
    """

    steps: Mapping[str, StepFunction]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class BodyResult:
    """Result of extracting one body.

    - `disposition`: how the extraction ended (verdict, reason and detail).
    - `output`: the extracted data, such as a PdfText or ParsedPage; None if there is none.
    - `thumbnail`: thumbnail of a PDF as a picture in the default format; None if there is none.
    """

    disposition: Disposition
    output: StepOutput | None = None
    thumbnail: bytes | None = None


def identify(steps: Mapping[str, StepFunction], capture: Capture) -> RecordState:
    """Read the bytes of a capture, compute their hashes and detect their type.

    If this fails because of the capture, the failure becomes the ending of the result. Raises the
    errors of `run_step`.
    """
    result = run_step(steps["identify"], capture)
    identified_capture = next(
        (item for item in result.items if isinstance(item, IdentifiedCapture)), None
    )
    if identified_capture is None:
        return RecordState(IdentifiedCapture(capture, None), result.disposition)
    if identified_capture.file is None:
        return RecordState(identified_capture, drop(Reason.REVISIT, capture.digest or ""))
    return RecordState(identified_capture, result.disposition)


def read_body(steps: Mapping[str, StepFunction], record: RecordState, file: FileMeta) -> BodyResult:
    """Extract one body. If the child process that extracts it dies, the result ends with that
    failure.

    Raises the errors of `run_step`.
    """
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
    """Run a pipeline step on one item and return its result.

    If the item or a bug in the step causes an exception, the result has the verdict and reason of
    this failure. Other errors are raised: TransientError for an unavailable store,
    ConfigurationError, and the error for a machine that lacks memory, disk space or file
    descriptors.
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
