"""Match papers, or the references that they cite, against the catalogue of works in bulk.

The job writes the same rows as the pipeline step `match`. It sorts the queries by the catalogue key
that each of them reads first, so that it reads the catalogue from beginning to end. Consecutive
queries read the same pages of the table. A work that is cited a thousand times is looked up once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from fonds.bulk.tallies import ExampleCounts
from fonds.model.bibliography import Paper
from fonds.model.disposition import Verdict
from fonds.model.encoding import prepare_type
from fonds.model.rows import CitationRow, DispositionRow, EntryRow, FileMetaRow
from fonds.papers.bibliography.paper import format_citation
from fonds.papers.catalog.lookup import find
from fonds.papers.catalog.match import Match
from fonds.papers.catalog.match_query import MatchQuery, build_citation_query, build_paper_query
from fonds.papers.catalog.slugs import build_slug
from fonds.papers.catalog.store import (
    Catalog,
    build_author_prefix,
    build_title_prefix,
    build_work_key,
    fold_surname,
)
from fonds.papers.match_step import (
    PAPER_COLUMNS,
    MatchedPaper,
    build_citation_row,
    list_references,
    load_paper,
    save_matches,
)
from fonds.ports import Job, RecordsWithLedger, Table
from fonds.ports.scan import iter_rows
from fonds.ports.stores import close
from fonds.stores.journal_table.keys import split_key

SCAN_ROWS, BATCH = 50, 200
PAPERS, REFERENCES = "papers", "references"
RANGES = (
    b"ac",
    b"ai",
    b"aq",
    b"tc",
    b"tg",
    b"tn",
    b"ts",
    b"w",
    b"wdoi:10.1016",
    b"wdoi:10.11",
    b"wdoi:10.2",
)
"""Boundaries of the ranges of sorted query keys. One writer looks up the queries of each range."""
_LAST_KEY = b"z"
MATCH = "match"
"""Name of the step whose dispositions the job writes, and of the pipeline for entries of the job.
"""


class MatchRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Query of the job: a paper, or one reference of a paper.

    - `sha1hex`: SHA-1 of the paper.
    - `query`: metadata to look up in the catalogue.
    - `number`: index of the reference from 0; None for the paper itself.
    - `reference_count`: number of references of the paper that are matched; 0 in a query for a
      reference.
    - `reference`: reference as printed.
    - `printed_doi`: DOI in the printed reference; None if it has none.
    """

    sha1hex: str
    query: MatchQuery
    number: int | None = None
    reference_count: int = 0
    reference: str = ""
    printed_doi: str | None = None


@dataclass(frozen=True, slots=True)
class MatchRequestReader:
    """Function of the bulk job that reads papers from the wide-row table and yields queries.

    The job calls it once for each part of the table. A part is given by the first byte of its keys.

    - `open_table`: function that opens the store of wide-row tables.
    - `journal`: name of the table of files.
    - `subject`: `papers` or `references`.
    """

    open_table: Callable[[], Table]
    journal: str
    subject: str

    def __call__(self, part: int) -> Iterator[bytes]:
        """Yield queries for all papers, or all references, in one part of the table.

        `part` is the first byte of the row keys. Each query is a catalogue key, a tab and JSON. The
        job sorts the queries by this key.
        """
        table = self.open_table()
        try:
            for sha1hex, paper in self._iter_papers(table, bytes([part])):
                for request in _iter_requests(sha1hex, paper, self.subject):
                    yield _catalog_key(request.query) + b"\t" + msgspec.json.encode(request)
        finally:
            close(table)

    def _iter_papers(self, table: Table, prefix: bytes) -> Iterator[tuple[str, Paper]]:
        rows = iter_rows(table, self.journal, prefix, columns=PAPER_COLUMNS, page_rows=SCAN_ROWS)
        for key, cells in rows:
            try:
                sha1hex, capture_id = split_key(key)
            except ValueError:
                continue
            paper = load_paper(cells) if capture_id is None else None
            if paper is not None:
                yield sha1hex, paper


