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

from fonds.collections.changing.encoding import dense_of, numbers_of
from fonds.collections.changing.placing import set_apart
from fonds.collections.clusterings import Known
from fonds.collections.configurations import Configuration
from fonds.collections.documents import COLUMNS, Document, EncodedCells, document_of, encoded_cells
from fonds.collections.names import Name
from fonds.collections.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    Cells,
    Tables,
    number,
    text,
)
from fonds.formats.grouping.keys import clustering_prefix, parts_of_cluster
from fonds.grouping.building import Before, Counted
from fonds.grouping.options import Algorithm, Options
from fonds.grouping.text.collection import TermCounts
from fonds.grouping.text.counting import spoken
from fonds.grouping.text.reading import Reader, Slice
from fonds.grouping.text.tokens import (
    GUESSED_CHARACTERS,
    GUESSED_FROM,
    Vocabulary,
    guess_language,
)

Halves = NDArray[np.float16]

TEXTS_AT_ONCE = 50
SPELLED_CHARACTERS = 20_000
_HASHES = 2**32

Keep = Callable[[EncodedCells], None]
"""Keeps what was encoded of some documents."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Some documents as they were read: those that are grouped, with what is counted of them in `terms`, and
    those that are apart from the start, with the reason.

    `languages`: as documents say them, '' where they do not; `times`: seconds, NaN for undated ones; `dense`:
    their vectors as binary16, None where the configuration asks for none; `encoded`: the cells of those
    that were made of the texts just now.
    """

    ids: list[str]
    languages: list[str]
    times: list[float]
    apart: list[tuple[str, str]]
    terms: Slice
    dense: Halves | None = None
    encoded: EncodedCells = field(default_factory=dict)


@dataclass(slots=True)
class ReadIn:
    """All that is grouped, in the order of ids, and what is apart; fields as in `ReadPage`."""

    counts: TermCounts
    texts: Callable[[Sequence[str]], list[str]]
    ids: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    times: array[float] = field(default_factory=lambda: array("d"))
    apart: dict[str, str] = field(default_factory=dict)
    dense: list[Halves] = field(default_factory=list)

    def add(self, page: ReadPage) -> None:
        """The documents of one page, behind those before."""
        self.ids += page.ids
        self.languages += page.languages
        self.times.extend(page.times)
        self.apart.update(page.apart)
        self.counts.add(page.terms)
        if page.dense is not None:
            self.dense.append(page.dense)

    def counted(self) -> Counted:
        """As they are grouped; undated ones count as old as the oldest."""
        times = np.array(self.times, np.float64)
        dated = ~np.isnan(times)
        times[~dated] = times[dated].min(initial=np.inf)
        return Counted(
            self.counts,
            lambda places: self.texts([self.ids[place] for place in places]),
            times if dated.any() else None,
            np.vstack(self.dense) if self.dense else None,
        )

    def place(self, id_: str) -> int | None:
        """The place of a document among those grouped, None for another."""
        at = bisect_left(self.ids, id_)
        return at if at < len(self.ids) and self.ids[at] == id_ else None


def read_in(
    tables: Tables,
    one: Known,
    until: int,
    configuration: Configuration,
    progress: Callable[[int], None],
    keep: Keep,
) -> ReadIn:
    """The documents whose last change was `until` or before; later ones are caught up with afterwards.

    `one`: the clustering that is built; `progress` is told how many were read, `keep` what was encoded.
    """
    name, reader = one.name, Reader()
    found = empty(tables, name, reader.vocabulary)
    usual = usual_language(tables, name)
    seen = 0
    for rows in tables.pages(DOCUMENTS, name.row, COLUMNS):
        page = read_page(rows, until, configuration, usual, reader)
        keep(page.encoded)
        found.add(page)
        seen += len(rows)
        progress(seen)
    return found


def empty(tables: Tables, name: Name, vocabulary: Vocabulary) -> ReadIn:
    """Nothing read as yet, by the vocabulary of who reads."""
    return ReadIn(TermCounts(vocabulary), lambda ids: texts_of(tables, name, ids))


