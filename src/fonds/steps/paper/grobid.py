"""grobid: a PDF sent to a GROBID server, and what that made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fonds.bibliography.tei_reading import BibliographyReading
from fonds.model.disposition import DONE, Disposition, Reason, deferred, quarantined
from fonds.model.errors import ChildError, PermanentError, PostponedError
from fonds.model.paper import GrobidAnswer, GrobidOutput, GrobidStatus, Ungrobided
from fonds.model.step import Output, Result
from fonds.model.story import Unarchived
from fonds.model.task import Task
from fonds.ports import Archive
from fonds.steps.intake.task_results import Lack, done_once_taken, lost_capture

EMITS = (Output(GrobidOutput), Output(Unarchived))
_STATUS_OF_LACK = {
    Lack.NOT_PDF: GrobidStatus.NOT_PDF,
    Lack.EMPTY: GrobidStatus.EMPTY_BLOB,
    Lack.TOO_LARGE: GrobidStatus.TOO_LARGE,
    Lack.SOURCE: GrobidStatus.SOURCE,
}


@dataclass(frozen=True, slots=True)
class AskGrobid:
    """`ask` is the server's client and `extractor` its name.

    `remember` says how a PDF ends that needs no asking, before its bytes are fetched; `take_in` makes known
    work of another program's task, and checks what comes as known work. `rest` lets some of the seconds pass
    for which the server is away, so that not all that waits is handed to and fro. `read` parses the TEI in an
    isolated process, so that the message has the status that row and table get.
    """

    archive: Archive
    ask: Callable[[bytes], GrobidAnswer]
    extractor: str
    remember: Callable[[Ungrobided], Disposition | None]
    take_in: Callable[[Task | Ungrobided], Result]
    rest: Callable[[float], None]
    read: Callable[[bytes], BibliographyReading]

    def __call__(self, item: Ungrobided | Task) -> Result:
        """A GrobidOutput however it ended, unless all is known already, or the server is away.

        Then the message waits until it is to be asked again, and no attempt is charged. Raises
        PermanentError for a task that states no SHA-1 and whose bytes cannot be had, and what the client
        raises. Of one that states it the GrobidOutput says why.
        """
        return done_once_taken(self.take_in, item, Ungrobided, self._asked, self._lost)

    def _lost(self, task: Task, sha1hex: str, lack: Lack, told: str) -> GrobidOutput:
        """Return the result of a task whose PDF could not be had."""
        status = _STATUS_OF_LACK[lack]
        return GrobidOutput(
            sha1hex=sha1hex,
            status=status,
            status_code=status.status_code,
            tei_xml=None,
            error_msg=told,
            file_meta=None,
            source=lost_capture(task),
            extractor=self.extractor,
        )

    def _asked(self, item: Ungrobided) -> Result:
        known = self.remember(item)
        if known is not None:
            return Result(known)
        try:
            payload = self.archive.read(item.capture.place, item.file.sha1)
        except PermanentError as error:
            status = GrobidStatus.SOURCE
            lost = GrobidAnswer(status, status.status_code, error_msg=error.detail)
            return Result(quarantined(error.reason, error.detail), (self._output(item, lost),))
        try:
            answer = self.ask(payload.body)
        except PostponedError as error:
            self.rest(error.after_s)
            return Result(deferred(Reason.NOT_YET, str(error), error.after_s))
        return Result(DONE, (self._output(item, self._checked(answer)),))

    def _checked(self, answer: GrobidAnswer) -> GrobidAnswer:
        """The answer, or `bad-grobid-xml` where its TEI cannot be read."""
        if answer.status is not GrobidStatus.SUCCESS:
            return answer
        try:
            error = self.read(answer.tei or b"").error
        except ChildError as failure:
            error = failure.detail
        if error is None:
            return answer
        return GrobidAnswer(GrobidStatus.BAD_XML, answer.status_code, error_msg=error)

    def _output(self, item: Ungrobided, answer: GrobidAnswer) -> GrobidOutput:
        return GrobidOutput(
            sha1hex=item.file.sha1,
            status=answer.status,
            status_code=answer.status_code,
            tei_xml=None if answer.tei is None else answer.tei.decode("utf-8", "replace"),
            error_msg=answer.error_msg,
            file_meta=item.file,
            source=item.capture,
            extractor=self.extractor,
        )
