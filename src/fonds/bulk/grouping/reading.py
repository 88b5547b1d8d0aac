"""The job that reads a collection: every text once, by several processes, into term counts and document
frequencies.

The pages of documents go into rows of the table `readings` (f2' of the clustering that is built, and the
page's number), which are removed when they were gathered; the document frequencies are the job's results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fonds.bulk.grouping.parts import Stretch, rows_of
from fonds.bulk.grouping.slices import MARK, from_record, key_of, to_record, to_value
from fonds.collections.building.models import put_chunks
from fonds.collections.building.reading_in import read_page
from fonds.collections.clusterings import Known
from fonds.collections.configurations import Configuration
from fonds.collections.tables import READINGS, Tables
from fonds.formats.grouping.chunks import split
from fonds.grouping.text.counting import document_counts
from fonds.grouping.text.reading import Reader, Slice
from fonds.ports import Job
from fonds.ports.closing import close

SLICE = "main:slice"
TERM = b"t"
_TERM_ENDS = b"\x00"
_TERM_RANGES = (b"t", b"tc", b"te", b"ti", b"tm", b"tp", b"ts", b"tu")
SLICE_RANGES = 8

OpenTables = Callable[[], Tables]
"""Opens the tables where the work is done; what it opens is closed by `close`."""


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """The `read` of the job: of each page a record with all that is counted, where pages are kept, and of
    each term one with the number of documents it stands in.

    `until`: the number of the last change of documents that are read; `usual`: the language of texts that
    say none.
    """

    open_tables: OpenTables
    one: Known
    until: int
    configuration: Configuration
    usual: str
    keeps_pages: bool

    def __call__(self, part: Stretch) -> Iterator[bytes]:
        """The records of one stretch."""
        tables, reader = self.open_tables(), Reader()
        counts: Counter[int] = Counter()
        documents = 0
        try:
            for number, rows in enumerate(rows_of(tables, self.one.name, part)):
                page = read_page(rows, self.until, self.configuration, self.usual, reader)
                documents += len(page.ids)
                _count(counts, page.terms)
                if self.keeps_pages:
                    value = to_value(page, reader.vocabulary)
                    yield to_record(part.number, number, value)
        finally:
            close(tables.store)
        yield _counted("", documents)
        for number, term in enumerate(reader.vocabulary.numbers):
            yield _counted(term, counts[number])


@dataclass(frozen=True, slots=True)
class WriteReadings:
    """The `write` of the job: pages into their rows, document frequencies summed up."""

    open_tables: OpenTables
    one: Known

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """A result for each term: the term, a NUL, in how many documents it stands; of the empty term, how
        many documents there are."""
        tables = self.open_tables()
        try:
            for term, some in groupby(records, key=_term):
                if term is not None:
                    yield term + _TERM_ENDS + b"%d" % sum(map(_count_of, some))
                    continue
                for record in some:
                    key, value = from_record(record)
                    put_chunks(tables, READINGS, self.one.row + key, SLICE, split(value))
        finally:
            close(tables.store)


def reading_job(read: ReadDocuments, parts: tuple[Stretch, ...], fingerprint: str) -> Job:
    """Reads a collection; `fingerprint` is new each time, for collections change."""
    step = max(1, -(-len(parts) // SLICE_RANGES))
    pages = tuple(key_of(number, 0) for number in range(step, len(parts), step))
    return Job(
        name=f"group-{fingerprint}",
        parts=parts,
        read=read,
        ranges=(*pages, *_TERM_RANGES),
        write=WriteReadings(read.open_tables, read.one),
    )


def frequencies_of(results: Iterator[bytes]) -> tuple[int, Iterator[tuple[str, int]]]:
    """How many documents there are, and of each term, in order, in how many it stands."""
    first = next(results, _TERM_ENDS + b"0")
    return int(first.partition(_TERM_ENDS)[2]), map(_told, results)


def _count(counts: Counter[int], page: Slice) -> None:
    of_page = document_counts(page.frequencies)
    met = np.flatnonzero(of_page)
    counts.update(dict(zip(met.tolist(), of_page[met].tolist(), strict=True)))


def _counted(term: str, documents: int) -> bytes:
    return TERM + term.encode("utf-8", "replace") + _TERM_ENDS + b"%d" % documents


def _term(record: bytes) -> bytes | None:
    """The term a record counts; None for a page."""
    return None if record.startswith(MARK) else record[len(TERM) :].rpartition(_TERM_ENDS)[0]


def _count_of(record: bytes) -> int:
    return int(record.rpartition(_TERM_ENDS)[2])


def _told(result: bytes) -> tuple[str, int]:
    term, _, count = result.rpartition(_TERM_ENDS)
    return term.decode("utf-8", "replace"), int(count)
