"""Undoing codings: whatever was coded comes back, whatever was not stays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import warcs
from fonds.formats.coding import codings_of, decode_body
from fonds.model.archive import HttpHead
from fonds.model.errors import PermanentError

CODINGS = ["chunked", "gzip", "deflate", "br", "zstd"]


def decode(body: bytes, codings: list[str], piece_bytes: int = 7) -> bytes:
    def pieces() -> Iterator[bytes]:
        for start in range(0, len(body), piece_bytes):
            yield body[start : start + piece_bytes]

    return decode_body(pieces, codings, body_max_bytes=10_000_000)


@given(st.binary(max_size=2000), st.lists(st.sampled_from(CODINGS), max_size=4), st.integers(1, 99))
@settings(deadline=None)
def test_every_stack_of_codings_comes_back(body: bytes, codings: list[str], piece: int) -> None:
    coded = body
    for name in reversed(codings):
        coded = warcs.coded(coded, name)
    assert decode(coded, codings, piece) == body


@given(st.binary(max_size=500), st.lists(st.sampled_from(CODINGS), max_size=4))
@settings(deadline=None)
def test_any_bytes_give_bytes_or_a_permanent_error(body: bytes, codings: list[str]) -> None:
    with contextlib.suppress(PermanentError):
        assert isinstance(decode(body, codings), bytes)


@given(st.text("<>abc \n", max_size=300), st.sampled_from(CODINGS[1:]))
@settings(deadline=None)
def test_a_page_is_never_taken_for_compressed(text: str, coding: str) -> None:
    body = b"<html>" + text.encode()
    assert decode(body, [coding]) == body


@pytest.mark.parametrize(
    ("headers", "codings"),
    [
        ((), []),
        ((("Content-Encoding", "gzip"),), ["gzip"]),
        ((("content-encoding", " X-GZIP "),), ["gzip"]),
        ((("Content-Encoding", "gzip, br"),), ["br", "gzip"]),
        ((("Content-Encoding", "gzip"), ("Content-Encoding", "br")), ["br", "gzip"]),
        ((("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")), ["chunked", "gzip"]),
        ((("Transfer-Encoding", "gzip, chunked"),), ["chunked", "gzip"]),
        ((("Content-Encoding", "identity, utf-8, none"),), []),
        ((("Content-Encoding", "chunked"),), []),
    ],
)
def test_codings_are_listed_outermost_first(
    headers: tuple[tuple[str, str], ...], codings: list[str]
) -> None:
    assert codings_of(HttpHead(200, "HTTP/1.1 200 OK", headers)) == codings


def test_the_body_is_asked_for_again_only_when_a_coding_is_not_there() -> None:
    asked = []

    def pieces() -> Iterator[bytes]:
        asked.append(1)
        yield warcs.PAGE

    assert decode_body(pieces, ["gzip"], body_max_bytes=1000) == warcs.PAGE
    assert len(asked) == 2
