"""Row keys: in the order of their parts, one for each, each a prefix of the longer, and back again."""

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

# Characters that could be taken for ends of parts come up often; all others may as well.
tricky = st.text(st.sampled_from("\x00\x01\x02/a\x7f\x80ÿ\ufffd\U0010ffff"), max_size=5)
texts = tricky | st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
timestamps = st.integers(0, TIMESTAMP_MAX) | st.integers(0, 3)
documents = st.tuples(texts, texts, texts)
clusters = st.tuples(texts, texts, texts, timestamps, texts)


def in_bytes(parts: tuple[str | int, ...]) -> tuple[bytes | int, ...]:
    return tuple(part.encode() if isinstance(part, str) else part for part in parts)


@given(documents, documents)
@example(("a", "b", "c"), ("a\x00\x01b", "", "c"))
@example(("a", "", ""), ("a\x00", "", ""))
def test_rows_of_documents_sort_as_their_parts_and_differ_as_they_do(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    first, second = build_document_row(*one), build_document_row(*other)
    assert (first < second) == (in_bytes(one) < in_bytes(other))
    assert (first == second) == (one == other)


@given(clusters, clusters)
@example(("a", "b", "c", 255, ""), ("a", "b", "c", 256, ""))
def test_rows_of_clusters_sort_as_their_parts_and_differ_as_they_do(
    one: tuple[str, str, str, int, str], other: tuple[str, str, str, int, str]
) -> None:
    first, second = build_cluster_row(*one), build_cluster_row(*other)
    assert (first < second) == (in_bytes(one) < in_bytes(other))
    assert (first == second) == (one == other)


@given(documents, clusters)
def test_what_a_row_was_made_of_can_be_read_from_it(
    document: tuple[str, str, str], cluster: tuple[str, str, str, int, str]
) -> None:
    assert parse_collection_row(build_collection_row(*document[:2])) == document[:2]
    assert parse_document_row(build_document_row(*document)) == document
    assert parse_cluster_row(build_cluster_row(*cluster)) == cluster


@given(clusters, clusters)
def test_each_key_is_a_prefix_of_those_below_it_and_of_no_other(
    one: tuple[str, str, str, int, str], other: tuple[str, str, str, int, str]
) -> None:
    row = build_cluster_row(*other)
    assert row.startswith(build_collection_row(*one[:2])) == (one[:2] == other[:2])
    assert row.startswith(build_clustering_prefix(*one[:4])) == (one[:4] == other[:4])
    document = build_document_row(*other[:3])
    assert document.startswith(build_collection_row(*one[:2])) == (one[:2] == other[:2])


@given(st.lists(clusters, min_size=1, max_size=8), st.integers(0, 7))
def test_a_scan_of_a_prefix_finds_a_clustering_exactly(
    stored: list[tuple[str, str, str, int, str]], which: int
) -> None:
    asked = stored[which % len(stored)]
    prefix = build_clustering_prefix(*asked[:4])
    found = [
        row for row in sorted({build_cluster_row(*one) for one in stored}) if row.startswith(prefix)
    ]
    assert found == sorted({build_cluster_row(*one) for one in stored if one[:4] == asked[:4]})


@given(st.binary(max_size=40))
def test_bytes_that_are_no_row_are_refused_or_are_the_row_of_their_parts(data: bytes) -> None:
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
def test_a_row_that_is_cut_or_wrongly_escaped_is_refused(row: bytes) -> None:
    with pytest.raises(DamagedInputError):
        parse_collection_row(row)


def test_a_key_longer_than_a_table_takes_is_refused() -> None:
    build_document_row("n", "c", "x" * (KEY_MAX_BYTES - 8))
    with pytest.raises(LimitError):
        build_document_row("n", "c", "x" * (KEY_MAX_BYTES - 7))
    with pytest.raises(DamagedInputError):
        parse_collection_row(b"a\x00\x01" + b"b" * KEY_MAX_BYTES)


@pytest.mark.parametrize("timestamp", [-1, TIMESTAMP_MAX + 1])
def test_a_timestamp_that_fits_no_eight_bytes_is_refused(timestamp: int) -> None:
    with pytest.raises(ValueError, match="between 0 and"):
        build_clustering_prefix("n", "c", "DEFAULT", timestamp)


def test_half_a_pair_is_no_utf_8() -> None:
    with pytest.raises(UnicodeEncodeError):
        build_collection_row("\ud800", "c")
