"""Bulk requests to Elasticsearch and OpenSearch are limited in bytes."""

from __future__ import annotations

from fonds.search.index.elastic_client import REQUEST_MAX_BYTES, encode_json, iter_chunks

LINE_CHARS = REQUEST_MAX_BYTES // 4


def test_a_request_is_limited_in_bytes_not_in_characters() -> None:
    lines = [encode_json(character * LINE_CHARS) for character in ("水", "é", "a")]
    chunks = list(iter_chunks([*lines, b"b", b"c"]))
    assert chunks == [lines[:1], [*lines[1:], b"b", b"c"]]
    assert max(sum(map(len, chunk)) for chunk in chunks) <= REQUEST_MAX_BYTES


def test_a_line_above_the_limit_is_a_request_of_its_own() -> None:
    long_line = b"a" * (REQUEST_MAX_BYTES + 1)
    assert list(iter_chunks([b"b", long_line, b"c"])) == [[b"b"], [long_line], [b"c"]]


def test_json_is_utf_8_without_lone_surrogates() -> None:
    assert encode_json({"text": "é\udcff"}) == '{"text": "é"}'.encode()
    assert encode_json({"text": "é"}) == '{"text":"é"}'.encode()
