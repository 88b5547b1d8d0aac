"""Derivative kind `match`: the work that a paper was identified as, and the works that it cites."""

from __future__ import annotations

from datetime import datetime

from fonds.derivatives.jats import MIMETYPES as ARTICLES
from fonds.derivatives.kind import DerivativeKind, Fact, RereadPlan, RowSeries, format_count
from fonds.model.capture import Capture
from fonds.model.document import IndexDocument
from fonds.model.file import FileMeta
from fonds.model.paper import MATCH_VERSION, MatchStatus, UnmatchedPaper
from fonds.model.rows import CitationRow, MatchRow
from fonds.stores.journal_table.cells import MATCH_DOI, MATCH_INFO, MATCH_STATUS

STATUSES = tuple(str(status) for status in MatchStatus)


def _build_facts(row: MatchRow) -> list[Fact]:
    return [
        Fact("match", f"{row.status} ({row.reason})"),
        Fact("matched work", row.work, "none"),
        Fact("evidence", row.evidence, "no candidate"),
        Fact("references checked against the catalogue", format_count(row.reference_count)),
    ]


def _build_values(row: MatchRow, document: IndexDocument | None) -> dict[str, object]:
    return {
        "match_status": row.status,
        "match_reason": row.reason,
        "match_work": row.work,
        "match_doi": row.doi,
    }


def _list_cells(row: MatchRow) -> tuple[str, ...]:
    return (MATCH_STATUS, MATCH_INFO, *([MATCH_DOI] if row.doi else []))


def _build_work(capture: Capture, file: FileMeta, after: datetime | None) -> UnmatchedPaper:
    return UnmatchedPaper(file.sha1)


CITATIONS = RowSeries(
    name="citations",
    empty="no reference has been matched yet. Run `fonds match`",
    row=CitationRow,
    columns={
        "sha1hex": "text",
        "number": "integer",
        "reference": "text",
        "printed_doi": "text",
        "status": "text",
        "reason": "text",
        "work": "text",
        "doi": "text",
        "score": "number",
    },
    count=lambda row: row.reference_count,
)

KIND = DerivativeKind(
    name="match",
    title="match",
    mimetypes=("application/pdf", *ARTICLES),
    row=MatchRow,
    step="match",
    list_cells=_list_cells,
    columns={
        "match_status": "text",
        "match_reason": "text",
        "match_work": "text",
        "match_doi": "text",
    },
    build_values=_build_values,
    series=CITATIONS,
    build_facts=_build_facts,
    reading=RereadPlan(
        step="match",
        payload=UnmatchedPaper,
        work=_build_work,
        extractor=lambda names: MATCH_VERSION,
        statuses=STATUSES,
        kept_statuses=frozenset(STATUSES),
    ),
)
