"""Vectors, dictionary and inverted index: they decode unchanged, and invalid bytes are refused."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.stored import chunks, dictionary, inverted_index, matrices, vectors
from fonds.grouping.stored.packing import (
    SMALL_COUNT_MAX,
    encode_varints,
    read_varints,
    seal_payload,
)
from fonds.model.errors import DamagedInputError, LimitError
from fonds.model.vectors import Dictionary, Postings, Vector

feature_sets = st.lists(st.integers(0, vectors.FEATURE_MAX), unique=True, max_size=30).map(sorted)
versions = st.integers(0, 2**63 - 1)
READERS: list[Callable[[bytes], object]] = [
    vectors.decode_idf_vector,
    vectors.decode_tfidf_vector,
    lambda value: dictionary.decode_dictionary([value]),
    lambda value: inverted_index.decode_postings([value]),
    lambda value: matrices.decode_matrix([value]),
]


def are_equal(first: Vector, second: Vector) -> bool:
    return (
        first.version == second.version
        and np.array_equal(first.features, second.features)
        and np.array_equal(first.values, second.values)
    )


@given(st.lists(st.integers(0, 2**63 - 1), max_size=50))
def test_varints_decode_unchanged(numbers: list[int]) -> None:
    encoded = encode_varints(np.array(numbers, dtype=np.uint64))
    read, end = read_varints(encoded, len(numbers))
    assert read.tolist() == numbers
    assert end == len(encoded)


@given(versions, feature_sets, st.data())
def test_term_frequencies_decode_unchanged(
    version: int, features: list[int], data: st.DataObject
) -> None:
    counts = data.draw(
        st.lists(st.integers(1, 10_000), min_size=len(features), max_size=len(features))
    )
    vector = Vector(version, np.array(features, np.int64), np.array(counts, np.float32))
    assert are_equal(vectors.decode_idf_vector(vectors.encode_idf_vector(vector)), vector)


@given(versions, feature_sets, st.data())
def test_weights_decode_to_three_digits(
    version: int, features: list[int], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(st.floats(1e-7, 1), min_size=len(features), max_size=len(features)))
    vector = Vector(version, np.array(features, np.int64), np.array(drawn, np.float32))
    read = vectors.decode_tfidf_vector(vectors.encode_tfidf_vector(vector))
    assert read.features.tolist() == features
    assert np.allclose(read.values, vector.values, rtol=1e-3, atol=1e-7)
    # A rounded value is not rounded a second time.
    assert are_equal(vectors.decode_tfidf_vector(vectors.encode_tfidf_vector(read)), read)


words = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@given(versions, st.sets(words, max_size=30), st.data())
def test_a_dictionary_decodes_unchanged(version: int, terms: set[str], data: st.DataObject) -> None:
    ordered = tuple(sorted(terms, key=lambda term: term.encode()))
    counts = data.draw(
        st.lists(st.integers(1, 10**9), min_size=len(ordered), max_size=len(ordered))
    )
    stored = Dictionary(version, 10**9, ordered, np.array(counts, np.int64))
    read = dictionary.decode_dictionary(dictionary.encode_dictionary(stored))
    assert (read.version, read.documents, read.terms) == (version, 10**9, ordered)
    assert read.document_counts.tolist() == counts


def build_postings(documents_by_feature: list[list[int]], first: int = 0) -> Postings:
    counts = np.array([len(row) for row in documents_by_feature], np.int64)
    documents = np.array([number for row in documents_by_feature for number in row], np.int64)
    weights = (1 + np.arange(len(documents), dtype=np.float32) % 7) / 8
    return Postings(5, first, counts, documents, weights)


def group_by_feature(parts: list[Postings]) -> dict[int, list[int]]:
    documents_by_feature: dict[int, list[int]] = {}
    for part in parts:
        ends = np.cumsum(part.counts)
        for offset, (end, count) in enumerate(zip(ends, part.counts, strict=True)):
            documents = part.documents[end - count : end].tolist()
            documents_by_feature.setdefault(part.first_feature + offset, []).extend(documents)
    return documents_by_feature


rows = st.lists(
    st.lists(st.integers(0, inverted_index.DOCUMENT_MAX), unique=True, max_size=8).map(sorted),
    max_size=12,
)


@given(rows, st.integers(1, 10), st.integers(1, 5), st.integers(0, 3))
def test_an_inverted_index_decodes_unchanged_from_any_number_of_chunks(
    document_lists: list[list[int]], postings_max: int, features_max: int, first: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inverted_index, "POSTINGS_MAX", postings_max)
        patch.setattr(inverted_index, "FEATURES_MAX", features_max)
        expected = build_postings(document_lists, first)
        parts = inverted_index.decode_postings(inverted_index.encode_postings(expected))
        assert all(len(part.documents) <= postings_max for part in parts)
    assert group_by_feature(parts) == {first + n: row for n, row in enumerate(document_lists)}
    assert np.array_equal(np.concatenate([part.weights for part in parts]), expected.weights)


@pytest.mark.parametrize(
    ("limit", "value", "document_lists"),
    [
        ("POSTINGS_MAX", 2, [[1, 2, 3]]),
        ("FEATURES_MAX", 2, [[1], [1], [1]]),
        ("FEATURE_MAX", 6, [[1]]),
        ("DOCUMENT_MAX", 2, [[3]]),
        ("DOCUMENT_MAX", 2, [[2, 3]]),
    ],
)
def test_an_inverted_index_over_a_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, document_lists: list[list[int]]
) -> None:
    cells = inverted_index.encode_postings(build_postings(document_lists, first=7))
    monkeypatch.setattr(inverted_index, limit, value + 1)
    assert len(inverted_index.decode_postings(cells)) == 1
    monkeypatch.setattr(inverted_index, limit, value)
    with pytest.raises(DamagedInputError):
        inverted_index.decode_postings(cells)


def test_chunks_are_below_the_cell_limit_of_hbase_and_in_separate_columns() -> None:
    value = bytes(20 * 1024 * 1024)
    cut = chunks.split(value)
    assert max(map(len, cut)) <= 8 * 1024 * 1024 < 10_000_000
    assert chunks.join_chunks(cut) == value
    names = [chunks.build_chunk_column("dictionary", number) for number in range(len(cut))]
    assert names == ["dictionary", "dictionary.1", "dictionary.2"]
    with pytest.raises(DamagedInputError):
        chunks.join_chunks(cut[:2])
    with pytest.raises(DamagedInputError):
        chunks.join_chunks([cut[0], cut[2], cut[1]])
    with pytest.raises(LimitError):
        chunks.number_pieces([b""] * (chunks.CHUNKS_MAX + 1))


@pytest.mark.parametrize("read", READERS)
@given(data=st.binary(max_size=80), kind=st.sampled_from([b"f", b"w", b"d", b"i", b"m"]))
def test_any_bytes_are_decoded_or_refused(
    read: Callable[[bytes], object], data: bytes, kind: bytes
) -> None:
    head = (0).to_bytes(4, "big") + (1).to_bytes(4, "big")
    for payload in (data, zlib.compress(data)):
        value = seal_payload(kind, payload)
        for stored in (data, value, head + value):
            try:
                read(stored)
            except DamagedInputError:
                continue


@given(st.integers(0, 40), st.integers(0, 5), st.integers(30, 200), st.integers(0, 2**32 - 1))
def test_a_matrix_decodes_to_three_digits_from_any_number_of_chunks(
    rows: int, columns: int, chunk_size: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    matrix = draw.normal(
        0, 10.0 ** draw.integers(-8, 8, max(columns, 1))[:columns], (rows, columns)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "_ROOM", chunk_size)
        cells = matrices.encode_matrix(matrix.astype(np.float32), 7)
    read, version = matrices.decode_matrix(cells)
    assert version == 7
    assert read.shape == (rows, columns)
    largest = np.abs(matrix).max(axis=0, initial=0)
    assert np.all(np.abs(read - matrix) <= 1e-3 * largest)
    if len(cells) > 1:
        with pytest.raises(DamagedInputError):
            matrices.decode_matrix(cells[:-1])


def test_any_changed_byte_is_detected() -> None:
    value = vectors.encode_idf_vector(Vector(3, np.array([2, 9]), np.array([1, 4], np.float32)))
    for position in range(len(value)):
        altered = value[:position] + bytes([value[position] ^ 1]) + value[position + 1 :]
        with pytest.raises(DamagedInputError):
            vectors.decode_idf_vector(altered)


@pytest.mark.parametrize(
    "payload",
    [
        encode_varints(np.array([1, 10**6 + 1])),
        encode_varints(np.array([1, 2, 5])),
        encode_varints(np.array([1, 1, 2**31])) + b"\x00",
        encode_varints(np.array([1, 1, 0, 2**24])),
        encode_varints(np.array([1, 0, 0])),
        b"\x80\x00" + encode_varints(np.array([0])),
        b"\xff" * 10,
    ],
)
def test_numbers_out_of_range_are_refused(payload: bytes) -> None:
    with pytest.raises(DamagedInputError):
        vectors.decode_idf_vector(seal_payload(b"f", payload))


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "UNPACKED_MAX_BYTES", 1000)
    bomb = chunks.split(seal_payload(b"d", zlib.compress(bytes(100_000))))
    with pytest.raises(DamagedInputError, match="or after 1000 bytes"):
        dictionary.decode_dictionary(bomb)


def test_unsorted_terms_and_counts_over_the_document_count_are_refused() -> None:
    good = Dictionary(1, 3, ("a", "b"), np.array([1, 3]))
    assert dictionary.decode_dictionary(dictionary.encode_dictionary(good)).terms == ("a", "b")
    for bad in (
        Dictionary(1, 3, ("b", "a"), np.array([1, 3])),
        Dictionary(1, 3, ("a", "a"), np.array([1, 3])),
        Dictionary(1, 3, ("a", "b"), np.array([1, 4])),
        Dictionary(1, 3, ("a", "b"), np.array([0, 3])),
    ):
        with pytest.raises(DamagedInputError):
            dictionary.decode_dictionary(dictionary.encode_dictionary(bad))


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_is_not_a_positive_number_is_refused(weight: float) -> None:
    payload = encode_varints(np.array([1, 1, 0])) + np.array([weight], "<f2").tobytes()
    with pytest.raises(DamagedInputError):
        vectors.decode_tfidf_vector(seal_payload(b"w", payload))


@given(
    st.lists(st.integers(0, 2**63 - 1), min_size=SMALL_COUNT_MAX + 1, max_size=SMALL_COUNT_MAX + 50)
)
def test_long_and_short_lists_of_varints_have_the_same_encoding(drawn: list[int]) -> None:
    numbers = np.array(drawn, dtype=np.int64)
    assert encode_varints(numbers) == encode_varints(numbers[:SMALL_COUNT_MAX]) + encode_varints(
        numbers[SMALL_COUNT_MAX:]
    )
