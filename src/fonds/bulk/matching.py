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

from fonds.bibliography.paper import Paper
from fonds.bibliography.printing import printed
from fonds.bulk.captures.tallies import Tallies
from fonds.catalog.finding import find
from fonds.catalog.keys import author_prefix, name_part, title_prefix, work_key
from fonds.catalog.matching.judging import Match
from fonds.catalog.matching.sought import Sought, of_citation, of_paper
from fonds.catalog.store import Catalog
from fonds.catalog.works.slugs import slug
from fonds.formats.journal import split_key
from fonds.model.disposition import Verdict
from fonds.model.prepared import prepared
from fonds.model.rows import CitationRow, DispositionRow, EntryRow, FileMetaRow
from fonds.ports import Job, RecordsWithLedger, Table
from fonds.ports.closing import close
from fonds.ports.walking import walk_rows
from fonds.steps.paper.match import (
    READ_COLUMNS,
    Judged,
    citation_row,
    keep,
    paper_in,
    references_of,
)

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


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record of the job: whose it is, what is looked for, and what the row says besides. `number` None is
    the paper itself."""

    sha1hex: str
    sought: Sought
    number: int | None = None
    reference_count: int = 0
    reference: str = ""
    told_doi: str | None = None


@dataclass(frozen=True, slots=True)
class ReadSought:
    """The `read` of the job: a part is the byte its keys begin with."""

    open_table: Callable[[], Table]
    journal: str
    what: str

    def __call__(self, part: int) -> Iterator[bytes]:
        """A record for each paper, or each reference."""
        table = self.open_table()
        try:
            for sha1hex, paper in self._papers(table, bytes([part])):
                for one in _asked(sha1hex, paper, self.what):
                    yield _first_key(one.sought) + b"\t" + msgspec.json.encode(one)
        finally:
            close(table)

    def _papers(self, table: Table, prefix: bytes) -> Iterator[tuple[str, Paper]]:
        rows = walk_rows(table, self.journal, prefix, columns=READ_COLUMNS, page_rows=SCAN_ROWS)
        for key, cells in rows:
            try:
                sha1hex, capture_id = split_key(key)
            except ValueError:
                continue
            paper = paper_in(cells) if capture_id is None else None
            if paper is not None:
                yield sha1hex, paper


@dataclass(frozen=True, slots=True)
class WriteMatches:
    """The `write` of the job; stores are opened where it is done."""

    open_table: Callable[[], Table]
    open_records: Callable[[], RecordsWithLedger]
    journal: str
    catalog: str
    now: datetime

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Counts by status and reason."""
        table, stored = self.open_table(), self.open_records()
        batch, tallies = _Batch(), Tallies()
        finder = _Finder(Catalog(table, self.catalog))
        try:
            for record in records:
                one = _asked_in(record)
                match = finder(one.sought)
                tallies.note(f"{match.status} {match.reason}")
                batch.add(one, match, self.now)
                if batch.is_full():
                    batch.put(table, stored, self.journal, self.now)
                    batch = _Batch()
            batch.put(table, stored, self.journal, self.now)
        finally:
            close(table, stored)
        yield from tallies.records()


def matching_job(
    what: str,
    stores: tuple[Callable[[], Table], Callable[[], RecordsWithLedger], str, str],
    now: datetime,
    fingerprint: str,
) -> Job:
    """`what` is `papers` or `references`; `stores` open table and records, and name journal and catalogue.
    `fingerprint` is new each time, for journal and catalogue change."""
    open_table, open_records, journal, catalog = stores
    return Job(
        name=f"match-{what}-{fingerprint}",
        parts=tuple(range(256)),
        read=ReadSought(open_table, journal, what),
        ranges=RANGES,
        write=WriteMatches(open_table, open_records, journal, catalog, now),
    )


@dataclass(slots=True)
class _Finder:
    """Looks for what comes twice in a row once."""

    catalog: Catalog
    sought: Sought | None = None
    match: Match | None = None

    def __call__(self, sought: Sought) -> Match:
        if self.match is None or sought != self.sought:
            self.sought, self.match = sought, find(self.catalog, sought)
        return self.match


@dataclass(slots=True)
class _Batch:
    """Rows that are written together."""

    papers: list[Judged] = field(default_factory=list)
    cited: list[CitationRow] = field(default_factory=list)

    def add(self, one: Asked, match: Match, now: datetime) -> None:
        if one.number is None:
            self.papers.append(Judged(one.sha1hex, match, one.reference_count))
            return
        told = (one.reference, one.told_doi)
        self.cited.append(citation_row(one.sha1hex, one.number, told, match, now))

    def is_full(self) -> bool:
        return len(self.papers) + len(self.cited) >= BATCH

    def put(self, table: Table, records: RecordsWithLedger, journal: str, now: datetime) -> None:
        if self.cited:
            records.put(self.cited)
        if self.papers:
            keep(table, records, journal, self.papers, now)
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
        _ending(owner, failed.get(owner.sha1hex), now)
        for owner in owners
        if owner.capture_id in found
    ]
    if ended:
        records.ledger.enter([], entered, ())
        records.ledger.write(ended)


def _ending(owner: FileMetaRow, before: DispositionRow | None, now: datetime) -> DispositionRow:
    """The disposition of a paper's message; of the message that failed, where there is one."""
    return DispositionRow(
        message_id=before.message_id if before else f"{owner.capture_id}.{MATCH}",
        pipeline=MATCH,
        step=MATCH,
        entry_id=before.entry_id if before else owner.capture_id,
        parent_id=before.parent_id if before else None,
        parent_step=before.parent_step if before else None,
        verdict=str(Verdict.DONE),
        is_open=False,
        reason=None,
        detail="matched in bulk",
        about=owner.sha1hex,
        attempt=before.attempt if before else 0,
        promised_at=before.promised_at if before else now,
        settled_at=now,
    )


def _asked(sha1hex: str, paper: Paper, what: str) -> Iterator[Asked]:
    references = references_of(paper)
    if what == PAPERS:
        yield Asked(sha1hex, of_paper(paper), reference_count=len(references))
        return
    for one in references:
        yield Asked(
            sha1hex,
            of_citation(one),
            number=one.index,
            reference=printed(one),
            told_doi=one.doi,
        )


def _asked_in(record: bytes) -> Asked:
    return msgspec.json.decode(record.partition(b"\t")[2], type=prepared(Asked))


def _first_key(sought: Sought) -> bytes:
    """Where the catalogue is read first for this."""
    titles: Sequence[str] = sought.titles
    if sought.ids:
        key = work_key(sought.ids[0])
    elif titles:
        key = title_prefix(slug(titles[0]))
    elif sought.surname and name_part(sought.surname):
        key = author_prefix(sought.surname, sought.year, sought.volume)
    else:
        key = _NOWHERE
    return key.replace(b"\t", b" ").replace(b"\n", b" ")
