"""The pipeline's reading steps carried out on one capture, outside a pipeline: nothing is stored."""

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

# What became of one record of a WARC so far: identified, or ended; as a record of the job.


DETAIL_MAX_CHARS = 2_000
SHA1HEX_CHARS = 40
_BETWEEN = b"\t"


@dataclass(frozen=True, slots=True)
class RecordState:
    """One record that holds a capture. `ending` is DONE as long as nothing speaks against reading its body;
    `identified` has no file where the record holds none or it was not read."""

    identified: IdentifiedCapture
    ending: Disposition = DONE

    @property
    def capture(self) -> Capture:
        """Where and when it was met."""
        return self.identified.capture

    @property
    def file(self) -> FileMeta | None:
        """Its body, where that was read and is wanted."""
        return self.identified.file


def encode_record(record: RecordState) -> bytes:
    """By the body's SHA-1, then time and id of the capture; what has no body lies anywhere between them."""
    capture, ended = record.capture, record.ending
    name = capture.id.encode("utf-8", "replace")
    digest = record.file.sha1 if record.file else sha1(name).hexdigest()  # noqa: S324 (a key)
    how = (str(ended.verdict), ended.reason, ended.detail[:DETAIL_MAX_CHARS])
    key = b" ".join((digest.encode(), capture.datetime14.encode(), name))
    return _BETWEEN.join((key, msgspec.json.encode(how), encode(record.identified)))


def decode_record(record: bytes) -> RecordState:
    """The same again."""
    _, how, body = record.split(_BETWEEN, 2)
    verdict, reason, detail = msgspec.json.decode(how)
    identified = decode(Message("", body), IdentifiedCapture)
    if not isinstance(identified, IdentifiedCapture):
        raise TypeError(f"no identified capture: {record[:80]!r}")
    ended = Disposition(Verdict(verdict), Reason(reason) if reason else None, detail)
    return RecordState(identified, ended)


StepFunction = Callable[[Any], Result]
UNREAD_MESSAGE = "neither a PDF nor a page nor an article in JATS"
StepOutput = PdfText | ParsedPage | ArticleResult


@dataclass(frozen=True, slots=True)
class ReadingSteps:
    """The steps `identify`, `extract_pdf` and `parse_story`, what reads articles
    (`read_article`), and what ends the processes behind them."""

    steps: Mapping[str, StepFunction]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class BodyResult:
    """What was read of one body, and how that ended; `thumbnail` is the usual picture of a PDF."""

    ended: Disposition
    output: StepOutput | None = None
    thumbnail: bytes | None = None


def identify(steps: Mapping[str, StepFunction], capture: Capture) -> RecordState:
    """What a record holds. Raises what is the fault of no record."""
    result = run_step(steps["identify"], capture)
    one = next((item for item in result.items if isinstance(item, IdentifiedCapture)), None)
    if one is None:
        return RecordState(IdentifiedCapture(capture, None), result.disposition)
    if one.file is None:
        return RecordState(one, drop(Reason.REVISIT, capture.digest or ""))
    return RecordState(one, result.disposition)


def read_body(steps: Mapping[str, StepFunction], record: RecordState, file: FileMeta) -> BodyResult:
    """What reading a body gives, whatever happens to the reader. Raises as `identify` does."""
    if file.kind is Kind.PDF:
        result = run_step(steps["extract_pdf"], UnextractedPdf(record.capture, file))
    elif file.kind is Kind.STORY:
        charset = record.identified.charset
        result = run_step(steps["parse_story"], UnparsedPage(record.capture, file, charset))
    elif file.kind is Kind.JATS:
        result = run_step(steps["read_article"], UnreadArticle(record.capture, file))
    else:
        return BodyResult(drop(Reason.NOT_WANTED, f"{file.mime} is {UNREAD_MESSAGE}"))
    made = next((one for one in result.items if isinstance(one, StepOutput)), None)
    pictures = [one for one in result.items if isinstance(one, Thumbnail)]
    usual = next((one.image for one in pictures if one.form == PAGE0_FORM), None)
    return BodyResult(result.disposition, made, usual)


def run_step(step: StepFunction, item: object) -> Result:
    """A step's result; what is wrong with the item ends it, and so does a fault in a step.

    Raises TransientError and ConfigurationError, and what the machine lacks: nobody's fault here.
    """
    try:
        return step(item)
    except PermanentError as error:
        return Result(end(error.reason, error.detail))
    except (TransientError, ConfigurationError):
        raise
    except Exception as error:
        if (short := find_shortage(error)) is not None:
            raise short from error
        told = redact_secrets(traceback.format_exc())[-DETAIL_MAX_CHARS:]
        return Result(quarantine(Reason.INTERNAL_ERROR, told))
