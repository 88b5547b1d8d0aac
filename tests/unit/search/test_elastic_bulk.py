"""Bulk requests to Elasticsearch and OpenSearch are limited in bytes."""

from __future__ import annotations

from fonds.search.index.elastic_client import REQUEST_MAX_BYTES, iter_chunks

LINE_CHARS = REQUEST_MAX_BYTES // 4


def test_a_request_is_limited_in_bytes_not_in_characters() -> None:
    lines = ["水" * LINE_CHARS, "a" * LINE_CHARS, "é" * LINE_CHARS, "b", "c"]
    chunks = list(iter_chunks(lines))
    assert [line for chunk in chunks for line in chunk] == lines
    assert [len(chunk) for chunk in chunks] == [2, 3]
    assert max(sum(len(line.encode()) for line in chunk) for chunk in chunks) <= REQUEST_MAX_BYTES


def test_a_line_above_the_limit_is_a_request_of_its_own() -> None:
    long_line = "a" * (REQUEST_MAX_BYTES + 1)
    assert list(iter_chunks(["b", long_line, "c"])) == [["b"], [long_line], ["c"]]


def test_a_lone_surrogate_is_accepted() -> None:
    assert list(iter_chunks(["a\udcff"])) == [["a\udcff"]]
