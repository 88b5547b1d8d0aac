"""The kind `bibliography`: what a PDF says of itself and cites, read here with its text."""

from __future__ import annotations

from fonds.kinds.kind import DerivativeKind, Fact
from fonds.kinds.papers.grobid import biblio_facts
from fonds.model.document import IndexDocument
from fonds.model.rows import BibliographyRow

CELLS = ("bib0:bib_metadata", "bib0:bib_quality", "bib0:bib_status", "bib0:bib_json")
BEFORE_BIB0 = frozenset({"fonds-bibliography/1", "fonds-bibliography/2"})
"""Readings that were kept in `grobid0`: their rows promise no cells."""
SUCCESS, NOTHING_FOUND, NOT_READ = "success", "nothing-found", "not-read"
"""Read; read, and neither title nor reference found; the PDF gave no text."""


def _facts(row: BibliographyRow) -> list[Fact]:
    if row.status == NOT_READ:
        return []
    told = [Fact("bibliography", row.status), Fact("bibliography quality", row.quality)]
    return told + [
        fact
        for fact in biblio_facts(row.metadata)
        if fact.name in ("journal", "date", "references")
    ]


def _values(row: BibliographyRow, found: IndexDocument | None) -> dict[str, object]:
    return {
        "doi": row.doi,
        "arxiv_id": row.arxiv_id,
        "bibliography_quality": row.quality,
        "reference_count": row.reference_count,
    }


KIND = DerivativeKind(
    name="bibliography",
    title="bibliography",
    mimetypes=("application/pdf",),
    row=BibliographyRow,
    step="persist_bibliography",
    cells=lambda row: () if row.status == NOT_READ or row.extractor in BEFORE_BIB0 else CELLS,
    columns={
        "doi": "text",
        "arxiv_id": "text",
        "bibliography_quality": "text",
        "reference_count": "integer",
    },
    values=_values,
    facts=_facts,
)
