"""match: which work of the catalogue a paper is, and which its references are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fonds.bibliography.paper import Citation, Paper, from_json
from fonds.bibliography.printing import printed
from fonds.catalog.finding import find
from fonds.catalog.matching.judging import Match, evidence
from fonds.catalog.matching.sought import of_citation, of_paper
from fonds.catalog.matching.statuses import MatchReason
from fonds.catalog.store import Catalog
from fonds.formats.journal import (
    BIB_JSON,
    BIB_METADATA,
    GROBID_METADATA,
    GROBID_TEI_JSON,
    MATCH_DOI,
    MATCH_INFO,
    MATCH_STATUS,
    row_key,
)
from fonds.kinds.fixity import fixity_of_row
from fonds.model.paper import MATCH_VERSION, MatchStatus, Unmatched
from fonds.model.rows import CitationRow, MatchRow
from fonds.model.step import Result
from fonds.ports import Records, Table

EMITS = ()
REFERENCES_MAX = 2_000
"""As many references of one paper are looked for."""
READ_COLUMNS = (GROBID_METADATA, GROBID_TEI_JSON, BIB_METADATA, BIB_JSON)
"""GROBID's reading comes before our own."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A paper held against the catalogue; `reference_count` is how many of its references are."""

    sha1hex: str
    match: Match
    reference_count: int


@dataclass(frozen=True, slots=True)
class MatchPapers:
    """Cells first, then citations, then rows, so that what a row promises is there. `catalog` opens the
    catalogue, which need not have been loaded."""

    table: Table
    records: Records
    journal: str
    catalog: Callable[[], Catalog]
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[Unmatched]) -> list[Result]:
        """Idempotent by SHA-1, as long as the catalogue is the same."""
        now, catalog = self.clock(), self.catalog()
        keys = {row_key(item.sha1hex): item.sha1hex for item in items}
        cells = self.table.get(self.journal, list(keys), READ_COLUMNS)
        found, cited = [], []
        for key, sha1hex in keys.items():
            paper = paper_in(cells.get(key, {}))
            found.append(judged(catalog, sha1hex, paper))
            for citation in references_of(paper):
                match = find(catalog, of_citation(citation))
                told = (printed(citation), citation.doi)
                cited.append(citation_row(sha1hex, citation.index, told, match, now))
        self.records.put(cited)
        keep(self.table, self.records, self.journal, found, now)
        return [Result() for _ in items]


def paper_in(cells: Mapping[str, bytes]) -> Paper | None:
    """What was read of a paper, whoever read it; None where there is nothing, or nothing of the sort."""
    for column in READ_COLUMNS:
        if column in cells:
            try:
                return from_json(cells[column])
            except ValueError:
                continue
    return None


def references_of(paper: Paper | None) -> Sequence[Citation]:
    """The references that are looked for; each number once."""
    citations = paper.citations[:REFERENCES_MAX] if paper is not None else ()
    return list({one.index: one for one in citations}.values())


def judged(catalog: Catalog, sha1hex: str, paper: Paper | None) -> Judged:
    """Which work a paper is."""
    if paper is None:
        return Judged(
            sha1hex, Match(status=MatchStatus.NONE, reason=MatchReason.NO_BIBLIOGRAPHY), 0
        )
    return Judged(sha1hex, find(catalog, of_paper(paper)), len(references_of(paper)))


def citation_row(
    sha1hex: str, number: int, told: tuple[str, str | None], match: Match, now: datetime
) -> CitationRow:
    """A reference, as printed and with the DOI it states, and what it was matched with."""
    reference, told_doi = told
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


def keep(
    table: Table, records: Records, journal: str, found: Sequence[Judged], now: datetime
) -> None:
    """Cells and rows of papers; what an earlier match said and this one does not is gone."""
    table.put(journal, [(row_key(one.sha1hex), _cells(one.match)) for one in found])
    without = [row_key(one.sha1hex) for one in found if one.match.doi is None]
    if without:
        table.delete(journal, without, [MATCH_DOI])
    for one in found:
        known = records.find(CitationRow, {"sha1hex": one.sha1hex})
        stale = [row.number for row in known if row.number >= one.reference_count]
        records.delete(CitationRow, [(one.sha1hex, number) for number in stale])
    rows = [_row(one, now) for one in found]
    records.put([*rows, *map(fixity_of_row, rows)])


def _cells(match: Match) -> dict[str, bytes]:
    told = {"extractor": MATCH_VERSION, **msgspec.to_builtins(match)}
    cells = {MATCH_STATUS: match.status.encode(), MATCH_INFO: msgspec.json.encode(told)}
    return cells | ({MATCH_DOI: match.doi.encode()} if match.doi else {})


def _row(one: Judged, now: datetime) -> MatchRow:
    return MatchRow(
        sha1hex=one.sha1hex,
        updated=now,
        status=str(one.match.status),
        reason=str(one.match.reason),
        work=one.match.work,
        doi=one.match.doi,
        evidence=evidence(one.match),
        reference_count=one.reference_count,
        extractor=MATCH_VERSION,
    )
