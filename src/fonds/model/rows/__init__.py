"""The rows of the SQL store, one frozen value per table.

The attribute order is the column order. `TABLE` names the table, `KEY` its primary key. All texts are
without NUL and lone surrogates; all times aware UTC.
"""

from fonds.model.rows.access import AccessKeyRow, ActRow, SessionRow
from fonds.model.rows.accounting import (
    DecisionRow,
    DispositionRow,
    EntryRow,
    FailureNoteRow,
    InputRow,
    TallyRow,
)
from fonds.model.rows.checking import DeepAuditRow, FaultRow, FixityRow
from fonds.model.rows.fetching import AddressUseRow, FetchedRow, PaceRow
from fonds.model.rows.files import (
    ArchivingRow,
    CdxRow,
    CrawlerCountRow,
    EmbargoRow,
    FileMetaRow,
    TakedownRow,
    WarcFileRow,
)
from fonds.model.rows.match import CitationRow, MatchRow
from fonds.model.rows.pdf import BibliographyRow, GrobidRow, JatsRow, PdfMetaRow, StoppedRow
from fonds.model.rows.rights import (
    CaptureRightsRow,
    FileRightsRow,
    HostCaptureRow,
    HostFileRow,
    HostTextRow,
    TdmrepAnswerRow,
)
from fonds.model.rows.row import Row
from fonds.model.rows.source import RefusedLinkRow, SourceRow
from fonds.model.rows.story import StoryMetaRow, TextBandRow, TextSketchRow
from fonds.model.rows.timetable import ClaimRow, TimetableRow, WorkerRow

__all__ = [
    "AccessKeyRow",
    "ActRow",
    "AddressUseRow",
    "ArchivingRow",
    "BibliographyRow",
    "CaptureRightsRow",
    "CdxRow",
    "CitationRow",
    "ClaimRow",
    "CrawlerCountRow",
    "DecisionRow",
    "DeepAuditRow",
    "DispositionRow",
    "EmbargoRow",
    "EntryRow",
    "FailureNoteRow",
    "FaultRow",
    "FetchedRow",
    "FileMetaRow",
    "FileRightsRow",
    "FixityRow",
    "GrobidRow",
    "HostCaptureRow",
    "HostFileRow",
    "HostTextRow",
    "InputRow",
    "JatsRow",
    "MatchRow",
    "PaceRow",
    "PdfMetaRow",
    "RefusedLinkRow",
    "Row",
    "SessionRow",
    "SourceRow",
    "StoppedRow",
    "StoryMetaRow",
    "TakedownRow",
    "TallyRow",
    "TdmrepAnswerRow",
    "TextBandRow",
    "TextSketchRow",
    "TimetableRow",
    "WarcFileRow",
    "WorkerRow",
]

ROWS: tuple[type[Row], ...] = tuple(globals()[name] for name in __all__ if name != "Row")
"""Every row there is: the SQL store has a table for each."""
