"""Codings of bodies: the decoded body does not depend on the pieces of the encoded bytes.

The first byte selects the codings, the second the length of the pieces, the third their first cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fixtures import warcs
from fonds.archive.warc.http_head import parse_head
from fonds.model.errors import LimitError, PermanentError
from fonds.text.coding import decode_body, list_codings
from nightly.fuzz.guarantees import require

BODY_MAX_BYTES = 200_000
LARGE_BYTES = 700_000
STACKS: Sequence[Sequence[str]] = (
    ["gzip"],
    ["deflate"],
    ["br"],
    ["zstd"],
    ["chunked"],
    ["chunked", "gzip"],
    ["gzip", "gzip"],
    ["chunked", "br", "deflate"],
    ["zstd", "gzip"],
)


def check(data: bytes) -> None:
    """Decode the body in one piece and in several."""
    if len(data) < 3:
        return
    codings, size, first = STACKS[data[0] % len(STACKS)], data[1] % 64 + 1, data[2]
    body = data[3:]
    expected = _decode([body], codings)
    pieces = [body[:first], *(body[at : at + size] for at in range(first, len(body), size))]
    require(
        _decode(pieces, codings) == expected,
        "pieces do not change the body",
        (codings, size, first),
    )
    if first == 0 and body:
        _check_round_trip(body, codings)
    head = parse_head(body)
    if head is not None:
        require(0 < head[1] <= len(body), "a head ends within its block", head)
        list_codings(head[0])


def _check_round_trip(body: bytes, codings: Sequence[str]) -> None:
    """Check that a body larger than a step is fully decoded, unless its ratio exceeds the limit."""
    encoded = large = body * (LARGE_BYTES // len(body))
    for name in reversed(codings):
        encoded = warcs.encode_body(encoded, name)
    try:
        decoded = decode_body(lambda: iter([encoded]), codings, body_max_bytes=LARGE_BYTES)
    except LimitError:
        return
    require(
        decoded == large,
        "an encoded body is decoded unchanged",
        (codings, len(decoded), len(large)),
    )


def _decode(pieces: Sequence[bytes], codings: Sequence[str]) -> object:
    try:
        body = decode_body(lambda: iter(pieces), codings, body_max_bytes=BODY_MAX_BYTES)
    except PermanentError as fault:
        return fault.reason
    require(len(body) <= BODY_MAX_BYTES, "a body keeps its limit", len(body))
    return body


def seeds() -> Iterator[bytes]:
    """Yield a page in every stack, complete and cut, and several members."""
    for number, codings in enumerate(STACKS):
        body = warcs.PAGE
        for name in reversed(codings):
            body = warcs.encode_body(body, name)
        for size in (1, 7, 63):
            yield bytes([number, size, 3]) + body
        yield bytes([number, 5, 0]) + body[:-5]
        yield bytes([number, 5, 0]) + warcs.PAGE
        yield bytes([number, 9, 1]) + warcs.flip_byte(body, len(body) // 2)
        yield bytes([number, 9, 1]) + body + body
    yield (
        bytes([0, 3, 11])
        + warcs.encode_body(b"", "gzip") * 5
        + warcs.encode_body(b"x", "gzip")
        + b"tail"
    )
    yield b"\0\1\1HTTP/1.1 200 OK\r\nContent-Encoding: gzip, br\r\n\r\n" + warcs.PAGE