def read_page(
    page: Sequence[tuple[bytes, Cells]],
    until: int,
    configuration: Configuration,
    usual: str,
    reader: Reader,
) -> ReadPage:
    """What some rows of documents come to."""
    grouped: list[Document] = []
    apart = []
    for one in standing(page, until):
        reason = set_apart(configuration, one)
        if reason is None:
            grouped.append(one)
        else:
            apart.append((one.id, reason))
    languages = spoken([one.language or None for one in grouped], usual)
    kept = encoded_cells(dict(page))
    dense = dense_of(configuration, numbers_of(configuration), grouped, kept)
    return ReadPage(
        [one.id for one in grouped],
        [one.language for one in grouped],
        [math.nan if one.time is None else one.time for one in grouped],
        apart,
        reader.read([one.text for one in grouped], languages),
        None if dense.numbers is None else dense.numbers.astype(np.float16),
        dense.made,
    )


def standing(page: Sequence[tuple[bytes, Cells]], until: int) -> Iterator[Document]:
    """The documents of some rows that were last changed by the change `until` or before."""
    for _, cells in page:
        kept = document_of(cells)
        if "main:id" in cells and kept.sequence <= until:
            yield kept.document


def usual_language(tables: Tables, name: Name) -> str:
    """The language of texts that say none, told by about 1,000 texts that their ids choose; '' where each
    says its own, or none is told by its function words."""
    size = number(tables.row(COLLECTIONS, name.row, ["main:size"]), "main:size")
    chosen, is_unsaid = [], False
    for row, cells in tables.scan(DOCUMENTS, name.row, ["main:id", "main:language"]):
        is_unsaid = is_unsaid or not cells.get("main:language")
        if crc32(cells.get("main:id", b"")) * size < GUESSED_FROM * _HASHES:
            chosen.append(row)
    if not is_unsaid:
        return ""
    found: list[str] = []
    for at in range(0, min(len(chosen), 2 * GUESSED_FROM), TEXTS_AT_ONCE):
        some = tables.rows(DOCUMENTS, chosen[at : at + TEXTS_AT_ONCE], ["main:text"])
        found += [text(cells, "main:text")[:GUESSED_CHARACTERS] for cells in some.values()]
    return guess_language(found)


def texts_of(tables: Tables, name: Name, ids: Sequence[str]) -> list[str]:
    """The beginnings of the texts of documents as they are now, '' for one that is gone."""
    found: dict[bytes, str] = {}
    rows = [name.document(id_) for id_ in ids]
    for at in range(0, len(rows), TEXTS_AT_ONCE):
        some = tables.rows(DOCUMENTS, rows[at : at + TEXTS_AT_ONCE], ["main:text"])
        for row, cells in some.items():
            found[row] = text(cells, "main:text")[:SPELLED_CHARACTERS]
    return [found.get(row, "") for row in rows]


def read_before(tables: Tables, one: Known, read: ReadIn) -> Before:
    """The clustering before: where the documents were in it, and the ids of its clusters."""
    prefix = clustering_prefix(one.name.namespace, one.name.key, one.conf, one.timestamp)
    numbers: dict[str, int] = {}
    cluster_ids: list[str] = []
    for row, cells in tables.scan(CLUSTERS, prefix, ["main:id"]):
        numbers[parts_of_cluster(row)[4]] = len(cluster_ids)
        cluster_ids.append(text(cells, "main:id"))
    members = np.full(len(read.ids), -1, dtype=np.int64)
    for row, cells in tables.scan(ASSIGNMENTS, prefix, ["main:label"]):
        place = read.place(parts_of_cluster(row)[4])
        if place is not None:
            members[place] = numbers.get(text(cells, "main:label"), -1)
    return Before(members, tuple(cluster_ids))


def options_of(made: Configuration) -> Options:
    """The parameters of the arithmetic in a configuration."""
    return Options(
        Algorithm(made.algorithm),
        made.clusters,
        made.clusters_max,
        made.granularities,
        made.threshold,
        made.half_life_s,
        made.size_min,
        made.seed,
    )
