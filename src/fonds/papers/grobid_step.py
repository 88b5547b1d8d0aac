"""Pipeline steps grobid and persist_grobid: send PDFs to a GROBID server, and store the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.derivatives.fixity import TEI, build_cells_fixity, build_fixity, build_row_fixity
from fonds.model.archive import Blob
from fonds.model.disposition import DONE, Disposition, Reason, defer, quarantine
from fonds.model.errors import ChildError, PermanentError, PostponedError
from fonds.model.keys import build_tei_blob_key
from fonds.model.paper import (
    GrobidOutput,
    GrobidResponse,
    GrobidStatus,
    UngrobidedPdf,
    UnmatchedPaper,
)
from fonds.model.pdf import StatusClass
from fonds.model.rows import GrobidRow
from fonds.model.step import Output, Result
from fonds.model.story import UnarchivedBody
from fonds.model.task import Task
from fonds.papers.bibliography.tei import BibliographyReading
from fonds.papers.bibliography_step import remove_own_reading_from_grobid0
from fonds.papers.paper_cells import put_family
from fonds.pipelines.runtime.task_results import (
    MissingPdfReason,
    build_lost_capture,
    register_then_run,
)
from fonds.ports import Archive, Blobs, Records, Table
from fonds.stores.journal_table.cells import build_grobid_cells, build_paper_cells
from fonds.stores.journal_table.keys import build_row_key

EMITS = (Output(GrobidOutput), Output(UnarchivedBody))
_STATUS_BY_MISSING_REASON = {
    MissingPdfReason.NOT_PDF: GrobidStatus.NOT_PDF,
    MissingPdfReason.EMPTY: GrobidStatus.EMPTY_BLOB,
    MissingPdfReason.TOO_LARGE: GrobidStatus.TOO_LARGE,
    MissingPdfReason.SOURCE: GrobidStatus.SOURCE,
}


@dataclass(frozen=True, slots=True)
class GrobidStep:
    """Step that sends PDFs to a GROBID server.

    - `archive`: store of the PDFs.
    - `send_request`: client of the server.
    - `extractor`: name of the client, with the limits that affect results.
    - `find_known_ending`: function that returns the final status of the message about a PDF if no
      request is needed, otherwise None. It is called before the PDF is read.
    - `register_task`: function that validates an incoming item and registers the PDF of a task from
      another program.
    - `sleep`: function that sleeps during a part of the server's back-off, so that waiting messages
      are not requeued constantly.
    - `read`: function that parses TEI in an isolated process. TEI that it cannot parse is emitted
      as a failure, so that the message agrees with the row and cells that are stored later.
    """

    archive: Archive
    send_request: Callable[[bytes], GrobidResponse]
    extractor: str
    find_known_ending: Callable[[UngrobidedPdf], Disposition | None]
    register_task: Callable[[Task | UngrobidedPdf], Result]
    sleep: Callable[[float], None]
    read: Callable[[bytes], BibliographyReading]

    def __call__(self, item: UngrobidedPdf | Task) -> Result:
        """Request the bibliography of a PDF and emit a GrobidOutput, also for a failure.

        Nothing is emitted if no request is needed, because the result is known already. While the
        server is unavailable, the message is deferred, and no attempt is counted. If the bytes of a
        task cannot be read, but the task states a SHA-1, the GrobidOutput has the reason. Raises
        PermanentError for a task without SHA-1 whose bytes cannot be read, and the errors of the
        client.
        """
        return register_then_run(
            self.register_task, item, UngrobidedPdf, self._request, self._build_missing
        )

    def _build_missing(
        self, task: Task, sha1hex: str, missing_reason: MissingPdfReason, message: str
    ) -> GrobidOutput:
        """Build the GrobidOutput of a task whose PDF could not be read."""
        status = _STATUS_BY_MISSING_REASON[missing_reason]
        return GrobidOutput(
            sha1hex=sha1hex,
            status=status,
            status_code=status.status_code,
            tei_xml=None,
            error_msg=message,
            file_meta=None,
            source=build_lost_capture(task),
            extractor=self.extractor,
        )

    def _request(self, item: UngrobidedPdf) -> Result:
        disposition = self.find_known_ending(item)
        if disposition is not None:
            return Result(disposition)
        try:
            payload = self.archive.read(item.capture.place, item.file.sha1)
        except PermanentError as error:
            status = GrobidStatus.SOURCE
            response = GrobidResponse(status, status.status_code, error_msg=error.detail)
            return Result(
                quarantine(error.reason, error.detail), (self._build_output(item, response),)
            )
        try:
            grobid_response = self.send_request(payload.body)
        except PostponedError as error:
            self.sleep(error.after_s)
            return Result(defer(Reason.NOT_YET, str(error), error.after_s))
        return Result(DONE, (self._build_output(item, self._check_tei(grobid_response)),))

    def _check_tei(self, response: GrobidResponse) -> GrobidResponse:
        """Return a response of GROBID, or a failed response (`bad-grobid-xml`) if its TEI cannot be
        parsed.
        """
        if response.status is not GrobidStatus.SUCCESS:
            return response
        try:
            error = self.read(response.tei or b"").error
        except ChildError as failure:
            error = failure.detail
        if error is None:
            return response
        return GrobidResponse(GrobidStatus.BAD_XML, response.status_code, error_msg=error)

    def _build_output(self, item: UngrobidedPdf, response: GrobidResponse) -> GrobidOutput:
        return GrobidOutput(
            sha1hex=item.file.sha1,
            status=response.status,
            status_code=response.status_code,
            tei_xml=None if response.tei is None else response.tei.decode("utf-8", "replace"),
            error_msg=response.error_msg,
            file_meta=item.file,
            source=item.capture,
            extractor=self.extractor,
        )


# Storing GROBID's results


PERSIST_GROBID_EMITS = (Output(UnmatchedPaper),)
ERROR_MAX_CHARS = 1_024
_WEIGHTS = {StatusClass.OK: 2, StatusClass.CONTENT: 1, StatusClass.LIMIT: 1}
_EMPTY_READING = BibliographyReading()


@dataclass(frozen=True, slots=True)
class PersistGrobidStep:
    """Step that stores results of GROBID: first blobs, then cells of the wide-row table, then SQL
    rows.

    In this order, a row never refers to missing data. `read` parses TEI in an isolated process.
    """

    table: Table
    records: Records
    blobs: Blobs
    journal: str
    read: Callable[[bytes], BibliographyReading]
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[GrobidOutput]) -> list[Result]:
        """Store results of GROBID. Storing the same result again changes nothing.

        A failure never replaces an earlier success. Papers whose TEI was stored are emitted for
        matching.
        """
        now = self.clock()
        keys = [item.sha1hex for item in items]
        rows = self.records.get(GrobidRow, keys)
        weights = {row.sha1hex: _weigh_status(GrobidStatus(row.status)) for row in rows}
        stored_results: dict[str, tuple[GrobidRow, bytes | None, BibliographyReading]] = {}
        for item in items:
            row, tei, reading = self._build_row(item, now)
            weight = _weigh_status(GrobidStatus(row.status))
            if weight >= weights.get(item.sha1hex, 0):
                weights[item.sha1hex] = weight
                stored_results[item.sha1hex] = row, tei, reading
        self._save(list(stored_results.values()))
        unmatched_sha1hexes = {
            key for key, (_, tei, _) in stored_results.items() if tei is not None
        }
        return [
            Result(
                items=(UnmatchedPaper(item.sha1hex),) if item.sha1hex in unmatched_sha1hexes else ()
            )
            for item in items
        ]

    def _build_row(
        self, item: GrobidOutput, now: datetime
    ) -> tuple[GrobidRow, bytes | None, BibliographyReading]:
        """Build the SQL row of a result of GROBID, its TEI (None if it is not valid), and the
        parsed bibliography.
        """
        status, error, tei = item.status, item.error_msg, None
        reading = _EMPTY_READING
        if status is GrobidStatus.SUCCESS:
            tei = (item.tei_xml or "").encode("utf-8", "replace")
            reading = self._read_tei(tei)
            if reading.error is not None:
                status, error, tei = GrobidStatus.BAD_XML, reading.error, None
        row = GrobidRow(
            sha1hex=item.sha1hex,
            updated=now,
            grobid_version=reading.version or None,
            status_code=item.status_code,
            status=str(status),
            fatcat_release=reading.fatcat_release,
            metadata=reading.summary,
            quality=reading.quality or None,
            extractor=item.extractor,
            error_msg=error[:ERROR_MAX_CHARS] if error else None,
        )
        return row, tei, reading

    def _read_tei(self, tei: bytes) -> BibliographyReading:
        try:
            return self.read(tei)
        except ChildError as error:
            return BibliographyReading(error=error.detail)

    def _save(self, items: Sequence[tuple[GrobidRow, bytes | None, BibliographyReading]]) -> None:
        teis = [(row.sha1hex, tei) for row, tei, _ in items if tei is not None]
        self.blobs.put([Blob(build_tei_blob_key(key), tei, "application/xml") for key, tei in teis])
        keys = [build_row_key(row.sha1hex) for row, _, _ in items]
        remove_own_reading_from_grobid0(self.table, self.journal, keys)
        rows = [row for row, _, _ in items]
        cells = [_build_cells(row, tei, reading) for row, tei, reading in items]
        put_family(self.table, self.journal, list(zip(keys, cells, strict=True)))
        parts = [build_fixity(key, TEI, tei) for key, tei in teis]
        parts += [
            build_cells_fixity(row.sha1hex, of_row) for row, of_row in zip(rows, cells, strict=True)
        ]
        self.records.put([*rows, *map(build_row_fixity, rows), *parts])


def _build_cells(
    row: GrobidRow, tei: bytes | None, reading: BibliographyReading
) -> dict[str, bytes]:
    """Build the `grobid0` cells of a result of GROBID.

    A text that is too long for a cell is stored only as a blob. The field `left_out` of the status
    cell names such texts.
    """
    texts, left_out = build_paper_cells(reading.full_json, reading.metadata, tei or b"")
    fields = {
        "status": row.status,
        "status_code": row.status_code,
        "error_msg": row.error_msg,
        "grobid_version": row.grobid_version,
        "extractor": row.extractor,
        "left_out": " ".join(left_out) or None,
    }
    status = {name: value for name, value in fields.items() if value is not None}
    return build_grobid_cells(status, row.status_code, row.quality, texts)


def _weigh_status(status: GrobidStatus) -> int:
    return _WEIGHTS.get(status.status_class, 0)
