"""Papers, or the references they cite, matched with the catalogue in bulk: the same rows as the step's.

What is looked for is brought into the order of the key it is looked up by first, and so walks the catalogue
from its beginning to its end: neighbours read the same pages of the table, and what is cited a thousand
times comes together and is looked for once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from fonds.bulk.tallies import ExampleCounts
from fonds.model.disposition import Verdict
from fonds.model.encoding import prepare_type
from fonds.model.rows import CitationRow, DispositionRow, EntryRow, FileMetaRow
from fonds.papers.bibliography.paper import Paper, format_citation
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
"""Where the keys of what is looked for are divided among writers."""
_NOWHERE = b"z"
MATCH = "match"
"""The step the job stands for, and the pipeline that has no other."""


class MatchRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record of the job: whose it is, what is looked for, and what the row says besides. `number` None is
    the paper itself."""

    sha1hex: str
    sought: MatchQuery
    number: int | None = None
    reference_count: int = 0
    reference: str = ""
    told_doi: str | None = None


@dataclass(frozen=True, slots=True)
class MatchRequestReader:
    """The `read` of the job: a part is the byte its keys begin with."""

    open_table: Callable[[], Table]
    journal: str
    subject: str

    def __call__(self, part: int) -> Iterator[bytes]:
        """A record for each paper, or each reference."""
        table = self.open_table()
        try:
            for sha1hex, paper in self._iter_papers(table, bytes([part])):
                for one in _iter_requests(sha1hex, paper, self.subject):
                    yield _catalog_key(one.sought) + b"\t" + msgspec.json.encode(one)
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
    """The `write` of the job; stores are opened where it is done."""

    open_table: Callable[[], Table]
    open_records: Callable[[], RecordsWithLedger]
    journal: str
    catalog: str
    started_at: datetime

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Counts by status and reason."""
        table, stored = self.open_table(), self.open_records()
        batch, tallies = _MatchBatch(), ExampleCounts()
        finder = _CachedMatcher(Catalog(table, self.catalog))
        try:
            for record in records:
                one = _decode_request(record)
                match = finder(one.sought)
                tallies.count_one(f"{match.status} {match.reason}")
                batch.add(one, match, self.started_at)
                if batch.is_full():
                    batch.write(table, stored, self.journal, self.started_at)
                    batch = _MatchBatch()
            batch.write(table, stored, self.journal, self.started_at)
        finally:
            close(table, stored)
        yield from tallies.iter_records()


def build_matching_job(
    subject: str,
    stores: tuple[Callable[[], Table], Callable[[], RecordsWithLedger], str, str],
    now: datetime,
    fingerprint: str,
) -> Job:
    """`subject` is `papers` or `references`; `stores` open table and records, and name journal and catalogue.
    `fingerprint` is new each time, for journal and catalogue change."""
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
    """Looks for what comes twice in a row once."""

    catalog: Catalog
    query: MatchQuery | None = None
    match: Match | None = None

    def __call__(self, query: MatchQuery) -> Match:
        if self.match is None or query != self.query:
            self.query, self.match = query, find(self.catalog, query)
        return self.match


@dataclass(slots=True)
class _MatchBatch:
    """Rows that are written together."""

    papers: list[MatchedPaper] = field(default_factory=list)
    cited: list[CitationRow] = field(default_factory=list)

    def add(self, request: MatchRequest, match: Match, now: datetime) -> None:
        if request.number is None:
            self.papers.append(MatchedPaper(request.sha1hex, match, request.reference_count))
            return
        told = (request.reference, request.told_doi)
        self.cited.append(build_citation_row(request.sha1hex, request.number, told, match, now))

    def is_full(self) -> bool:
        return len(self.papers) + len(self.cited) >= BATCH

    def write(self, table: Table, records: RecordsWithLedger, journal: str, now: datetime) -> None:
        if self.cited:
            records.put(self.cited)
        if self.papers:
            save_matches(table, records, journal, self.papers, now)
            _write_endings(records, [one.sha1hex for one in self.papers], now)


def _write_endings(records: RecordsWithLedger, sha1hexes: Sequence[str], now: datetime) -> None:
    """Write the dispositions that the step `match` would have written for these papers, into the pipeline
    `match`. A paper that the step is done with, or works on, keeps what the ledger says."""
    where = {"about": list(sha1hexes), "step": MATCH}
    rows = list(records.find(DispositionRow, where))
    kept = {row.about for row in rows if row.is_open or row.verdict == Verdict.DONE}
    owners = [row for row in records.get(FileMetaRow, list(sha1hexes)) if row.sha1hex not in kept]
    captures = {row.capture_id for row in owners}
    found = {row.entry_id: row for row in records.find(EntryRow, {"entry_id": sorted(captures)})}
    entered = [
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
        for entry in found.values()
    ]
    failed = {row.about: row for row in rows if row.about not in kept and row.pipeline == MATCH}
    ended = [
        _build_ending(owner, failed.get(owner.sha1hex), now)
        for owner in owners
        if owner.capture_id in found
    ]
    if ended:
        records.ledger.enter([], entered, ())
        records.ledger.write(ended)


def _build_ending(
    owner: FileMetaRow, previous: DispositionRow | None, now: datetime
) -> DispositionRow:
    """The disposition of a paper's message; of the message that failed, where there is one."""
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
    for one in references:
        yield MatchRequest(
            sha1hex,
            build_citation_query(one),
            number=one.index,
            reference=format_citation(one),
            told_doi=one.doi,
        )


def _decode_request(record: bytes) -> MatchRequest:
    return msgspec.json.decode(record.partition(b"\t")[2], type=prepare_type(MatchRequest))


def _catalog_key(query: MatchQuery) -> bytes:
    """Where the catalogue is read first for this."""
    titles: Sequence[str] = query.titles
    if query.ids:
        key = build_work_key(query.ids[0])
    elif titles:
        key = build_title_prefix(build_slug(titles[0]))
    elif query.surname and fold_surname(query.surname):
        key = build_author_prefix(query.surname, query.year, query.volume)
    else:
        key = _NOWHERE
    return key.replace(b"\t", b" ").replace(b"\n", b" ")
