"""Term counts of all texts of a collection: dictionary, distinct documents, near-duplicates."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.algorithms.duplicates import (
    BANDS,
    EMPTY,
    Hashes,
    TermSets,
    compute_bands,
    find_originals,
    hash_documents,
    rank_documents,
)
from fonds.grouping.algorithms.term_counts import (
    Ints,
    Matrix,
    Places,
    TermRows,
    build_feature_numbers,
    count_documents,
    count_terms,
    number_terms,
    remap_columns,
    select_features,
    select_rows,
)
from fonds.grouping.algorithms.terms import Vocabulary
from fonds.model.vectors import Dictionary

# Slices of texts: terms, counts and near-duplicate hashes
#
# After reading a slice, its texts are no longer needed. What is kept of a document depends on the
# document alone, so several processes can read slices with the same result. Limits: linear in the
# texts of a slice.


DOCUMENT_BATCH = 1000
_HASH_BYTES = 8


@dataclass(frozen=True, slots=True)
class TermSlice:
    """Term counts and near-duplicate hashes of one slice (batch) of documents.

    `languages`: two-letter language that each document was read in.
    `numbers`, `starts`: the terms of document i, in order, are `numbers[starts[i]:starts[i + 1]]`,
        numbered by the reader's vocabulary; -1 separates terms that are not adjacent.
    `frequencies`: term frequencies, documents x terms.
    `contents`: hash of the terms and counts of each document; 0 for an empty one.
    `bands`: documents x 5 MinHash bands; near-duplicates are likely to share a band.
    """

    languages: tuple[str, ...]
    numbers: Places = field(repr=False)
    starts: Ints = field(repr=False)
    frequencies: Matrix = field(repr=False)
    contents: NDArray[np.uint64] = field(repr=False)
    bands: NDArray[np.uint64] = field(repr=False)


class TermReader:
    """Reader that counts the terms of consecutive slices of texts. Not thread-safe.

    All slices share one vocabulary, which grows as new terms occur.
    """

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._hashes = array("Q")

    def read(self, texts: Sequence[str], languages: Sequence[str]) -> TermSlice:
        """Return the term counts and hashes of some texts, each read in its two-letter language."""
        numbers, starts = number_terms(self.vocabulary, texts, languages)
        rows = count_terms(numbers, starts, len(self.vocabulary.numbers))
        term_hashes = self.get_hashes(rows.indices)
        return TermSlice(
            tuple(languages),
            numbers,
            starts,
            rows,
            hash_documents(rows, term_hashes),
            compute_bands(rows, term_hashes),
        )

    def build_sets(self, texts: Sequence[str], languages: Sequence[str]) -> TermSets:
        """Return the hashed distinct terms of some texts, each read in its two-letter language."""
        numbers, starts = number_terms(self.vocabulary, texts, languages)
        rows = count_terms(numbers, starts, len(self.vocabulary.numbers))
        return TermSets(self.get_hashes(rows.indices), rows.indptr.astype(np.int64))

    def get_hashes(self, terms: Places) -> NDArray[np.uint64]:
        """Return a 64-bit hash for each term, which is the same in every process.

        `terms`: numbers of terms in the vocabulary.
        """
        self._hash_new_terms()
        hashes = np.array(self._hashes, np.uint64)
        return hashes[terms]

    def _hash_new_terms(self) -> None:
        """Hash the terms that were added to the vocabulary since the last call."""
        for term in islice(self.vocabulary.numbers, len(self._hashes), None):
            self._hashes.append(hash_term(term))


def hash_term(term: str) -> int:
    """Return the 64-bit hash of a term (BLAKE2b), which is the same in every process."""
    digest = blake2b(term.encode("utf-8", "replace"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little")


_DOCUMENT_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class TextCollection:
    """Term counts of all texts of a collection, with near-duplicates identified.

    `languages`: language that each text was read in.
    `originals`: for each document, the one it is a near-duplicate of, possibly itself; EMPTY if no
        term of it is a feature.
    `distinct`: positions of the originals, in an order that depends only on their content.
    `frequencies`: term frequencies of all documents, documents x features.
    `read`: terms of all documents, in order of the text.
    `places`: feature number of each term number in `read`.
    `dictionary`: the features, which are the terms that count, with their document counts.
    """

    languages: list[str]
    originals: Ints = field(repr=False)
    distinct: Ints = field(repr=False)
    frequencies: Matrix = field(repr=False)
    read: TermRows = field(repr=False)
    places: Places = field(repr=False)
    dictionary: Dictionary

    def build_rows(self, distinct_numbers: Ints) -> TermRows:
        """Return the features of some distinct documents, in the order of the text.

        Features are the terms that count. Distinct documents are those that are not near-duplicates
        of another. Terms that are no feature separate their neighbours.
        `distinct_numbers`: the documents to return, as indices into the field `distinct`.
        """
        selected_rows = select_rows(self.read, self.distinct[distinct_numbers])
        return TermRows(
            self.places[selected_rows.numbers], selected_rows.starts, self.dictionary.terms
        )

    def count_lengths(self) -> Ints:
        """Return the number of feature occurrences in each distinct document.

        Features are the terms that count. Distinct documents are those that are not near-duplicates
        of another.
        """
        ones = np.ones(self.frequencies.shape[1], np.float32)
        return np.asarray(self.frequencies @ ones).astype(np.int64)[self.distinct]

    def spread_values(self, values: Ints) -> Ints:
        """Expand an array from distinct documents to all documents, and return it.

        A near-duplicate gets the value of its original document. A document without features (terms
        that count) gets EMPTY (-1).
        `values`: one value per distinct document.
        """
        places = np.zeros(len(self.originals), dtype=np.int64)
        places[self.distinct] = np.arange(len(self.distinct))
        has_terms = self.originals != EMPTY
        spread = np.full(len(self.originals), EMPTY, dtype=np.int64)
        spread[has_terms] = values[places[self.originals[has_terms]]]
        return spread

    def gather_values(self, values: Ints) -> Ints:
        """Reduce an array from all documents to distinct documents, and return it.

        Each distinct document gets the highest value among its near-duplicates and itself.
        `values`: one value per document.
        """
        has_terms = self.originals != EMPTY
        highest = np.full(len(self.originals), np.iinfo(np.int64).min)
        np.maximum.at(highest, self.originals[has_terms], values[has_terms])
        return highest[self.distinct]


class TermCounts:
    """Collector of the term counts of a collection's documents, slice by slice, without texts.

    Limits: 4 bytes of memory per term occurrence, 8 per distinct term of a text, 150 per document.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Create an empty collector of term counts.

        `vocabulary`: numbering of the terms, shared by all slices (batches of documents) to add."""
        self._vocabulary = vocabulary
        self._languages: list[str] = []
        self._numbers = array("i")
        self._ends = array("q", [0])
        self._counts: list[tuple[Places, np.ndarray, Ints]] = []
        self._hashes: list[tuple[Hashes, Hashes]] = []

    def __len__(self) -> int:
        return len(self._languages)

    def add(self, term_slice: TermSlice) -> None:
        """Append the term counts of one slice (batch) of documents."""
        self._languages += term_slice.languages
        begin = len(self._numbers)
        self._numbers.frombytes(term_slice.numbers.tobytes())
        self._ends.frombytes((term_slice.starts[1:] + begin).astype(np.int64).tobytes())
        frequencies = term_slice.frequencies
        self._counts.append(
            (frequencies.indices.astype(np.int32), frequencies.data, np.diff(frequencies.indptr))
        )
        self._hashes.append((term_slice.contents, term_slice.bands))

    def build_collection(self, version: int) -> TextCollection:
        """Find near-duplicates, select the features, and return the counts of all documents.

        Features are the terms that count. The collected counts are consumed, so call this only
        once.
        `version`: version of the new dictionary.
        """
        names = list(self._vocabulary.numbers)
        order = sorted(range(len(names)), key=names.__getitem__)
        frequencies = self._join_matrices(len(names))
        contents = np.concatenate([np.zeros(0, np.uint64), *(item for item, _ in self._hashes)])
        bands = np.concatenate(
            [np.zeros((0, BANDS), np.uint64), *(item for _, item in self._hashes)]
        )
        self._hashes = []
        by_rank = rank_documents(contents)
        originals = find_originals(frequencies, by_rank, contents, bands)
        distinct = by_rank[originals[by_rank] == by_rank]
        sorted_numbers = np.array(order, dtype=np.int64)
        features = sorted_numbers[
            select_features(_count_documents(frequencies, distinct)[sorted_numbers], len(distinct))
        ]
        places = build_feature_numbers(features, len(names))
        feature_frequencies = remap_columns(frequencies, places, len(features))
        has_no_feature = np.diff(feature_frequencies.indptr) == 0
        originals[(originals == EMPTY) | has_no_feature[np.maximum(originals, 0)]] = EMPTY
        distinct = distinct[~has_no_feature[distinct]]
        counts = _count_documents(feature_frequencies, distinct)
        return TextCollection(
            self._languages,
            originals,
            distinct,
            feature_frequencies,
            self._build_rows(names),
            places,
            Dictionary(version, len(distinct), tuple(names[item] for item in features), counts),
        )

    def _join_matrices(self, width: int) -> Matrix:
        """Return the term frequencies of all slices as one matrix: documents x vocabulary terms.

        The counts of the slices are released as they are copied.
        """
        lengths = np.concatenate(
            [np.zeros(1, np.int64), *(lengths_part for _, _, lengths_part in self._counts)]
        )
        starts = np.cumsum(lengths).astype(np.int32 if int(lengths.sum()) < 2**31 else np.int64)
        indices = np.empty(int(starts[-1]), np.int32)
        data = np.empty(int(starts[-1]), np.float32)
        start = 0
        self._counts.reverse()
        while self._counts:
            indices_part, counts_part, _ = self._counts.pop()
            indices[start : start + len(indices_part)], data[start : start + len(indices_part)] = (
                indices_part,
                counts_part,
            )
            start += len(indices_part)
        return sp.csr_matrix((data, indices, starts), shape=(len(starts) - 1, width))

    def _build_rows(self, names: Sequence[str]) -> TermRows:
        numbers = np.frombuffer(self._numbers, np.int32) if self._numbers else np.zeros(0, np.int32)
        return TermRows(numbers, np.frombuffer(self._ends, np.int64), names)


def _count_documents(term_counts: Matrix, documents: Ints) -> Ints:
    """Return, for each term, how many of the given documents contain it.

    Documents are counted in batches to save memory.
    """
    counts = np.zeros(term_counts.shape[1], dtype=np.int64)
    sorted_documents = np.sort(documents)
    for start in range(0, len(sorted_documents), _DOCUMENT_BATCH):
        counts += count_documents(term_counts[sorted_documents[start : start + _DOCUMENT_BATCH]])
    return counts
