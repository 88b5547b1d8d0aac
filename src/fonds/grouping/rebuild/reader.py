"""The documents a clustering is built of, as they stood when it was begun: read once in slices, and their
texts dropped."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.builder import CountedDocuments, PreviousClustering
from fonds.grouping.algorithms.clustering import (
    Algorithm,
    Options,
)
from fonds.grouping.algorithms.corpus import TermCounts, TermReader, TermSlice
from fonds.grouping.algorithms.term_counts import fill_languages
from fonds.grouping.algorithms.terms import (
    GUESSED_CHARACTERS,
    GUESSED_FROM,
    Vocabulary,
    guess_language,
)
from fonds.grouping.changes.placement_rules import find_ungrouped_reason
from fonds.grouping.clustering import StoredClustering
from fonds.grouping.configuration import Configuration
from fonds.grouping.dense_vectors import build_dense_vectors, get_dimensions
from fonds.grouping.document import (
    COLUMNS,
    Document,
    EncodedCells,
    collect_encoded_cells,
    parse_document,
)
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.keys import build_clustering_prefix, parse_cluster_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    Cells,
    Tables,
    decode_int,
    decode_text,
)

Halves = NDArray[np.float16]

TEXT_BATCH = 50
SPELLED_CHARACTERS = 20_000
_HASHES = 2**32

StoreEncoded = Callable[[EncodedCells], None]
"""Keeps what was encoded of some documents."""


@dataclass(frozen=True, slots=True)
class CorpusPage:
    """Some documents as they were read: those that are grouped, with what is counted of them in `terms`, and
    those that are apart from the start, with the reason.

    `languages`: as documents say them, '' where they do not; `times`: seconds, NaN for undated ones; `dense`:
    their vectors as binary16, None where the configuration asks for none; `encoded`: the cells of those
    that were made of the texts just now.
    """

    ids: list[str]
    languages: list[str]
    times: list[float]
    unclustered: list[tuple[str, str]]
    terms: TermSlice
    dense: Halves | None = None
    encoded: EncodedCells = field(default_factory=dict)


@dataclass(slots=True)
class Corpus:
    """All that is grouped, in the order of ids, and what is apart; fields as in `CorpusPage`."""

    counts: TermCounts
    texts: Callable[[Sequence[str]], list[str]]
    ids: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    times: array[float] = field(default_factory=lambda: array("d"))
    unclustered: dict[str, str] = field(default_factory=dict)
    dense: list[Halves] = field(default_factory=list)

    def add_page(self, page: CorpusPage) -> None:
        """The documents of one page, behind those before."""
        self.ids += page.ids
        self.languages += page.languages
        self.times.extend(page.times)
        self.unclustered.update(page.unclustered)
        self.counts.add(page.terms)
        if page.dense is not None:
            self.dense.append(page.dense)

    def build_counted(self) -> CountedDocuments:
        """As they are grouped; undated ones count as old as the oldest."""
        times = np.array(self.times, np.float64)
        dated = ~np.isnan(times)
        times[~dated] = times[dated].min(initial=np.inf)
        return CountedDocuments(
            self.counts,
            lambda places: self.texts([self.ids[place] for place in places]),
            times if dated.any() else None,
            np.vstack(self.dense) if self.dense else None,
        )

    def find_place(self, id_: str) -> int | None:
        """The place of a document among those grouped, None for another."""
        at = bisect_left(self.ids, id_)
        return at if at < len(self.ids) and self.ids[at] == id_ else None


def read_corpus(
    tables: Tables,
    clustering: StoredClustering,
    last_change: int,
    configuration: Configuration,
    progress: Callable[[int], None],
    store_encoded: StoreEncoded,
) -> Corpus:
    """The documents whose last change was `last_change` or before; later ones are caught up with afterwards.

    `clustering`: the clustering that is built; `progress` is told how many were read, `store_encoded`
    what was encoded."""
    name, reader = clustering.name, TermReader()
    found = create_corpus(tables, name, reader.vocabulary)
    usual = detect_usual_language(tables, name)
    seen = 0
    for rows in tables.iter_pages(DOCUMENTS, name.row, COLUMNS):
        page = read_page(rows, last_change, configuration, usual, reader)
        store_encoded(page.encoded)
        found.add_page(page)
        seen += len(rows)
        progress(seen)
    return found


def create_corpus(tables: Tables, name: CollectionName, vocabulary: Vocabulary) -> Corpus:
    """Nothing read as yet, by the vocabulary of who reads."""
    return Corpus(TermCounts(vocabulary), lambda ids: load_texts(tables, name, ids))


def read_page(
    page: Sequence[tuple[bytes, Cells]],
    last_change: int,
    configuration: Configuration,
    usual_language: str,
    reader: TermReader,
) -> CorpusPage:
    """What some rows of documents come to."""
    grouped: list[Document] = []
    apart = []
    for one in iter_unchanged_documents(page, last_change):
        reason = find_ungrouped_reason(configuration, one)
        if reason is None:
            grouped.append(one)
        else:
            apart.append((one.id, reason))
    languages = fill_languages([one.language or None for one in grouped], usual_language)
    kept = collect_encoded_cells(dict(page))
    dense = build_dense_vectors(configuration, get_dimensions(configuration), grouped, kept)
    return CorpusPage(
        [one.id for one in grouped],
        [one.language for one in grouped],
        [math.nan if one.time is None else one.time for one in grouped],
        apart,
        reader.read([one.text for one in grouped], languages),
        None if dense.numbers is None else dense.numbers.astype(np.float16),
        dense.new_cells,
    )


def iter_unchanged_documents(
    page: Sequence[tuple[bytes, Cells]], last_change: int
) -> Iterator[Document]:
    """The documents of some rows that were last changed by the change `last_change` or before."""
    for _, cells in page:
        kept = parse_document(cells)
        if "main:id" in cells and kept.sequence <= last_change:
            yield kept.document


def detect_usual_language(tables: Tables, name: CollectionName) -> str:
    """The language of texts that say none, told by about 1,000 texts that their ids choose; '' where each
    says its own, or none is told by its function words."""
    size = decode_int(tables.get_row(COLLECTIONS, name.row, ["main:size"]), "main:size")
    chosen, is_unsaid = [], False
    for row, cells in tables.iter_rows(DOCUMENTS, name.row, ["main:id", "main:language"]):
        is_unsaid = is_unsaid or not cells.get("main:language")
        if crc32(cells.get("main:id", b"")) * size < GUESSED_FROM * _HASHES:
            chosen.append(row)
    if not is_unsaid:
        return ""
    found: list[str] = []
    for at in range(0, min(len(chosen), 2 * GUESSED_FROM), TEXT_BATCH):
        some = tables.get_rows(DOCUMENTS, chosen[at : at + TEXT_BATCH], ["main:text"])
        found += [decode_text(cells, "main:text")[:GUESSED_CHARACTERS] for cells in some.values()]
    return guess_language(found)


def load_texts(tables: Tables, name: CollectionName, ids: Sequence[str]) -> list[str]:
    """The beginnings of the texts of documents as they are now, '' for one that is gone."""
    found: dict[bytes, str] = {}
    rows = [name.build_document_row(id_) for id_ in ids]
    for at in range(0, len(rows), TEXT_BATCH):
        some = tables.get_rows(DOCUMENTS, rows[at : at + TEXT_BATCH], ["main:text"])
        for row, cells in some.items():
            found[row] = decode_text(cells, "main:text")[:SPELLED_CHARACTERS]
    return [found.get(row, "") for row in rows]


def read_previous(tables: Tables, clustering: StoredClustering, read: Corpus) -> PreviousClustering:
    """The clustering before: where the documents were in it, and the ids of its clusters."""
    prefix = build_clustering_prefix(
        clustering.name.namespace, clustering.name.key, clustering.conf, clustering.timestamp
    )
    numbers: dict[str, int] = {}
    cluster_ids: list[str] = []
    for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:id"]):
        numbers[parse_cluster_row(row)[4]] = len(cluster_ids)
        cluster_ids.append(decode_text(cells, "main:id"))
    members = np.full(len(read.ids), -1, dtype=np.int64)
    for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label"]):
        place = read.find_place(parse_cluster_row(row)[4])
        if place is not None:
            members[place] = numbers.get(decode_text(cells, "main:label"), -1)
    return PreviousClustering(members, tuple(cluster_ids))


def build_options(configuration: Configuration) -> Options:
    """The parameters of the arithmetic in a configuration."""
    return Options(
        Algorithm(configuration.algorithm),
        configuration.clusters,
        configuration.clusters_max,
        configuration.granularities,
        configuration.threshold,
        configuration.half_life_s,
        configuration.size_min,
        configuration.seed,
    )