@dataclass(frozen=True, slots=True)
class MatchWriter:
    """Function of the bulk job that looks up queries in the catalogue and writes the results.

    The stores are opened in the process that runs the function.

    - `open_table`, `open_records`: functions that open the wide-row tables and the SQL tables.
    - `journal`, `catalog`: names of the wide-row tables of files and of the catalogue.
    - `started_at`: time that is written to the results.
    """

    open_table: Callable[[], Table]
    open_records: Callable[[], RecordsWithLedger]
    journal: str
    catalog: str
    started_at: datetime

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Look up the queries `records` in the catalogue and write the results.

        Then yield the encoded number of queries for each status and reason of a match.
        """
        table, library_records = self.open_table(), self.open_records()
        batch, tallies = _MatchBatch(), ExampleCounts()
        finder = _CachedMatcher(Catalog(table, self.catalog))
        try:
            for record in records:
                request = _decode_request(record)
                match = finder(request.query)
                tallies.count_one(f"{match.status} {match.reason}")
                batch.add(request, match, self.started_at)
                if batch.is_full():
                    batch.write(table, library_records, self.journal, self.started_at)
                    batch = _MatchBatch()
            batch.write(table, library_records, self.journal, self.started_at)
        finally:
            close(table, library_records)
        yield from tallies.iter_records()


def build_matching_job(
    subject: str,
    stores: tuple[Callable[[], Table], Callable[[], RecordsWithLedger], str, str],
    now: datetime,
    fingerprint: str,
) -> Job:
    """Build the bulk job that matches all papers, or all references, against the catalogue.

    - `subject`: `papers` or `references`.
    - `stores`: function that opens the wide-row tables, function that opens the SQL tables, name of
      the wide-row table of files, name of the catalogue's table.
    - `now`: time that is written to the results.
    - `fingerprint`: part of the job's name. It must differ in each run, because the tables change
      between runs.
    """
    open_table, open_records, journal, catalog = stores
    return Job(
        name=f"match-{subject}-{fingerprint}",
        parts=tuple(range(256)),
        read=MatchRequestReader(open_table, journal, subject),
        ranges=RANGES,
        write=MatchWriter(open_table, open_records, journal, catalog, now),
    )


@dataclass(slots=True)
class _CachedMatcher:
    """Matcher of queries and works of the catalogue that keeps its last result.

    If consecutive queries are equal, the catalogue is read only once.
    """

    catalog: Catalog
    query: MatchQuery | None = None
    match: Match | None = None

    def __call__(self, query: MatchQuery) -> Match:
        if self.match is None or query != self.query:
            self.query, self.match = query, find(self.catalog, query)
        return self.match


@dataclass(slots=True)
class _MatchBatch:
    """Results for papers and references, collected to be written in one batch."""

    papers: list[MatchedPaper] = field(default_factory=list)
    cited: list[CitationRow] = field(default_factory=list)

    def add(self, request: MatchRequest, match: Match, now: datetime) -> None:
        if request.number is None:
            self.papers.append(MatchedPaper(request.sha1hex, match, request.reference_count))
            return
        printed_reference = (request.reference, request.printed_doi)
        self.cited.append(
            build_citation_row(request.sha1hex, request.number, printed_reference, match, now)
        )

    def is_full(self) -> bool:
        return len(self.papers) + len(self.cited) >= BATCH

    def write(self, table: Table, records: RecordsWithLedger, journal: str, now: datetime) -> None:
        if self.cited:
            records.put(self.cited)
        if self.papers:
            save_matches(table, records, journal, self.papers, now)
            _write_endings(records, [paper.sha1hex for paper in self.papers], now)


def _write_endings(records: RecordsWithLedger, sha1hexes: Sequence[str], now: datetime) -> None:
    """Record in the ledger that these papers are matched.

    The dispositions (final statuses of messages) are those that the step `match` would write in the
    pipeline `match`. A paper keeps its disposition if the step has finished it or is working on it.
    """
    conditions = {"about": list(sha1hexes), "step": MATCH}
    rows = list(records.find(DispositionRow, conditions))
    settled_sha1hexes = {row.about for row in rows if row.is_open or row.verdict == Verdict.DONE}
    files = [
        row
        for row in records.get(FileMetaRow, list(sha1hexes))
        if row.sha1hex not in settled_sha1hexes
    ]
    captures = {row.capture_id for row in files}
    entries = {row.entry_id: row for row in records.find(EntryRow, {"entry_id": sorted(captures)})}
    match_entries = [
        EntryRow(
            entry.entry_id,
            MATCH,
            entry.kind,
            entry.input_id if entry.pipeline == MATCH else "",
            entry.url,
            entry.seen,
            entry.place,
            entry.collection,
            now,
        )
        for entry in entries.values()
    ]
    failed_rows = {
        row.about: row
        for row in rows
        if row.about not in settled_sha1hexes and row.pipeline == MATCH
    }
    dispositions = [
        _build_ending(owner, failed_rows.get(owner.sha1hex), now)
        for owner in files
        if owner.capture_id in entries
    ]
    if dispositions:
        records.ledger.enter([], match_entries, ())
        records.ledger.write(dispositions)


def _build_ending(
    owner: FileMetaRow, previous: DispositionRow | None, now: datetime
) -> DispositionRow:
    """Build the row which records that a paper was matched in bulk.

    `previous` is the row of an earlier failed attempt; the new row has the same ids and replaces
    it. Without one, the ids come from the capture of the paper.
    """
    return DispositionRow(
        message_id=previous.message_id if previous else f"{owner.capture_id}.{MATCH}",
        pipeline=MATCH,
        step=MATCH,
        entry_id=previous.entry_id if previous else owner.capture_id,
        parent_id=previous.parent_id if previous else None,
        parent_step=previous.parent_step if previous else None,
        verdict=str(Verdict.DONE),
        is_open=False,
        reason=None,
        detail="matched in bulk",
        about=owner.sha1hex,
        attempt=previous.attempt if previous else 0,
        promised_at=previous.promised_at if previous else now,
        settled_at=now,
    )


def _iter_requests(sha1hex: str, paper: Paper, subject: str) -> Iterator[MatchRequest]:
    references = list_references(paper)
    if subject == PAPERS:
        yield MatchRequest(sha1hex, build_paper_query(paper), reference_count=len(references))
        return
    for citation in references:
        yield MatchRequest(
            sha1hex,
            build_citation_query(citation),
            number=citation.index,
            reference=format_citation(citation),
            printed_doi=citation.doi,
        )


def _decode_request(record: bytes) -> MatchRequest:
    return msgspec.json.decode(record.partition(b"\t")[2], type=prepare_type(MatchRequest))


def _catalog_key(query: MatchQuery) -> bytes:
    """Return the first key of the catalogue table that the lookup of a query reads.

    The job sorts queries by this key.
    """
    titles: Sequence[str] = query.titles
    if query.ids:
        key = build_work_key(query.ids[0])
    elif titles:
        key = build_title_prefix(build_slug(titles[0]))
    elif query.surname and fold_surname(query.surname):
        key = build_author_prefix(query.surname, query.year, query.volume)
    else:
        key = _LAST_KEY
    return key.replace(b"\t", b" ").replace(b"\n", b" ")
