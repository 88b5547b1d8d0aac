"""Pipeline step match: find the catalogue work of each paper and of each reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fonds.derivatives.fixity import build_cells_fixity, build_row_fixity
from fonds.model.bibliography import Citation, Paper
from fonds.model.paper import MATCH_VERSION, MatchStatus, UnmatchedPaper
from fonds.model.rows import CitationRow, MatchRow
from fonds.model.step import Result
from fonds.papers.bibliography.paper import decode_paper, format_citation
from fonds.papers.catalog.lookup import find
from fonds.papers.catalog.match import Match, MatchReason, format_evidence
from fonds.papers.catalog.match_query import build_citation_query, build_paper_query
from fonds.papers.catalog.store import Catalog
from fonds.papers.paper_cells import put_family
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
"""Maximum number of references of one paper that are matched."""
PAPER_COLUMNS = (GROBID_METADATA, GROBID_TEI_JSON, BIB_METADATA, BIB_JSON)
"""Columns of the wide-row table with a bibliography; those of GROBID precede those of Fonds."""


@dataclass(frozen=True, slots=True)
class MatchedPaper:
    """Paper, and the result of matching it to a work of the catalogue.

    - `sha1hex`: SHA-1 of the paper.
    - `match`: work that was found, with evidence.
    - `reference_count`: number of the paper's references that are matched to works as well.
    """

    sha1hex: str
    match: Match
    reference_count: int


@dataclass(frozen=True, slots=True)
class MatchPapersStep:
    """Step that matches papers and their references to works.

    The step writes the rows of references first, then cells, then the rows of papers, so that the
    row of a paper never refers to missing data. `catalog` opens the catalogue, which may have no
    works.
    """

    table: Table
    records: Records
    journal: str
    catalog: Callable[[], Catalog]
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[UnmatchedPaper]) -> list[Result]:
        """Match each paper and its references to works of the catalogue. Store the results.

        Matching a paper again changes nothing while the catalogue is unchanged.
        """
        now, catalog = self.clock(), self.catalog()
        keys = {build_row_key(item.sha1hex): item.sha1hex for item in items}
        cells = self.table.get(self.journal, list(keys), PAPER_COLUMNS)
        papers, citation_rows = [], []
        for key, sha1hex in keys.items():
            paper = load_paper(cells.get(key, {}))
            papers.append(match_paper(catalog, sha1hex, paper))
            for citation in list_references(paper):
                match = find(catalog, build_citation_query(citation))
                printed_reference = (format_citation(citation), citation.doi)
                citation_rows.append(
                    build_citation_row(sha1hex, citation.index, printed_reference, match, now)
                )
        self.records.put(citation_rows)
        save_matches(self.table, self.records, self.journal, papers, now)
        return [Result() for _ in items]


def load_paper(cells: Mapping[str, bytes]) -> Paper | None:
    """Return the first bibliography in the wide-row table cells of a file that can be decoded, or
    None.

    Columns are tried in the order of `PAPER_COLUMNS`.
    """
    for column in PAPER_COLUMNS:
        if column in cells:
            try:
                return decode_paper(cells[column])
            except ValueError:
                continue
    return None


def list_references(paper: Paper | None) -> Sequence[Citation]:
    """Return the references of a paper that are to be matched, each index once.

    At most the first `REFERENCES_MAX` are returned; none if the paper is None.
    """
    citations = paper.citations[:REFERENCES_MAX] if paper is not None else ()
    return list({citation.index: citation for citation in citations}.values())


def match_paper(catalog: Catalog, sha1hex: str, paper: Paper | None) -> MatchedPaper:
    """Match a paper to a work of the catalogue.

    `paper` is the bibliography of the paper. If it is None, the match has the status none and the
    reason `no-bibliography`.
    """
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
    """Build the row with the match of one reference of a paper.

    - `sha1hex`: SHA-1 of the paper.
    - `number`: index of the reference from 0.
    - `printed_reference`: printed text, and the DOI in it or None.
    """
    reference, printed_doi = printed_reference
    return CitationRow(
        sha1hex=sha1hex,
        number=number,
        updated=now,
        reference=reference,
        status=str(match.status),
        reason=str(match.reason),
        work=match.work,
        doi=match.doi,
        printed_doi=printed_doi,
        score=match.score,
    )


def save_matches(
    table: Table, records: Records, journal: str, papers: Sequence[MatchedPaper], now: datetime
) -> None:
    """Write the wide-row table cells and SQL rows of matched papers.

    A DOI from an earlier match is deleted if a paper no longer matches a work with a DOI. Rows of
    references that a paper no longer has are deleted too.
    """
    cells = {paper.sha1hex: _build_cells(paper.match) for paper in papers}
    put_family(table, journal, [(build_row_key(key), value) for key, value in cells.items()])
    for paper in papers:
        citation_rows = records.find(CitationRow, {"sha1hex": paper.sha1hex})
        stale = [row.number for row in citation_rows if row.number >= paper.reference_count]
        records.delete(CitationRow, [(paper.sha1hex, number) for number in stale])
    rows = [_build_row(paper, now) for paper in papers]
    parts = [build_cells_fixity(key, value) for key, value in cells.items()]
    records.put([*rows, *map(build_row_fixity, rows), *parts])


def _build_cells(match: Match) -> dict[str, bytes]:
    details = {"extractor": MATCH_VERSION, **msgspec.to_builtins(match)}
    cells = {MATCH_STATUS: match.status.encode(), MATCH_INFO: msgspec.json.encode(details)}
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
