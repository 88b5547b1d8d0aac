"""Codings of bodies: however the coded bytes are cut into pieces, the same comes of them, and all of it.

The first byte picks the codings, the second the length of the pieces, the third their first cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fixtures import warcs
from fonds.archive.warc.http_head import parse_head
from fonds.model.errors import LimitError, PermanentError
from fonds.text.coding import decode_body, list_codings
from nightly.fuzz.guarantees import holds

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
    """Decode in one piece and in many."""
    if len(data) < 3:
        return
    codings, size, first = STACKS[data[0] % len(STACKS)], data[1] % 64 + 1, data[2]
    body = data[3:]
    whole = _decoded([body], codings)
    pieces = [body[:first], *(body[at : at + size] for at in range(first, len(body), size))]
    holds(_decoded(pieces, codings) == whole, "pieces do not matter", (codings, size, first))
    if first == 0 and body:
        _check_round_trip(body, codings)
    head = parse_head(body)
    if head is not None:
        holds(0 < head[1] <= len(body), "a head lies within its block", head)
        list_codings(head[0])


def _check_round_trip(body: bytes, codings: Sequence[str]) -> None:
    """What unpacks to far more than a step comes back whole, unless so little makes so much."""
    coded = large = body * (LARGE_BYTES // len(body))
    for name in reversed(codings):
        coded = warcs.coded(coded, name)
    try:
        found = decode_body(lambda: iter([coded]), codings, body_max_bytes=LARGE_BYTES)
    except LimitError:
        return
    holds(found == large, "what was coded comes back", (codings, len(found), len(large)))


def _decoded(pieces: Sequence[bytes], codings: Sequence[str]) -> object:
    try:
        body = decode_body(lambda: iter(pieces), codings, body_max_bytes=BODY_MAX_BYTES)
    except PermanentError as fault:
        return fault.reason
    holds(len(body) <= BODY_MAX_BYTES, "a body is within its limit", len(body))
    return body


def seeds() -> Iterator[bytes]:
    """A page in every stack, whole and cut, and several members."""
    for number, codings in enumerate(STACKS):
        body = warcs.PAGE
        for name in reversed(codings):
            body = warcs.coded(body, name)
        for size in (1, 7, 63):
            yield bytes([number, size, 3]) + body
        yield bytes([number, 5, 0]) + body[:-5]
        yield bytes([number, 5, 0]) + warcs.PAGE
        yield bytes([number, 9, 1]) + warcs.flipped(body, len(body) // 2)
        yield bytes([number, 9, 1]) + body + body
    yield bytes([0, 3, 11]) + warcs.coded(b"", "gzip") * 5 + warcs.coded(b"x", "gzip") + b"tail"
    yield b"\0\1\1HTTP/1.1 200 OK\r\nContent-Encoding: gzip, br\r\n\r\n" + warcs.PAGE
