"""Bulk job that reads a collection's documents into term counts and document frequencies.

An engine runs the job in several processes and reads each text once. The counts of each page of
documents go into a row of the table `readings`, keyed by the clustering being built and the page
number. The rows are deleted after they are collected. The results of the job are the document
frequencies: the number of documents that contain each term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fonds.grouping.algorithms.corpus import TermReader, TermSlice
from fonds.grouping.algorithms.term_counts import count_documents
from fonds.grouping.clustering import StoredClustering
from fonds.grouping.clustering_model import write_chunks
from fonds.grouping.columns import Column
from fonds.grouping.configuration import Configuration
from fonds.grouping.rebuild.bulk_slices import (
    MARK,
    KeyRange,
    build_page_key,
    decode_record,
    encode_page,
    encode_record,
    iter_rows,
)
from fonds.grouping.rebuild.reader import read_page
from fonds.grouping.stored.chunks import split
from fonds.grouping.tables import READINGS, Tables
from fonds.ports import Job
from fonds.ports.stores import close

TERM = b"t"
_TERM_ENDS = b"\x00"
_TERM_RANGES = (b"t", b"tc", b"te", b"ti", b"tm", b"tp", b"ts", b"tu")
SLICE_RANGES = 8

OpenTables = Callable[[], Tables]
"""Function that opens the tables of collections in the process that does the work.

The caller closes the store of the tables with `close`.
"""


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reader of the bulk job that counts the terms of documents.

    For each key range it yields one record per page of documents with their counts, if
    `keeps_pages`, and one record per term with its document frequency.

    `open_tables`: function that opens the tables.
    `clustering`: the clustering being built.
    `last_change`: number of the last collection change (batch of added or deleted documents) to
        include; documents that a later change wrote are skipped.
    `configuration`: configuration of the clustering.
    `usual_language`: two-letter language of texts that state none.
    `keeps_pages`: whether to yield the records with the counts of pages.
    """

    open_tables: OpenTables
    clustering: StoredClustering
    last_change: int
    configuration: Configuration
    usual_language: str
    keeps_pages: bool

    def __call__(self, part: KeyRange) -> Iterator[bytes]:
        """Read the documents in one key range and yield their term counts as records.

        These are one record per page of documents, if pages are kept, then one per term with its
        document frequency. The empty term has the number of documents.
        """
        tables, reader = self.open_tables(), TermReader()
        counts: Counter[int] = Counter()
        documents = 0
        try:
            for number, rows in enumerate(iter_rows(tables, self.clustering.name, part)):
                page = read_page(
                    rows, self.last_change, self.configuration, self.usual_language, reader
                )
                documents += len(page.ids)
                _count(counts, page.terms)
                if self.keeps_pages:
                    value = encode_page(page, reader.vocabulary)
                    yield encode_record(part.number, number, value)
        finally:
            close(tables.store)
        yield _encode_count("", documents)
        for number, term in enumerate(reader.vocabulary.numbers):
            yield _encode_count(term, counts[number])


@dataclass(frozen=True, slots=True)
class PageWriter:
    """Writer of the bulk job that counts terms: it stores pages and sums document frequencies.

    `open_tables`: function that opens the tables.
    `clustering`: the clustering being built.
    """

    open_tables: OpenTables
    clustering: StoredClustering

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Store the records of pages, and yield one result per term.

        A result is the term, a NUL byte, and the number of documents that contain the term. The
        empty term has the number of all documents.
        `records`: records of the readers, sorted.
        """
        tables = self.open_tables()
        try:
            for term, term_records in groupby(records, key=_decode_term):
                if term is not None:
                    yield term + _TERM_ENDS + b"%d" % sum(map(_decode_record_count, term_records))
                    continue
                for record in term_records:
                    key, value = decode_record(record)
                    write_chunks(
                        tables, READINGS, self.clustering.row + key, Column.SLICE, split(value)
                    )
        finally:
            close(tables.store)


def build_reading_job(read: DocumentReader, parts: tuple[KeyRange, ...], fingerprint: str) -> Job:
    """Return the bulk job that reads a collection into term counts and document frequencies.

    `read`: reader of one key range.
    `parts`: key ranges of the collection's documents.
    `fingerprint`: name of this run, which must be new each time because collections change.
    """
    step = max(1, -(-len(parts) // SLICE_RANGES))
    pages = tuple(build_page_key(number, 0) for number in range(step, len(parts), step))
    return Job(
        name=f"group-{fingerprint}",
        parts=parts,
        read=read,
        ranges=(*pages, *_TERM_RANGES),
        write=PageWriter(read.open_tables, read.clustering),
    )


def collect_frequencies(results: Iterator[bytes]) -> tuple[int, Iterator[tuple[str, int]]]:
    """Return the number of documents, and an iterator over (term, document frequency) pairs.

    The document frequency of a term is the number of documents that contain it. Terms are in order.
    `results`: results of the job that reads a collection.
    """
    first = next(results, _TERM_ENDS + b"0")
    return int(first.partition(_TERM_ENDS)[2]), map(_decode_count, results)


def _count(counts: Counter[int], page: TermSlice) -> None:
    frequencies = count_documents(page.frequencies)
    terms = np.flatnonzero(frequencies)
    counts.update(dict(zip(terms.tolist(), frequencies[terms].tolist(), strict=True)))


def _encode_count(term: str, documents: int) -> bytes:
    return TERM + term.encode("utf-8", "replace") + _TERM_ENDS + b"%d" % documents


def _decode_term(record: bytes) -> bytes | None:
    """Return the term, in UTF-8, whose document frequency a record of the job holds.

    Return None for a record that holds a page of documents.
    """
    return None if record.startswith(MARK) else record[len(TERM) :].rpartition(_TERM_ENDS)[0]


def _decode_record_count(record: bytes) -> int:
    return int(record.rpartition(_TERM_ENDS)[2])


def _decode_count(result: bytes) -> tuple[str, int]:
    term, _, count = result.rpartition(_TERM_ENDS)
    return term.decode("utf-8", "replace"), int(count)
