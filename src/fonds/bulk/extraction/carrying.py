"""The pipeline's reading steps carried out on one capture, outside a pipeline: nothing is stored."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fonds.bulk.extraction.articles import ArticleRead
from fonds.bulk.extraction.found import DETAIL_MAX_CHARS, Found
from fonds.model.capture import Capture
from fonds.model.disposition import Disposition, Reason, dropped, ending, quarantined
from fonds.model.errors import ConfigurationError, PermanentError, TransientError
from fonds.model.file import FileMeta, Identified, Kind, Unextracted, Unparsed
from fonds.model.paper import UnreadArticle
from fonds.model.pdf import PAGE0_FORM, PdfText, Thumbnail
from fonds.model.secrets import without_secrets
from fonds.model.shortage import shortage
from fonds.model.step import Result
from fonds.model.story import Parsed

Step = Callable[[Any], Result]
NOT_READ = "neither a PDF nor a page nor an article in JATS"
Made = PdfText | Parsed | ArticleRead


@dataclass(frozen=True, slots=True)
class Reading:
    """The steps `identify`, `extract_pdf` and `parse_story`, what reads articles
    (`read_article`), and what ends the processes behind them."""

    steps: Mapping[str, Step]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Learned:
    """What was read of one body, and how that ended; `thumbnail` is the usual picture of a PDF."""

    ended: Disposition
    made: Made | None = None
    thumbnail: bytes | None = None


def identify(steps: Mapping[str, Step], capture: Capture) -> Found:
    """What a record holds. Raises what is the fault of no record."""
    result = carry_out(steps["identify"], capture)
    one = next((item for item in result.items if isinstance(item, Identified)), None)
    if one is None:
        return Found(Identified(capture, None), result.disposition)
    if one.file is None:
        return Found(one, dropped(Reason.REVISIT, capture.digest or ""))
    return Found(one, result.disposition)


def learn(steps: Mapping[str, Step], found: Found, file: FileMeta) -> Learned:
    """What reading a body gives, whatever happens to the reader. Raises as `identify` does."""
    if file.kind is Kind.PDF:
        result = carry_out(steps["extract_pdf"], Unextracted(found.capture, file))
    elif file.kind is Kind.STORY:
        charset = found.identified.charset
        result = carry_out(steps["parse_story"], Unparsed(found.capture, file, charset))
    elif file.kind is Kind.JATS:
        result = carry_out(steps["read_article"], UnreadArticle(found.capture, file))
    else:
        return Learned(dropped(Reason.NOT_WANTED, f"{file.mime} is {NOT_READ}"))
    made = next((one for one in result.items if isinstance(one, Made)), None)
    pictures = [one for one in result.items if isinstance(one, Thumbnail)]
    usual = next((one.image for one in pictures if one.form == PAGE0_FORM), None)
    return Learned(result.disposition, made, usual)


def carry_out(step: Step, item: object) -> Result:
    """A step's result; what is wrong with the item ends it, and so does a fault in a step.

    Raises TransientError and ConfigurationError, and what the machine lacks: nobody's fault here.
    """
    try:
        return step(item)
    except PermanentError as error:
        return Result(ending(error.reason, error.detail))
    except (TransientError, ConfigurationError):
        raise
    except Exception as error:
        if (short := shortage(error)) is not None:
            raise short from error
        told = without_secrets(traceback.format_exc())[-DETAIL_MAX_CHARS:]
        return Result(quarantined(Reason.INTERNAL_ERROR, told))
