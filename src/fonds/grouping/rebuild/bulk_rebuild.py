"""Bulk passes of a rebuild, run by an engine in several processes.

The passes read a collection into a `Corpus` of term counts, and write documents' placements.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice

import msgspec

from fonds.grouping.algorithms.terms import TERMS_MAX, Vocabulary
from fonds.grouping.clustering import Placement, StoredClustering
from fonds.grouping.clustering_model import get_chunks
from fonds.grouping.columns import Column
from fonds.grouping.configuration import Configuration
from fonds.grouping.rebuild.bulk_reader import (
    DocumentReader,
    OpenTables,
    build_reading_job,
    collect_frequencies,
)
from fonds.grouping.rebuild.bulk_slices import PART_DOCUMENTS, decode_page, split_key_ranges
from fonds.grouping.rebuild.reader import Corpus, StoreEncoded, create_corpus, detect_usual_language
from fonds.grouping.rebuild.rows import PlacedDocument, iter_batches, write_batch
from fonds.grouping.stored.chunks import join_chunks
from fonds.grouping.tables import READINGS, Tables
from fonds.model.encoding import prepare_type
from fonds.ports import Engine, Job
from fonds.ports.stores import close

# Job that writes the placements in a new clustering: rows of members, assignments and scores
#
# A part of the job is a batch of placements as compressed MessagePack. Its record is the part's
# number in ten digits, a space, and the base64 of the batch. Writing a part twice is harmless: the
# rows are the same.


PART_PLACES = 10_000
RANGES = 16
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class PlacementWriter:
    """Writer of the bulk job that writes the placements of documents in a new clustering.

    `open_tables`: function that opens the tables.
    `clustering`: the new clustering.
    """

    open_tables: OpenTables
    clustering: StoredClustering

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Write to the tables the placements that some records of the job contain.

        Yield one result: the number of placements written, in decimal digits.
        """
        tables, count = self.open_tables(), 0
        try:
            for record in records:
                places = _unpack_placements(b64decode(record.partition(b" ")[2]))
                for batch in iter_batches(iter(places)):
                    write_batch(tables, self.clustering, batch)
                count += len(places)
        finally:
            close(tables.store)
        yield b"%d" % count


def build_placement_job(
    open_tables: OpenTables,
    clustering: StoredClustering,
    placements: Iterator[PlacedDocument],
    fingerprint: str,
) -> Job:
    """Return the bulk job that writes placements of documents in a new clustering.

    All placements are compressed and held in memory.
    `fingerprint`: name of this run, which must be new each time.
    """
    parts: list[tuple[int, bytes]] = []
    while batch := list(islice(placements, PART_PLACES)):
        fields = [
            (id_, placement.conf, placement.label, placement.score, placement.original)
            for id_, placement in batch
        ]
        parts.append((len(parts), zlib.compress(msgspec.msgpack.encode(fields), _LEVEL)))
    step = max(1, -(-len(parts) // RANGES))
    return Job(
        name=f"group-{fingerprint}",
        parts=tuple(parts),
        read=iter_record,
        ranges=tuple(b"%010d" % number for number in range(step, len(parts), step)),
        write=PlacementWriter(open_tables, clustering),
    )


def iter_record(part: tuple[int, bytes]) -> Iterator[bytes]:
    """Yield the one record for a part (batch of placements) of the job.

    It is the number of the part in ten digits, a space, and the placements in base64.
    `part`: number of the part, and its compressed placements.
    """
    number, packed_placements = part
    yield b"%010d " % number + b64encode(packed_placements)


def _unpack_placements(packed_placements: bytes) -> list[PlacedDocument]:
    """Decompress and decode one batch of placements, as `build_placement_job` packs it."""
    fields = msgspec.msgpack.decode(
        zlib.decompress(packed_placements),
        type=prepare_type(list[tuple[str, str, str, bytes, str]]),
    )
    return [
        (id_, Placement(conf, label, score, original))
        for id_, conf, label, score, original in fields
    ]


_ROW_BATCH = 4


@dataclass(frozen=True, slots=True)
class BulkPasses:
    """Passes of a rebuild over all documents, run by an engine in several processes.

    `engine`: the engine that runs the bulk jobs.
    `open_tables`: function that opens the tables in the engine's processes.
    `fingerprint`: function that returns a new name for each job.
    `part_documents`: number of documents per part of the job that reads them.
    """

    engine: Engine
    open_tables: OpenTables
    fingerprint: Callable[[], str]
    part_documents: int = PART_DOCUMENTS

    def read(
        self,
        tables: Tables,
        clustering: StoredClustering,
        last_change: int,
        configuration: Configuration,
        progress: Callable[[int], None],
        store_encoded: StoreEncoded,
    ) -> Corpus:
        """Read the documents to group and return their counts, as `read_corpus` does.

        The engine's processes read the texts and return term counts; the result is the same.
        `last_change`: number of the last collection change (batch of added or deleted documents) to
            include; documents that a later change wrote are skipped.
        `progress`: function that is called with the number of documents collected.
        `store_encoded`: function that stores the vectors that an encoder computed, for the next
            rebuild.
        """
        usual_language = detect_usual_language(tables, clustering.name)
        document_reader = DocumentReader(
            self.open_tables,
            clustering,
            last_change,
            configuration,
            usual_language,
            keeps_pages=True,
        )
        parts = split_key_ranges(tables, clustering.name, self.part_documents)
        job = build_reading_job(document_reader, parts, self.fingerprint())
        try:
            _, counts = collect_frequencies(self.engine.run(job))
            vocabulary = Vocabulary(_sort_terms(list(counts)))
            corpus = create_corpus(tables, clustering.name, vocabulary)
            for value in _iter_pages(tables, clustering):
                page = decode_page(value, vocabulary)
                store_encoded(page.encoded)
                corpus.add_page(page)
                progress(len(corpus.ids) + len(corpus.unclustered))
        finally:
            tables.delete_prefix(READINGS, clustering.row)
        return corpus

    def put(
        self,
        tables: Tables,
        clustering: StoredClustering,
        placements: Iterator[PlacedDocument],
        progress: Callable[[int], None],
    ) -> None:
        """Write the placements of documents, as `write_placements` does.

        The engine's processes write the rows; the result is the same.
        `progress`: function that is called once, with the number of placements written.
        """
        job = build_placement_job(self.open_tables, clustering, placements, self.fingerprint())
        progress(sum(int(count) for count in self.engine.run(job)))


def _sort_terms(counts: list[tuple[str, int]]) -> list[str]:
    """Return the terms in the given order, at most 5,000,000.

    If there are more, those with the highest document frequency are returned.
    `counts`: terms with their document frequencies, sorted by term.
    """
    if len(counts) > TERMS_MAX:
        frequent = nlargest(
            TERMS_MAX, range(len(counts)), key=lambda position: (counts[position][1], -position)
        )
        return [counts[position][0] for position in sorted(frequent)]
    return [term for term, _ in counts]


def _iter_pages(tables: Tables, clustering: StoredClustering) -> Iterator[bytes]:
    """Iterate over the encoded pages of documents that the engine stored for a clustering.

    The pages are in the order of document ids.
    """
    for row, _ in tables.iter_rows(READINGS, clustering.row, [Column.SLICE], page_rows=_ROW_BATCH):
        yield join_chunks(get_chunks(tables, READINGS, row, Column.SLICE))
