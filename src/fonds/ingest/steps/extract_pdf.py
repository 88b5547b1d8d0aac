"""extract_pdf: extract text, metadata and thumbnails of one PDF in an isolated process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fonds.model.disposition import Disposition, Reason
from fonds.model.errors import ChildError, FaultError, PermanentError
from fonds.model.file import UnextractedPdf
from fonds.model.pdf import (
    PAGE0_FORM,
    PdfExtraction,
    PdfStatus,
    PdfText,
    Thumbnail,
    build_ending,
)
from fonds.model.step import Output, Result
from fonds.model.story import UnarchivedBody
from fonds.model.task import Task
from fonds.pipelines.runtime.task_results import (
    MissingPdfReason,
    build_lost_capture,
    register_then_run,
)
from fonds.ports import Archive

_STATUS_BY_REASON = {
    Reason.TIMEOUT: PdfStatus.ERROR_TIMEOUT,
    Reason.OUT_OF_MEMORY: PdfStatus.ERROR_MEMORY,
    Reason.CRASHED_READER: PdfStatus.ERROR_CRASH,
}
_STATUS_BY_MISSING_REASON = {
    MissingPdfReason.NOT_PDF: PdfStatus.NOT_PDF,
    MissingPdfReason.EMPTY: PdfStatus.EMPTY_BLOB,
    MissingPdfReason.TOO_LARGE: PdfStatus.TOO_LARGE,
    MissingPdfReason.SOURCE: PdfStatus.ERROR_SOURCE,
}
_TRACE_MAX_CHARS = 2_000


EMITS = (Output(PdfText), Output(Thumbnail), Output(UnarchivedBody))


@dataclass(frozen=True, slots=True)
class ExtractPdfStep:
    """Step that extracts one PDF.

    - `archive`: reads the bytes of the PDF.
    - `extract`: extracts text, metadata and thumbnails in an isolated process.
    - `extract_metadata`: extracts only the metadata; called if `extract` was killed or crashed.
    - `pdf_extractor`: names and versions of the extraction programs.
    - `find_known_ending`: returns how an earlier extraction of the PDF ended, or None if the PDF
      must be extracted. It is called before the bytes are read.
    - `register_task`: records the file of a task (a request of another program), and returns an
      UnextractedPdf and any other work on the file. Given an UnextractedPdf, it checks that the
      file is known.
    """

    archive: Archive
    extract: Callable[[bytes], PdfExtraction]
    extract_metadata: Callable[[bytes], PdfExtraction]
    pdf_extractor: str
    find_known_ending: Callable[[UnextractedPdf], Disposition | None]
    register_task: Callable[[Task | UnextractedPdf], Result]

    def __call__(self, item: UnextractedPdf | Task) -> Result:
        """Extract the PDF of an item, and return the thumbnails of its first page and then a
        PdfText.

        Returns neither if the result is already known. The thumbnails come first, so they are sent
        before the text. A failed extraction has a PdfText with the error. A task that states a
        SHA-1 but leads to no PDF has a PdfText with the reason. Raises PermanentError for any other
        task that is refused.
        """
        return register_then_run(
            self.register_task, item, UnextractedPdf, self._extract, self._build_missing
        )

    def _build_missing(
        self, task: Task, sha1hex: str, missing_reason: MissingPdfReason, message: str
    ) -> PdfText:
        """Build the PdfText that reports why the PDF of a task is unavailable. It has no text."""
        return PdfText(
            sha1hex=sha1hex,
            status=_STATUS_BY_MISSING_REASON[missing_reason],
            text=None,
            page0_thumbnail=False,
            meta_xml=None,
            pdf_info=None,
            pdf_extra=None,
            file_meta=None,
            source=build_lost_capture(task),
            extractor=self.pdf_extractor,
            error_msg=message,
        )

    def _extract(self, item: UnextractedPdf) -> Result:
        known_ending = self.find_known_ending(item)
        if known_ending is not None:
            return Result(known_ending)
        try:
            payload = self.archive.read(item.capture.place, item.file.sha1)
        except PermanentError as error:
            failed_extraction = PdfExtraction(PdfStatus.ERROR_SOURCE, error_msg=error.detail)
            ending = replace(
                build_ending(failed_extraction.status, error.detail), reason=error.reason
            )
            return Result(ending, (self._build_text(item, failed_extraction),))
        extraction = self._read(payload.body)
        thumbnails = tuple(
            Thumbnail(item.file.sha1, form, image) for form, image in extraction.thumbnails.items()
        )
        return Result(
            build_ending(extraction.status, extraction.error_msg),
            (*thumbnails, self._build_text(item, extraction)),
        )

    def _build_text(self, item: UnextractedPdf, extraction: PdfExtraction) -> PdfText:
        return PdfText(
            sha1hex=item.file.sha1,
            status=extraction.status,
            text=extraction.text,
            page0_thumbnail=PAGE0_FORM in extraction.thumbnails,
            meta_xml=extraction.meta_xml,
            pdf_info=extraction.pdf_info,
            pdf_extra=extraction.pdf_extra,
            file_meta=item.file,
            source=item.capture,
            extractor=self.pdf_extractor,
            error_msg=extraction.error_msg,
        )

    def _read(self, body: bytes) -> PdfExtraction:
        """Extract a PDF. If the isolated process fails, return only the metadata and the error.

        Only the error is returned if the metadata cannot be extracted either, or if `extract` has a
        bug (FaultError).
        """
        try:
            return self.extract(body)
        except FaultError as fault:
            trace = str(fault)[-_TRACE_MAX_CHARS:]
            return PdfExtraction(PdfStatus.ERROR_INTERNAL, error_msg=trace)
        except ChildError as error:
            status = _STATUS_BY_REASON.get(error.reason, PdfStatus.ERROR_CRASH)
            detail = error.detail
        try:
            salvaged_extraction = self.extract_metadata(body)
        except (ChildError, FaultError):
            return PdfExtraction(status, error_msg=detail)
        return replace(
            salvaged_extraction, status=status, error_msg=detail, text=None, thumbnails={}
        )
