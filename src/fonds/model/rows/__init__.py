"""Row types of the SQL store, one frozen dataclass per table.

The attribute order is the column order. `TABLE` names the table, and `KEY` its primary key. Texts
have no NUL and no lone surrogates. Times are aware UTC.
"""

from fonds.model.rows.accounting import (
    DecisionRow,
    DispositionRow,
    EntryRow,
    FailureNoteRow,
    InputRow,
    TallyRow,
)
from fonds.model.rows.derivatives import (
    BibliographyRow,
    CitationRow,
    CrashedPdfRow,
    GrobidRow,
    JatsRow,
    MatchRow,
    PdfMetaRow,
    StoryMetaRow,
    TextBandRow,
    TextSketchRow,
)
from fonds.model.rows.files import (
    CdxRow,
    CrawlerCountRow,
    EmbargoRow,
    FileMetaRow,
    TakedownRow,
    WarcFileRow,
)
from fonds.model.rows.operations import (
    AccessKeyRow,
    ActRow,
    DeepAuditRow,
    FaultRow,
    FixityRow,
    LeaseRow,
    SessionRow,
    TimetableRow,
    WorkerRow,
)
from fonds.model.rows.rights import (
    CaptureRightsRow,
    FileRightsRow,
    HostCaptureRow,
    HostFileRow,
    HostTextRow,
    TdmrepAnswerRow,
)
from fonds.model.rows.row import Row
from fonds.model.rows.sources import (
    AddressUseRow,
    FetchedPageRow,
    PaceRow,
    RefusedLinkRow,
    SourceRow,
)

__all__ = [
    "AccessKeyRow",
    "ActRow",
    "AddressUseRow",
    "BibliographyRow",
    "CaptureRightsRow",
    "CdxRow",
    "CitationRow",
    "CrashedPdfRow",
    "CrawlerCountRow",
    "DecisionRow",
    "DeepAuditRow",
    "DispositionRow",
    "EmbargoRow",
    "EntryRow",
    "FailureNoteRow",
    "FaultRow",
    "FetchedPageRow",
    "FileMetaRow",
    "FileRightsRow",
    "FixityRow",
    "GrobidRow",
    "HostCaptureRow",
    "HostFileRow",
    "HostTextRow",
    "InputRow",
    "JatsRow",
    "LeaseRow",
    "MatchRow",
    "PaceRow",
    "PdfMetaRow",
    "RefusedLinkRow",
    "Row",
    "SessionRow",
    "SourceRow",
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
"""All row types. The SQL store has one table for each of them."""
