"""Decoding HTTP codings: coded bodies are decoded, other bodies stay unchanged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import warcs
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.exchange import HttpHead
from fonds.text.coding import CODINGS_MAX, MEMBERS_MAX, decode_body, list_codings

CODINGS = ["chunked", "gzip", "deflate", "br", "zstd"]


def decode(body: bytes, codings: list[str], piece_bytes: int = 7) -> bytes:
    def pieces() -> Iterator[bytes]:
        for start in range(0, len(body), piece_bytes):
            yield body[start : start + piece_bytes]

    return decode_body(pieces, codings, body_max_bytes=10_000_000)


@given(st.binary(max_size=2000), st.lists(st.sampled_from(CODINGS), max_size=4), st.integers(1, 99))
@settings(deadline=None)
def test_any_stack_of_codings_is_decoded(body: bytes, codings: list[str], piece: int) -> None:
    encoded_body = body
    for name in reversed(codings):
        encoded_body = warcs.encode_body(encoded_body, name)
    assert decode(encoded_body, codings, piece) == body


BODIES = {
    "a page": warcs.PAGE,
    "nothing": b"",
    "one byte": b"x",
    "much of the same": b"0123456789" * 3_000,
}
STACKS = [
    [],
    *([name] for name in CODINGS),
    ["chunked", "gzip"],
    ["gzip", "br"],
    ["zstd", "deflate"],
]


def encode_stack(body: bytes, codings: list[str]) -> bytes:
    for name in reversed(codings):
        body = warcs.encode_body(body, name)
    return body


def decode_or_get_reason(pieces: list[bytes], codings: list[str]) -> object:
    try:
        return decode_body(lambda: iter(pieces), codings, body_max_bytes=10_000_000)
    except PermanentError as fault:
        return fault.reason


def iter_cuts(encoded_body: bytes) -> Iterator[list[bytes]]:
    """Yield the bytes in two pieces cut at every offset, and in pieces of every size up to 70."""
    for offset in range(len(encoded_body) + 1):
        yield [encoded_body[:offset], encoded_body[offset:]]
    for size in range(1, min(len(encoded_body), 70) + 1):
        yield [encoded_body[offset : offset + size] for offset in range(0, len(encoded_body), size)]


@pytest.mark.parametrize("codings", STACKS, ids="+".join)
@pytest.mark.parametrize("name", BODIES)
def test_decoding_does_not_depend_on_piece_boundaries(name: str, codings: list[str]) -> None:
    encoded_body = encode_stack(BODIES[name], codings)
    for pieces in iter_cuts(encoded_body if len(encoded_body) < 1_500 else encoded_body[:1_500]):
        remainder = encoded_body[1_500:] if len(encoded_body) >= 1_500 else b""
        assert decode_or_get_reason([*pieces, remainder], codings) == BODIES[name]


LARGE = {
    "one byte over and over": b"a" * 900_000,
    "what packs well": (b"0123456789abcdef" * 64 + Random(2).randbytes(3_000)) * 400,
    "what does not pack": Random(1).randbytes(2_000_000),
}


@pytest.mark.parametrize("coding", [*CODINGS, "raw-deflate"])
@pytest.mark.parametrize("name", LARGE)
def test_a_large_body_is_decoded_completely(name: str, coding: str) -> None:
    encoded_body = warcs.encode_body(LARGE[name], coding)
    header = coding.removeprefix("raw-")
    for size in (len(encoded_body), 65_536, 1_000):
        pieces = [encoded_body[start : start + size] for start in range(0, len(encoded_body), size)]
        assert decode_or_get_reason(pieces, [header]) == LARGE[name]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(
            lambda encoded_body: encoded_body[: len(encoded_body) // 2], id="its end missing"
        ),
        pytest.param(
            lambda encoded_body: warcs.flip_byte(encoded_body, len(encoded_body) // 2),
            id="one byte wrong",
        ),
        pytest.param(
            lambda encoded_body: warcs.flip_byte(encoded_body, 3), id="its beginning wrong"
        ),
        pytest.param(
            lambda encoded_body: encoded_body + b"\x1f\x8b and more", id="something behind it"
        ),
        pytest.param(lambda encoded_body: encoded_body + encoded_body, id="twice"),
    ],
)
@pytest.mark.parametrize("codings", STACKS[1:], ids="+".join)
def test_damage_has_one_outcome_for_all_piece_boundaries(damage, codings: list[str]) -> None:
    encoded_body = damage(encode_stack(warcs.PAGE, codings))
    expected = decode_or_get_reason([encoded_body], codings)
    for pieces in iter_cuts(encoded_body):
        assert decode_or_get_reason(pieces, codings) == expected


@given(st.lists(st.binary(max_size=90), max_size=12), st.data())
def test_no_gzip_member_is_lost_at_piece_boundaries(
    bodies: list[bytes], data: st.DataObject
) -> None:
    encoded_body = b"".join(warcs.encode_body(body, "gzip") for body in bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded_body)), max_size=20)))
    pieces = [
        encoded_body[start:end]
        for start, end in zip([0, *cuts], [*cuts, len(encoded_body)], strict=True)
    ]
    assert decode_or_get_reason(pieces, ["gzip"]) == b"".join(bodies)


def test_a_second_gzip_member_is_found_after_a_piece_boundary() -> None:
    first, second = warcs.encode_body(b"first", "gzip"), warcs.encode_body(b"second", "gzip")
    for byte_count in (1, 2):
        pieces = [first + second[:byte_count], second[byte_count:]]
        assert decode_or_get_reason(pieces, ["gzip"]) == b"firstsecond"


def test_members_and_codings_are_limited() -> None:
    member = warcs.encode_body(b"", "gzip")
    assert decode_or_get_reason([member * MEMBERS_MAX], ["gzip"]) == b""
    assert decode_or_get_reason([member * (MEMBERS_MAX + 1)], ["gzip"]) is Reason.BOMB
    assert decode_or_get_reason([b"x"], ["gzip"] * (CODINGS_MAX + 1)) is Reason.BOMB


@given(st.binary(max_size=500), st.lists(st.sampled_from(CODINGS), max_size=4))
@settings(deadline=None)
def test_any_bytes_give_bytes_or_a_permanent_error(body: bytes, codings: list[str]) -> None:
    with contextlib.suppress(PermanentError):
        assert isinstance(decode(body, codings), bytes)


@given(st.text("<>abc \n", max_size=300), st.sampled_from(CODINGS[1:]))
@settings(deadline=None)
def test_a_plain_page_is_never_decompressed(text: str, coding: str) -> None:
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
    assert list_codings(HttpHead(200, "HTTP/1.1 200 OK", headers)) == codings


def test_a_missing_coding_reads_the_body_twice() -> None:
    calls = []

    def pieces() -> Iterator[bytes]:
        calls.append(1)
        yield warcs.PAGE

    assert decode_body(pieces, ["gzip"], body_max_bytes=1000) == warcs.PAGE
    assert len(calls) == 2
