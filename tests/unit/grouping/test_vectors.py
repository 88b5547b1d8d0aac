"""Vectors posted with documents: only their direction is stored, and configurations can cluster by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.columns import Column
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document, parse_document, validate_document
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.dense_vectors import (
    NUMBERS_MAX,
    decode_dense_vector,
    encode_dense_vector,
)
from fonds.grouping.tables import DOCUMENTS
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import explain_placement, list_placements
from fonds.model.errors import DamagedInputError
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents


def build_documents(count: int, seed: int = 0) -> list[Document]:
    """Return texts without common words, on four themes given by their vectors."""
    draw = np.random.default_rng(seed)
    return [
        Document(
            f"{seed}-{n}",
            f"word{n}s{seed} other{n}s{seed} thing{n // 2}",
            vector=tuple((np.eye(4)[n % 4] + draw.normal(0, 0.1, 4)).tolist()),
        )
        for n in range(count)
    ]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20).filter(any))
def test_a_vector_is_stored_as_its_direction(numbers: list[float]) -> None:
    dense_vector = decode_dense_vector(encode_dense_vector(numbers))
    scaled = np.array(numbers) / np.abs(numbers).max()
    assert np.allclose(dense_vector, scaled / np.linalg.norm(scaled), atol=1e-6)
    assert encode_dense_vector(dense_vector.tolist()) == encode_dense_vector(
        tuple(dense_vector.tolist())
    )


def test_an_invalid_vector_is_refused() -> None:
    assert encode_dense_vector(()) == b""
    for numbers in ((float("nan"),), (float("inf"), 1.0), (0.0, 0.0), (1.0,) * (NUMBERS_MAX + 1)):
        with pytest.raises(ValueError, match="finite numbers"):
            validate_document(Document("a", "text", vector=numbers))
    stored = encode_dense_vector((3.0, 4.0))
    for broken in (stored[:-1], stored[:-4], b"FGv", stored[:8], stored[:-1] + b"\xff"):
        with pytest.raises(DamagedInputError):
            decode_dense_vector(broken)


def test_documents_are_clustered_by_their_vectors(
    store: CollectionStore,
) -> None:
    save_configuration(
        store.tables, "news", "dense", build_configuration({"clusters": 4, "dense": 4})
    )
    store.writer.put(NEWS, [*build_documents(80), Document("none", "without any vector at all")])
    rebuilt = rebuild(store.writer, NEWS, "dense")
    assert (rebuilt.clusters, rebuilt.unclustered) == (4, 1)
    labels = {n: list_placements(store.tables, NEWS, f"0-{n}")[0].label for n in range(80)}
    is_agreeing = [labels[n] == labels[n + 4] for n in range(76)]
    assert np.mean(is_agreeing) > 0.9
    served = load_clusters(store.tables, NEWS, "dense")
    assert served is not None
    assert served.unclustered["vector"] == 1

    later = [
        Document(f"1-{n}", f"word{n}s0 fresh{n}", vector=later_document.vector)
        for n, later_document in enumerate(build_documents(8, seed=1))
    ]
    store.writer.put(NEWS, [*later, Document("later", "word1s0 fresh", vector=(1.0,))])
    near = [list_placements(store.tables, NEWS, f"1-{n}")[0].label == labels[n] for n in range(8)]
    assert np.mean(near) >= 0.75
    assert list_placements(store.tables, NEWS, "later")[0].unclustered_reason == "vector"
    assert explain_placement(store.tables, store.writer.models, NEWS, "0-1", "dense") is not None
    assert find_faults(store.tables, NEWS) == []


def test_a_vector_of_another_direction_replaces_the_document(store: CollectionStore) -> None:
    original = Document("a", "a text of some words", vector=(1.0, 2.0))
    assert store.writer.put(NEWS, [original]).added == 1
    assert store.writer.put(NEWS, [Document("a", original.text, vector=(2.0, 4.0))]).unchanged == 1
    assert store.writer.put(NEWS, [Document("a", original.text, vector=(2.0, 1.0))]).replaced == 1
    assert store.writer.put(NEWS, [Document("a", original.text)]).replaced == 1
    (cells,) = store.tables.get_rows(DOCUMENTS, [NEWS.build_document_row("a")]).values()
    assert cells[Column.VECTOR_DENSE] == b""
    assert parse_document(cells).document.vector == ()


def test_a_configuration_clusters_only_documents_with_the_given_fields(
    store: CollectionStore,
) -> None:
    save_configuration(
        store.tables, "news", "en", build_configuration({"where": ["language=en", "title=a=b"]})
    )
    text = "a text of some words"
    store.writer.put(
        NEWS,
        [
            Document("in", text, title="a=b", language="en"),
            Document("title", text, title="a", language="en"),
            Document("language", text, title="a=b"),
        ],
    )
    rebuilt = rebuild(store.writer, NEWS, "en")
    assert (rebuilt.documents, rebuilt.unclustered) == (1, 2)
    assert list_placements(store.tables, NEWS, "title")[0].unclustered_reason == "field"
    for condition, message in (
        ("langage=en", "Did you mean 'language'"),
        ("language", "FIELD=VALUE"),
    ):
        with pytest.raises(ValueError, match=message):
            build_configuration({"where": [condition]})
    with pytest.raises(ValueError, match="dense must be the length"):
        build_configuration({"dense": 0})


def test_a_text_without_terms_deletes_the_vectors_of_the_previous_text(
    store: CollectionStore,
) -> None:
    store.writer.put(NEWS, themed_documents(60))
    rebuild(store.writer, NEWS)
    columns = ["processing:vector_idf", "processing:vector_tfidf"]
    row = NEWS.build_document_row("d0")
    assert all(store.tables.get_row(DOCUMENTS, row, columns).values())
    store.writer.put(NEWS, [Document("d0", "... !")])
    assert [store.tables.get_row(DOCUMENTS, row, columns)[name] for name in columns] == [b"", b""]
