"""The kind `match`: which work of the catalogue a paper is. What it cites are its citations."""

from __future__ import annotations

from datetime import datetime

from fonds.formats.journal import MATCH_DOI, MATCH_INFO, MATCH_STATUS
from fonds.kinds.kind import DerivativeKind, Fact, Reading, Series, digits
from fonds.kinds.papers.jats import MIMETYPES as ARTICLES
from fonds.model.capture import Capture
from fonds.model.document import IndexDocument
from fonds.model.file import FileMeta
from fonds.model.paper import MATCH_VERSION, MatchStatus, Unmatched
from fonds.model.rows import CitationRow, MatchRow

STATUSES = tuple(str(one) for one in MatchStatus)


def _facts(row: MatchRow) -> list[Fact]:
    return [
        Fact("match", f"{row.status} ({row.reason})"),
        Fact("matched work", row.work, "none"),
        Fact("what agrees", row.evidence, "no candidate"),
        Fact("references held against the catalogue", digits(row.reference_count)),
    ]


def _values(row: MatchRow, found: IndexDocument | None) -> dict[str, object]:
    return {
        "match_status": row.status,
        "match_reason": row.reason,
        "match_work": row.work,
        "match_doi": row.doi,
    }


def _cells(row: MatchRow) -> tuple[str, ...]:
    return (MATCH_STATUS, MATCH_INFO, *([MATCH_DOI] if row.doi else []))


def _work(capture: Capture, file: FileMeta, after: datetime | None) -> Unmatched:
    return Unmatched(file.sha1)


CITATIONS = Series(
    name="citations",
    empty="no reference was matched yet; `fonds match` matches those of papers with a catalogue",
    row=CitationRow,
    columns={
        "sha1hex": "text",
        "number": "integer",
        "reference": "text",
        "told_doi": "text",
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
    cells=_cells,
    columns={
        "match_status": "text",
        "match_reason": "text",
        "match_work": "text",
        "match_doi": "text",
    },
    values=_values,
    series=CITATIONS,
    facts=_facts,
    reading=Reading(
        step="match",
        payload=Unmatched,
        work=_work,
        extractor=lambda names: MATCH_VERSION,
        statuses=STATUSES,
        kept=frozenset(STATUSES),
    ),
)
