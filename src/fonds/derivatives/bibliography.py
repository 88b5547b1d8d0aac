"""Derivative kind `bibliography`: metadata and references that Fonds read from a PDF."""

from __future__ import annotations

from fonds.derivatives.grobid import build_biblio_facts
from fonds.derivatives.kind import DerivativeKind, Fact
from fonds.model.document import IndexDocument
from fonds.model.rows import BibliographyRow

CELLS = ("bib0:bib_metadata", "bib0:bib_quality", "bib0:bib_status", "bib0:bib_json")
OLD_EXTRACTORS = frozenset({"fonds-bibliography/1", "fonds-bibliography/2"})
"""Old extractors of bibliographies. Their results are in cells of `grobid0` instead of `bib0`."""
SUCCESS, NOTHING_FOUND_STATUS, NOT_READ = "success", "nothing-found", "not-read"
"""Statuses of rows: bibliography found; neither title nor reference found; PDF without text."""


def _build_facts(row: BibliographyRow) -> list[Fact]:
    if row.status == NOT_READ:
        return []
    facts = [Fact("bibliography", row.status), Fact("bibliography quality", row.quality)]
    return facts + [
        fact
        for fact in build_biblio_facts(row.metadata)
        if fact.name in ("journal", "date", "references")
    ]


def _build_values(row: BibliographyRow, document: IndexDocument | None) -> dict[str, object]:
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
    list_cells=lambda row: (
        () if row.status == NOT_READ or row.extractor in OLD_EXTRACTORS else CELLS
    ),
    columns={
        "doi": "text",
        "arxiv_id": "text",
        "bibliography_quality": "text",
        "reference_count": "integer",
    },
    build_values=_build_values,
    build_facts=_build_facts,
)
