"""A collection read by an engine, gathered for the arithmetic: what `building.reading_in.read_in` gives."""

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
from fonds.grouping.configuration import Configuration
from fonds.grouping.rebuild.bulk_reader import (
    SLICE,
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

# The job that writes where documents are in a new clustering: the rows of members, assignments and scores.
#
# A part is a run of places as MessagePack, packed; its record is the part's number in ten digits, a
# space, and base64 of the same. Whoever writes a range may do it again: the rows are the same.


PART_PLACES = 10_000
RANGES = 16
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class PlacementWriter:
    """The `write` of the job; its one result is how many places were written."""

    open_tables: OpenTables
    clustering: StoredClustering

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Write the places of some parts."""
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
    """Writes all these places; `fingerprint` is new each time."""
    parts: list[tuple[int, bytes]] = []
    while some := list(islice(placements, PART_PLACES)):
        told = [(id_, at.conf, at.label, at.score, at.original) for id_, at in some]
        parts.append((len(parts), zlib.compress(msgspec.msgpack.encode(told), _LEVEL)))
    step = max(1, -(-len(parts) // RANGES))
    return Job(
        name=f"group-{fingerprint}",
        parts=tuple(parts),
        read=iter_record,
        ranges=tuple(b"%010d" % number for number in range(step, len(parts), step)),
        write=PlacementWriter(open_tables, clustering),
    )


def iter_record(part: tuple[int, bytes]) -> Iterator[bytes]:
    """The one record of a part."""
    number, packed = part
    yield b"%010d " % number + b64encode(packed)


def _unpack_placements(packed: bytes) -> list[PlacedDocument]:
    """Places this process or another of the same job packed."""
    told = msgspec.msgpack.decode(
        zlib.decompress(packed), type=prepare_type(list[tuple[str, str, str, bytes, str]])
    )
    return [
        (id_, Placement(conf, label, score, original)) for id_, conf, label, score, original in told
    ]


_ROW_BATCH = 4


@dataclass(frozen=True, slots=True)
class BulkPasses:
    """The passes of a rebuild by an engine. `fingerprint` gives a new name for each job; `open_tables` opens
    the tables wherever the engine works; a part of the reading has `part_documents`."""

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
        """As `read_in`: every text is read by the engine, and comes back as counts."""
        usual = detect_usual_language(tables, clustering.name)
        read = DocumentReader(
            self.open_tables, clustering, last_change, configuration, usual, keeps_pages=True
        )
        parts = split_key_ranges(tables, clustering.name, self.part_documents)
        job = build_reading_job(read, parts, self.fingerprint())
        try:
            _, counts = collect_frequencies(self.engine.run(job))
            vocabulary = Vocabulary(_sort_terms(list(counts)))
            found = create_corpus(tables, clustering.name, vocabulary)
            for value in _iter_pages(tables, clustering):
                page = decode_page(value, vocabulary)
                store_encoded(page.encoded)
                found.add_page(page)
                progress(len(found.ids) + len(found.unclustered))
        finally:
            tables.delete_prefix(READINGS, clustering.row)
        return found

    def put(
        self,
        tables: Tables,
        clustering: StoredClustering,
        placements: Iterator[PlacedDocument],
        progress: Callable[[int], None],
    ) -> None:
        """As `put_places`: the rows are written by the engine."""
        job = build_placement_job(self.open_tables, clustering, placements, self.fingerprint())
        progress(sum(int(count) for count in self.engine.run(job)))


def _sort_terms(counts: list[tuple[str, int]]) -> list[str]:
    """The terms in order; of too many, those in most documents."""
    if len(counts) > TERMS_MAX:
        most = nlargest(TERMS_MAX, range(len(counts)), key=lambda at: (counts[at][1], -at))
        return [counts[at][0] for at in sorted(most)]
    return [term for term, _ in counts]


def _iter_pages(tables: Tables, clustering: StoredClustering) -> Iterator[bytes]:
    """The pages that were read, in the order of their documents."""
    for row, _ in tables.iter_rows(READINGS, clustering.row, [SLICE], page_rows=_ROW_BATCH):
        yield join_chunks(get_chunks(tables, READINGS, row, SLICE))
