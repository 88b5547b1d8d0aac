"""Row keys: they sort like their parts, are unique, start with the key of the parent, and can be parsed."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fonds.grouping.stored.keys import (
    KEY_MAX_BYTES,
    TIMESTAMP_MAX,
    build_cluster_row,
    build_clustering_prefix,
    build_collection_row,
    build_document_row,
    parse_cluster_row,
    parse_collection_row,
    parse_document_row,
)
from fonds.model.errors import DamagedInputError, LimitError

# Characters that could be confused with separators are frequent; all others can occur.
tricky = st.text(st.sampled_from("\x00\x01\x02/a\x7f\x80ÿ\ufffd\U0010ffff"), max_size=5)
texts = tricky | st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
timestamps = st.integers(0, TIMESTAMP_MAX) | st.integers(0, 3)
documents = st.tuples(texts, texts, texts)
clusters = st.tuples(texts, texts, texts, timestamps, texts)


def encode_parts(parts: tuple[str | int, ...]) -> tuple[bytes | int, ...]:
    return tuple(part.encode() if isinstance(part, str) else part for part in parts)


@given(documents, documents)
@example(("a", "b", "c"), ("a\x00\x01b", "", "c"))
@example(("a", "", ""), ("a\x00", "", ""))
def test_document_rows_sort_and_differ_like_their_parts(
    first_parts: tuple[str, str, str], second_parts: tuple[str, str, str]
) -> None:
    first, second = build_document_row(*first_parts), build_document_row(*second_parts)
    assert (first < second) == (encode_parts(first_parts) < encode_parts(second_parts))
    assert (first == second) == (first_parts == second_parts)


@given(clusters, clusters)
@example(("a", "b", "c", 255, ""), ("a", "b", "c", 256, ""))
def test_cluster_rows_sort_and_differ_like_their_parts(
    first_parts: tuple[str, str, str, int, str], second_parts: tuple[str, str, str, int, str]
) -> None:
    first, second = build_cluster_row(*first_parts), build_cluster_row(*second_parts)
    assert (first < second) == (encode_parts(first_parts) < encode_parts(second_parts))
    assert (first == second) == (first_parts == second_parts)


@given(documents, clusters)
def test_the_parts_of_a_row_can_be_parsed_from_it(
    document: tuple[str, str, str], cluster: tuple[str, str, str, int, str]
) -> None:
    assert parse_collection_row(build_collection_row(*document[:2])) == document[:2]
    assert parse_document_row(build_document_row(*document)) == document
    assert parse_cluster_row(build_cluster_row(*cluster)) == cluster


@given(clusters, clusters)
def test_each_key_is_a_prefix_of_its_children_only(
    first_parts: tuple[str, str, str, int, str], second_parts: tuple[str, str, str, int, str]
) -> None:
    row = build_cluster_row(*second_parts)
    assert row.startswith(build_collection_row(*first_parts[:2])) == (
        first_parts[:2] == second_parts[:2]
    )
    assert row.startswith(build_clustering_prefix(*first_parts[:4])) == (
        first_parts[:4] == second_parts[:4]
    )
    document = build_document_row(*second_parts[:3])
    assert document.startswith(build_collection_row(*first_parts[:2])) == (
        first_parts[:2] == second_parts[:2]
    )


@given(st.lists(clusters, min_size=1, max_size=8), st.integers(0, 7))
def test_a_prefix_scan_returns_exactly_one_clustering(
    stored: list[tuple[str, str, str, int, str]], index: int
) -> None:
    expected = stored[index % len(stored)]
    prefix = build_clustering_prefix(*expected[:4])
    matching = [
        row
        for row in sorted({build_cluster_row(*parts) for parts in stored})
        if row.startswith(prefix)
    ]
    assert matching == sorted(
        {build_cluster_row(*parts) for parts in stored if parts[:4] == expected[:4]}
    )


@given(st.binary(max_size=40))
def test_bytes_are_refused_or_are_the_row_of_their_parts(data: bytes) -> None:
    try:
        parts = parse_cluster_row(data)
    except DamagedInputError:
        return
    assert build_cluster_row(*parts) == data


@pytest.mark.parametrize(
    "row",
    [
        b"",
        b"a",
        b"a\x00\x01",
        b"a\x00\x01b\x00\x01c",
        b"a\x00b\x00\x01c\x00\x01",
        b"\xff\x00\x01\x00\x01",
    ],
)
def test_a_truncated_or_wrongly_escaped_row_is_refused(row: bytes) -> None:
    with pytest.raises(DamagedInputError):
        parse_collection_row(row)


def test_a_key_over_the_length_limit_is_refused() -> None:
    build_document_row("n", "c", "x" * (KEY_MAX_BYTES - 8))
    with pytest.raises(LimitError):
        build_document_row("n", "c", "x" * (KEY_MAX_BYTES - 7))
    with pytest.raises(DamagedInputError):
        parse_collection_row(b"a\x00\x01" + b"b" * KEY_MAX_BYTES)


@pytest.mark.parametrize("timestamp", [-1, TIMESTAMP_MAX + 1])
def test_a_timestamp_out_of_range_is_refused(timestamp: int) -> None:
    with pytest.raises(ValueError, match="between 0 and"):
        build_clustering_prefix("n", "c", "DEFAULT", timestamp)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        build_collection_row("\ud800", "c")
