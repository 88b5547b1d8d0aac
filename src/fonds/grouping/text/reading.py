"""Texts read in slices: of each slice the terms, their counts and what near-duplicates are known by; then the
texts may go.

What is kept of a document follows from the document alone, so that slices may be read by several processes,
and come to the same. Bound: linear in the texts of a slice.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.text.candidates import TermSets
from fonds.grouping.text.counting import Ints, Matrix, Places, counted, numbered
from fonds.grouping.text.duplicates import bands, contents
from fonds.grouping.text.tokens import Vocabulary

DOCUMENTS_AT_ONCE = 1000
_HASH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Slice:
    """Some documents as they were read.

    `numbers`, `starts`: their terms in order, as in `Rows`, by the vocabulary of who read them;
    `frequencies`: documents x terms; `contents`: a number for what each holds, 0 for none; `bands`:
    documents x 5, what near-duplicates are likely to share. `languages`: how each was read.
    """

    languages: tuple[str, ...]
    numbers: Places = field(repr=False)
    starts: Ints = field(repr=False)
    frequencies: Matrix = field(repr=False)
    contents: NDArray[np.uint64] = field(repr=False)
    bands: NDArray[np.uint64] = field(repr=False)


class Reader:
    """Reads slices one after the other by one vocabulary, which grows. Not safe for several threads."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._hashes = array("Q")

    def read(self, texts: Sequence[str], languages: Sequence[str]) -> Slice:
        """What is kept of texts, each read in its language."""
        numbers, starts = numbered(self.vocabulary, texts, languages)
        rows = counted(numbers, starts, len(self.vocabulary.numbers))
        of_terms = self.hashes(rows.indices)
        return Slice(
            tuple(languages),
            numbers,
            starts,
            rows,
            contents(rows, of_terms),
            bands(rows, of_terms),
        )

    def sets(self, texts: Sequence[str], languages: Sequence[str]) -> TermSets:
        """The distinct terms of texts, each read in its language."""
        numbers, starts = numbered(self.vocabulary, texts, languages)
        rows = counted(numbers, starts, len(self.vocabulary.numbers))
        return TermSets(self.hashes(rows.indices), rows.indptr.astype(np.int64))

    def hashes(self, terms: Places) -> NDArray[np.uint64]:
        """The numbers of terms that are the same wherever they are read, by those of the vocabulary."""
        self._hash()
        known = np.array(self._hashes, np.uint64)
        return known[terms]

    def _hash(self) -> None:
        """A number for each new term, the same wherever it is read."""
        for term in islice(self.vocabulary.numbers, len(self._hashes), None):
            self._hashes.append(hash_of(term))


def hash_of(term: str) -> int:
    """The number of a term, the same wherever it is read."""
    digest = blake2b(term.encode("utf-8", "replace"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little")
