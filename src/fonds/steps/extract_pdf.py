"""extract_pdf: text, metadata and thumbnail of one PDF, read in an isolated process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fonds.model.disposition import DONE, Disposition, Reason, Weight, dropped, quarantined
from fonds.model.errors import ChildError
from fonds.model.file import Unextracted
from fonds.model.pdf import PdfExtraction, PdfStatus, PdfText, Thumbnail
from fonds.model.step import Result
from fonds.ports import Archive
from fonds.steps.rereading import read_again

_STATUS_OF = {
    Reason.TIMEOUT: PdfStatus.ERROR_TIMEOUT,
    Reason.OUT_OF_MEMORY: PdfStatus.ERROR_MEMORY,
    Reason.CRASHED_READER: PdfStatus.ERROR_CRASH,
}


@dataclass(frozen=True, slots=True)
class ExtractPdf:
    """`extract` reads the bytes in an isolated process; `pdf_extractor` names program and version.

    `salvage` reads the same without text and picture, for a file on which `extract` was stopped.
    """

    archive: Archive
    extract: Callable[[bytes], PdfExtraction]
    salvage: Callable[[bytes], PdfExtraction]
    pdf_extractor: str

    def __call__(self, item: Unextracted) -> Result:
        """A PdfText always, whatever happened, and a Thumbnail when page 0 could be drawn."""
        payload = read_again(self.archive, item.capture, item.file)
        found = self._read(payload.body)
        text = PdfText(
            sha1hex=item.file.sha1,
            status=found.status,
            text=found.text,
            page0_thumbnail=found.thumbnail_jpeg is not None,
            meta_xml=found.meta_xml,
            pdf_info=found.pdf_info,
            pdf_extra=found.pdf_extra,
            file_meta=item.file,
            source=item.capture,
            extractor=self.pdf_extractor,
            error_msg=found.error_msg,
        )
        items: tuple[object, ...] = (text,)
        if found.thumbnail_jpeg is not None:
            items += (Thumbnail(item.file.sha1, found.thumbnail_jpeg),)
        return Result(_ended(found), items)

    def _read(self, body: bytes) -> PdfExtraction:
        """What could be had: everything, else the metadata, else only how reading ended."""
        try:
            return self.extract(body)
        except ChildError as error:
            status = _STATUS_OF.get(error.reason, PdfStatus.ERROR_CRASH)
            stopped = error.detail
        try:
            rest = self.salvage(body)
        except ChildError:
            return PdfExtraction(status, error_msg=stopped)
        return replace(rest, status=status, error_msg=stopped, text=None, thumbnail_jpeg=None)


def _ended(found: PdfExtraction) -> Disposition:
    reason = found.status.reason
    if reason is None:
        return DONE
    detail = found.error_msg or found.status.value
    if reason.weight is Weight.REFUSED:
        return dropped(reason, detail)
    return quarantined(reason, detail)
