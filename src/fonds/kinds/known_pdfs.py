"""What is already known of a PDF, asked before its bytes are fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.model.disposition import Disposition, Verdict
from fonds.model.file import Unextracted
from fonds.model.pdf import WITHOUT_FILE, PdfStatus, StatusClass, ending
from fonds.model.rows import DispositionRow, GrobidRow, PdfMetaRow, StoppedRow
from fonds.ports import Records

STEP = "extract_pdf"


@dataclass(frozen=True, slots=True)
class KnownPdfs:
    """Asks the records by SHA-1 and extractor; `clock` gives aware UTC."""

    records: Records
    extractor: str
    clock: Callable[[], datetime]

    def __call__(self, item: Unextracted) -> Disposition | None:
        """How a PDF ends that needs no reading: as it did before. None when it is to be read.

        Nothing is done twice: not what this extractor has read or found unreadable, nor what stopped it
        and is not due to be tried again. Only what stands in the ledger as ended is known: what a killed
        process had begun is done again, so that the books tell of all of it.
        """
        sha1hex = item.file.sha1
        rows = self.records.get(PdfMetaRow, [sha1hex])
        if not rows or not self._has_ended(sha1hex):
            # Nothing stops a reader without leaving a row behind.
            return None
        known = _known(rows[0].status)
        same = rows[0].extractor == self.extractor
        if known is PdfStatus.EMPTY_BLOB and item.file.size:
            # A task led to no bytes; these are others.
            return None
        if same and known and _counts(rows[0].updated, item) and not _worth_trying(known):
            return ending(known, rows[0].error_msg)
        for stop in self.records.get(StoppedRow, [(sha1hex, self.extractor)]):
            known = _known(stop.status)
            if known and _counts(stop.stopped, item) and self.clock() < stop.expires:
                return ending(
                    known, f"{stop.detail}; not tried again before {stop.expires:%Y-%m-%d}"
                )
        return None

    def _has_ended(self, sha1hex: str) -> bool:
        """Whether any message about the file has ever ended at this step, in whatever pipeline: one that was
        sent round again is open and has ended before."""
        where = {"about": sha1hex, "step": STEP, "verdict": [str(one) for one in Verdict]}
        return next(self.records.find(DispositionRow, where, count_max=1), None) is not None


def unavailable_pdfs(records: Records, sha1hexes: Sequence[str]) -> set[str]:
    """Return those of the SHA-1s whose tasks may have led to no PDF, so that there is no file."""
    if not sha1hexes:
        return set()
    read = records.get(PdfMetaRow, sha1hexes)
    asked = records.get(GrobidRow, sha1hexes)
    found = {row.sha1hex for row in read if row.status in WITHOUT_FILE}
    return found | {row.sha1hex for row in asked if row.status in WITHOUT_FILE}


def forget(item: Unextracted) -> Disposition | None:
    """The memory of those who keep none: everything is read."""
    return None


def _known(status: str) -> PdfStatus | None:
    return PdfStatus(status) if status in set(PdfStatus) else None


def _worth_trying(status: PdfStatus) -> bool:
    return status.status_class not in (StatusClass.OK, StatusClass.CONTENT)


def _counts(when: datetime, item: Unextracted) -> bool:
    return item.after is None or when >= item.after
