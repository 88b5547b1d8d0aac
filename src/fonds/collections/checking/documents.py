"""Documents' rows against the clusterings that are served: where each is, and vectors against its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from fonds.collections.building.inverted_index import INDEX
from fonds.collections.building.models import DICTIONARY, Served, get_chunks
from fonds.collections.changing.placing import vectors_of
from fonds.collections.changing.writing import Changes
from fonds.collections.checking.damage import Damage, Remedy
from fonds.collections.checking.encodings import TOLD, wrong
from fonds.collections.clusterings import Known, is_served, known, settled
from fonds.collections.documents import COLUMNS, Document, document_of, member_of
from fonds.collections.names import Name, apart_conf
from fonds.collections.tables import (
    ASSIGNMENTS,
    COLLECTION_SIZE,
    COLLECTIONS,
    DOCUMENTS,
    Cells,
    Tables,
    assignment_row,
    number,
    text,
)
from fonds.formats.grouping.dictionary import from_dictionary
from fonds.formats.grouping.inverted import from_index
from fonds.formats.grouping.vectors import from_vector_idf, from_vector_tfidf
from fonds.model.errors import DamagedInputError

IDF, TFIDF = "processing:vector_idf", "processing:vector_tfidf"
AT_ONCE = 200
_WEIGHT_OFF_MAX = 0.002

Pair = tuple[bytes, bytes]


def documents_of(changes: Changes, name: Name, cells: Cells) -> Iterator[Damage]:
    """What is wrong with the documents of a collection, whose row holds `cells`: one damage a kind, with how
    many documents have it."""
    tables = changes.tables
    served = _served(changes, name, cells)
    counts: Counter[tuple[Remedy, str, str, int]] = Counter()
    total = 0
    columns = [*COLUMNS, IDF, TFIDF, *(member_of(one.conf) for one, _ in served)]
    for page in tables.pages(DOCUMENTS, name.row, columns, page_rows=AT_ONCE):
        there = [found for _, found in page if "main:id" in found]
        total += len(there)
        for one, _ in served:
            counts.update(_places(tables, one, there))
        counts.update(_vectors(served, there))
        counts.update((Remedy.FORGET, TOLD, "", 0) for one in there if wrong(one))
    for (remedy, told, conf, timestamp), count in counts.items():
        yield Damage(remedy, f"{count:,} documents {told}", conf, timestamp)
    if total != (size := number(cells, COLLECTION_SIZE)):
        yield Damage(Remedy.COUNT, f"its size is {size:,}, and {total:,} documents are there")
    yield from _shared(tables, name, [one for one, _ in served])


def _served(changes: Changes, name: Name, cells: Cells) -> list[tuple[Known, Served]]:
    """The clusterings that are served and settled, whose model can be read."""
    found = []
    for one in known(changes.tables, name):
        if is_served(one, cells) and number(cells, settled(one.conf), -1) == one.timestamp:
            try:
                model = changes.models.of(changes.tables, one)
            except DamagedInputError:
                continue
            if model is not None:
                found.append((one, model))
    return found


def _places(
    tables: Tables, one: Known, page: Sequence[Cells]
) -> Iterator[tuple[Remedy, str, str, int]]:
    """Documents that are nowhere in a clustering, or whose row says another cluster."""
    ids = [text(cells, "main:id") for cells in page]
    first = {id_: assignment_row(one.name, one.conf, one.timestamp, id_) for id_ in ids}
    apart_in = apart_conf(one.conf)
    apart = {id_: assignment_row(one.name, apart_in, one.timestamp, id_) for id_ in ids}
    found = tables.rows(ASSIGNMENTS, [*first.values(), *apart.values()], ["main:label"])
    about = (one.conf, one.timestamp)
    for id_, cells in zip(ids, page, strict=True):
        if first[id_] not in found and apart[id_] not in found:
            yield Remedy.BUILD, f"are in no cluster of {one.conf}, and not apart", *about
        elif text(cells, member_of(one.conf)) != text(found.get(first[id_]), "main:label"):
            yield Remedy.SETTLE, f"say another cluster of {one.conf} than they are in", *about


def _vectors(
    served: Sequence[tuple[Known, Served]], page: Sequence[Cells]
) -> Iterator[tuple[Remedy, str, str, int]]:
    """Documents whose vectors are not those of their text, or are missing."""
    if not served:
        return
    last = max((one for one, _ in served), key=lambda one: one.timestamp)
    about = (last.conf, last.timestamp)
    documents: list[Document] = []
    for cells in page:
        try:
            documents.append(document_of(cells).document)
        except DamagedInputError:
            yield Remedy.SETTLE, "have a posted vector that cannot be read", *about
            return
    made = {one.timestamp: vectors_of(model, documents) for one, model in served}
    for at, cells in enumerate(page):
        pair = (cells.get(IDF, b""), cells.get(TFIDF, b""))
        expected = [vectors[at] for vectors in made.values()]
        if pair == (b"", b""):
            if None not in expected:
                yield Remedy.SETTLE, "are without counts of their terms", *about
        elif not any(one is not None and _is_same(pair, one) for one in expected):
            yield Remedy.SETTLE, "have vectors that are not those of their text", *about


def _is_same(pair: Pair, made: Pair) -> bool:
    """Whether stored vectors are what a text comes to; weights may differ in their last digit."""
    try:
        idf, tfidf = from_vector_idf(pair[0]), from_vector_tfidf(pair[1])
    except DamagedInputError:
        return False
    wanted, weights = from_vector_idf(made[0]), from_vector_tfidf(made[1])
    return (
        idf.version == wanted.version == tfidf.version
        and np.array_equal(idf.features, wanted.features)
        and np.array_equal(idf.values, wanted.values)
        and np.array_equal(tfidf.features, weights.features)
        and bool(np.allclose(tfidf.values, weights.values, atol=_WEIGHT_OFF_MAX))
    )


def _shared(tables: Tables, name: Name, served: Sequence[Known]) -> Iterator[Damage]:
    """Dictionary and inverted index of the collection's row: there, whole, and of what is served."""
    if not served:
        return
    times = {one.timestamp for one in served}
    last = max(served, key=lambda one: one.timestamp)
    about = (last.conf, last.timestamp)
    try:
        versions = {from_dictionary(get_chunks(tables, COLLECTIONS, name.row, DICTIONARY)).version}
        index = from_index(get_chunks(tables, COLLECTIONS, name.row, INDEX))
        versions |= {run.version for run in index}
    except DamagedInputError as error:
        yield Damage(Remedy.SETTLE, f"dictionary or index cannot be read: {error}", *about)
        return
    if not versions <= times:
        told = f"dictionary or index are of {sorted(versions - times)}, which is not served"
        yield Damage(Remedy.SETTLE, told, *about)
