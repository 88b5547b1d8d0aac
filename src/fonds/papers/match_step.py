"""match: which work of the catalogue a paper is, and which its references are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fonds.derivatives.fixity import build_row_fixity
from fonds.model.paper import MATCH_VERSION, MatchStatus, UnmatchedPaper
from fonds.model.rows import CitationRow, MatchRow
from fonds.model.step import Result
from fonds.papers.bibliography.paper import Citation, Paper, decode_paper, format_citation
from fonds.papers.catalog.lookup import find
from fonds.papers.catalog.match import Match, MatchReason, format_evidence
from fonds.papers.catalog.match_query import build_citation_query, build_paper_query
from fonds.papers.catalog.store import Catalog
from fonds.ports import Records, Table
from fonds.stores.journal_table.cells import (
    BIB_JSON,
    BIB_METADATA,
    GROBID_METADATA,
    GROBID_TEI_JSON,
    MATCH_DOI,
    MATCH_INFO,
    MATCH_STATUS,
)
from fonds.stores.journal_table.keys import build_row_key

EMITS = ()
REFERENCES_MAX = 2_000
"""As many references of one paper are looked for."""
PAPER_COLUMNS = (GROBID_METADATA, GROBID_TEI_JSON, BIB_METADATA, BIB_JSON)
"""GROBID's reading comes before our own."""


@dataclass(frozen=True, slots=True)
class MatchedPaper:
    """A paper held against the catalogue; `reference_count` is how many of its references are."""

    sha1hex: str
    match: Match
    reference_count: int


@dataclass(frozen=True, slots=True)
class MatchPapersStep:
    """Cells first, then citations, then rows, so that what a row promises is there. `catalog` opens the
    catalogue, which need not have been loaded."""

    table: Table
    records: Records
    journal: str
    catalog: Callable[[], Catalog]
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[UnmatchedPaper]) -> list[Result]:
        """Idempotent by SHA-1, as long as the catalogue is the same."""
        now, catalog = self.clock(), self.catalog()
        keys = {build_row_key(item.sha1hex): item.sha1hex for item in items}
        cells = self.table.get(self.journal, list(keys), PAPER_COLUMNS)
        found, cited = [], []
        for key, sha1hex in keys.items():
            paper = load_paper(cells.get(key, {}))
            found.append(match_paper(catalog, sha1hex, paper))
            for citation in list_references(paper):
                match = find(catalog, build_citation_query(citation))
                told = (format_citation(citation), citation.doi)
                cited.append(build_citation_row(sha1hex, citation.index, told, match, now))
        self.records.put(cited)
        save_matches(self.table, self.records, self.journal, found, now)
        return [Result() for _ in items]


def load_paper(cells: Mapping[str, bytes]) -> Paper | None:
    """What was read of a paper, whoever read it; None where there is nothing, or nothing of the sort."""
    for column in PAPER_COLUMNS:
        if column in cells:
            try:
                return decode_paper(cells[column])
            except ValueError:
                continue
    return None


def list_references(paper: Paper | None) -> Sequence[Citation]:
    """The references that are looked for; each number once."""
    citations = paper.citations[:REFERENCES_MAX] if paper is not None else ()
    return list({one.index: one for one in citations}.values())


def match_paper(catalog: Catalog, sha1hex: str, paper: Paper | None) -> MatchedPaper:
    """Which work a paper is."""
    if paper is None:
        return MatchedPaper(
            sha1hex, Match(status=MatchStatus.NONE, reason=MatchReason.NO_BIBLIOGRAPHY), 0
        )
    return MatchedPaper(
        sha1hex, find(catalog, build_paper_query(paper)), len(list_references(paper))
    )


def build_citation_row(
    sha1hex: str,
    number: int,
    printed_reference: tuple[str, str | None],
    match: Match,
    now: datetime,
) -> CitationRow:
    """A reference, as printed and with the DOI it states, and what it was matched with."""
    reference, told_doi = printed_reference
    return CitationRow(
        sha1hex=sha1hex,
        number=number,
        updated=now,
        reference=reference,
        status=str(match.status),
        reason=str(match.reason),
        work=match.work,
        doi=match.doi,
        told_doi=told_doi,
        score=match.score,
    )


def save_matches(
    table: Table, records: Records, journal: str, papers: Sequence[MatchedPaper], now: datetime
) -> None:
    """Cells and rows of papers; what an earlier match said and this one does not is gone."""
    table.put(journal, [(build_row_key(one.sha1hex), _build_cells(one.match)) for one in papers])
    without = [build_row_key(one.sha1hex) for one in papers if one.match.doi is None]
    if without:
        table.delete(journal, without, [MATCH_DOI])
    for one in papers:
        known = records.find(CitationRow, {"sha1hex": one.sha1hex})
        stale = [row.number for row in known if row.number >= one.reference_count]
        records.delete(CitationRow, [(one.sha1hex, number) for number in stale])
    rows = [_build_row(one, now) for one in papers]
    records.put([*rows, *map(build_row_fixity, rows)])


def _build_cells(match: Match) -> dict[str, bytes]:
    told = {"extractor": MATCH_VERSION, **msgspec.to_builtins(match)}
    cells = {MATCH_STATUS: match.status.encode(), MATCH_INFO: msgspec.json.encode(told)}
    return cells | ({MATCH_DOI: match.doi.encode()} if match.doi else {})


def _build_row(paper: MatchedPaper, now: datetime) -> MatchRow:
    return MatchRow(
        sha1hex=paper.sha1hex,
        updated=now,
        status=str(paper.match.status),
        reason=str(paper.match.reason),
        work=paper.match.work,
        doi=paper.match.doi,
        evidence=format_evidence(paper.match),
        reference_count=paper.reference_count,
        extractor=MATCH_VERSION,
    )
