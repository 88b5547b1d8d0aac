"""Reader of a collection's documents for a rebuild, as they were when the rebuild began.

It reads each document once, page by page, and keeps term counts instead of texts.
"""

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
    GUESS_CHARS,
    GUESS_TEXTS_MAX,
    Vocabulary,
    guess_language,
)
from fonds.grouping.changes.placement_rules import find_ungrouped_reason
from fonds.grouping.clustering import StoredClustering
from fonds.grouping.columns import Column
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
SPELLED_CHARS = 20_000
_HASHES = 2**32

StoreEncoded = Callable[[EncodedCells], None]
"""Function that stores the vectors that an encoder computed from texts, for the next rebuild."""


@dataclass(frozen=True, slots=True)
class CorpusPage:
    """Page (batch) of documents after reading: term counts instead of texts.

    `ids`: ids of the documents that are grouped; `languages`, `times`, `terms` and `dense` are in
        their order.
    `languages`: as stated by the documents; '' if not stated.
    `times`: dates in seconds since 1970; NaN for undated documents.
    `unclustered`: id and reason of each document that the configuration does not group.
    `terms`: term counts of the grouped documents.
    `dense`: dense vectors of the grouped documents as binary16; None if the configuration uses
        none.
    `encoded`: cells of the vectors that an encoder has just computed, to be stored.
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
    """All documents of a collection after reading, with term counts instead of texts.

    `counts`: term counts of the documents that are grouped.
    `texts`: function that loads the beginnings of the texts of documents, by id.
    `ids`: ids of the grouped documents, ascending; `languages`, `times` and `dense` are in their
        order.
    `languages`: as stated by the documents; '' if not stated.
    `times`: dates in seconds since 1970; NaN for undated documents.
    `unclustered`: reason for each document that the configuration does not group, by id.
    `dense`: dense vectors of the grouped documents, one array per page; empty if there are none.
    """

    counts: TermCounts
    texts: Callable[[Sequence[str]], list[str]]
    ids: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    times: array[float] = field(default_factory=lambda: array("d"))
    unclustered: dict[str, str] = field(default_factory=dict)
    dense: list[Halves] = field(default_factory=list)

    def add_page(self, page: CorpusPage) -> None:
        """Append the documents of a page. Pages must be added in the order of document ids."""
        self.ids += page.ids
        self.languages += page.languages
        self.times.extend(page.times)
        self.unclustered.update(page.unclustered)
        self.counts.add(page.terms)
        if page.dense is not None:
            self.dense.append(page.dense)

    def build_counted(self) -> CountedDocuments:
        """Return the grouped documents in the form that the clustering algorithms take.

        Undated documents get the date of the oldest dated one. If all are undated, the result has
        no dates.
        """
        times = np.array(self.times, np.float64)
        is_dated = ~np.isnan(times)
        times[~is_dated] = times[is_dated].min(initial=np.inf)
        return CountedDocuments(
            self.counts,
            lambda places: self.texts([self.ids[place] for place in places]),
            times if is_dated.any() else None,
            np.vstack(self.dense) if self.dense else None,
        )

    def find_place(self, id_: str) -> int | None:
        """Return the position of a document, by id, among the grouped documents.

        Return None if the document is not grouped.
        """
        position = bisect_left(self.ids, id_)
        return position if position < len(self.ids) and self.ids[position] == id_ else None


def read_corpus(
    tables: Tables,
    clustering: StoredClustering,
    last_change: int,
    configuration: Configuration,
    progress: Callable[[int], None],
    store_encoded: StoreEncoded,
) -> Corpus:
    """Read a collection's documents for a rebuild and return their term counts.

    Documents that a later collection change wrote are skipped; the rebuild assigns them afterwards.

    `clustering`: the clustering being built.
    `last_change`: number of the last collection change (batch of added or deleted documents) to
        include.
    `progress`: function that is called with the number of documents read.
    `store_encoded`: function that stores the vectors that an encoder computed, for the next
        rebuild.
    """
    name, reader = clustering.name, TermReader()
    corpus = create_corpus(tables, name, reader.vocabulary)
    usual_language = detect_usual_language(tables, name)
    n_read = 0
    for rows in tables.iter_pages(DOCUMENTS, name.row, COLUMNS):
        page = read_page(rows, last_change, configuration, usual_language, reader)
        store_encoded(page.encoded)
        corpus.add_page(page)
        n_read += len(rows)
        progress(n_read)
    return corpus


def create_corpus(tables: Tables, name: CollectionName, vocabulary: Vocabulary) -> Corpus:
    """Return an empty corpus for documents whose terms are numbered by this vocabulary."""
    return Corpus(TermCounts(vocabulary), lambda ids: load_texts(tables, name, ids))


def read_page(
    page: Sequence[tuple[bytes, Cells]],
    last_change: int,
    configuration: Configuration,
    usual_language: str,
    reader: TermReader,
) -> CorpusPage:
    """Read a page of documents' rows and return the documents' term counts.

    `page`: row keys and cells of the documents.
    `last_change`: number of the last collection change (batch of added or deleted documents) to
        include; documents that a later change wrote are skipped.
    `usual_language`: two-letter language of texts that state none.
    `reader`: reader that counts and numbers the terms.
    """
    grouped_documents: list[Document] = []
    ungrouped_documents = []
    for document in iter_unchanged_documents(page, last_change):
        reason = find_ungrouped_reason(configuration, document)
        if reason is None:
            grouped_documents.append(document)
        else:
            ungrouped_documents.append((document.id, reason))
    languages = fill_languages(
        [document.language or None for document in grouped_documents], usual_language
    )
    stored_cells = collect_encoded_cells(dict(page))
    dense = build_dense_vectors(
        configuration, get_dimensions(configuration), grouped_documents, stored_cells
    )
    return CorpusPage(
        [document.id for document in grouped_documents],
        [document.language for document in grouped_documents],
        [math.nan if document.time is None else document.time for document in grouped_documents],
        ungrouped_documents,
        reader.read([document.text for document in grouped_documents], languages),
        None if dense.numbers is None else dense.numbers.astype(np.float16),
        dense.new_cells,
    )


def iter_unchanged_documents(
    page: Sequence[tuple[bytes, Cells]], last_change: int
) -> Iterator[Document]:
    """Iterate over those documents of a page that were not written after a certain change.

    `page`: row keys and cells of the documents.
    `last_change`: number of the last collection change (batch of added or deleted documents) to
        include.
    """
    for _, cells in page:
        stored_document = parse_document(cells)
        if Column.ID in cells and stored_document.sequence <= last_change:
            yield stored_document.document


def detect_usual_language(tables: Tables, name: CollectionName) -> str:
    """Return the two-letter language to assume for texts of a collection that state none.

    It is guessed from the stop words in about 1,000 texts, selected by a hash of their ids. Return
    '' if every document states a language, or none can be guessed.
    """
    size = decode_int(tables.get_row(COLLECTIONS, name.row, [Column.SIZE]), Column.SIZE)
    sampled_rows, has_unstated = [], False
    for row, cells in tables.iter_rows(DOCUMENTS, name.row, [Column.ID, Column.LANGUAGE]):
        has_unstated = has_unstated or not cells.get(Column.LANGUAGE)
        if crc32(cells.get(Column.ID, b"")) * size < GUESS_TEXTS_MAX * _HASHES:
            sampled_rows.append(row)
    if not has_unstated:
        return ""
    beginnings: list[str] = []
    for start in range(0, min(len(sampled_rows), 2 * GUESS_TEXTS_MAX), TEXT_BATCH):
        text_rows = tables.get_rows(
            DOCUMENTS, sampled_rows[start : start + TEXT_BATCH], [Column.TEXT]
        )
        beginnings += [
            decode_text(cells, Column.TEXT)[:GUESS_CHARS] for cells in text_rows.values()
        ]
    return guess_language(beginnings)


def load_texts(tables: Tables, name: CollectionName, ids: Sequence[str]) -> list[str]:
    """Return the first 20,000 characters of the current text of each document, in the order of ids.

    The text of a missing document is ''.
    """
    texts: dict[bytes, str] = {}
    rows = [name.build_document_row(id_) for id_ in ids]
    for start in range(0, len(rows), TEXT_BATCH):
        text_rows = tables.get_rows(DOCUMENTS, rows[start : start + TEXT_BATCH], [Column.TEXT])
        for row, cells in text_rows.items():
            texts[row] = decode_text(cells, Column.TEXT)[:SPELLED_CHARS]
    return [texts.get(row, "") for row in rows]


def read_previous(tables: Tables, clustering: StoredClustering, read: Corpus) -> PreviousClustering:
    """Return a stored clustering as the start of a rebuild.

    It has the first-level cluster of each document in the corpus (-1 for none), and the cluster
    ids.
    `clustering`: the previous clustering.
    `read`: the documents that are grouped again.
    """
    prefix = build_clustering_prefix(
        clustering.name.namespace, clustering.name.key, clustering.conf, clustering.timestamp
    )
    numbers: dict[str, int] = {}
    cluster_ids: list[str] = []
    for row, cells in tables.iter_rows(CLUSTERS, prefix, [Column.ID]):
        numbers[parse_cluster_row(row)[4]] = len(cluster_ids)
        cluster_ids.append(decode_text(cells, Column.ID))
    members = np.full(len(read.ids), -1, dtype=np.int64)
    for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, [Column.LABEL]):
        place = read.find_place(parse_cluster_row(row)[4])
        if place is not None:
            members[place] = numbers.get(decode_text(cells, Column.LABEL), -1)
    return PreviousClustering(members, tuple(cluster_ids))


def build_options(configuration: Configuration) -> Options:
    """Return the options of the clustering algorithm that a configuration sets."""
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
