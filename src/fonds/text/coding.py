"""Decode the Transfer-Encoding and Content-Encoding (codings) of archived bodies, within limits.

Source: RFC 9112, section 7.1 (chunked); RFC 9110, section 8.4 (content codings); RFC 7932 (br); RFC
8878 (zstd).

Headers in archives are often wrong, since many crawlers decode a body and keep the header. Rules:
- A body that does not begin like its declared coding is kept unchanged.
- Of a coded body that ends too early, the decoded part is kept, as a browser would show it.
- A body that is corrupt in the middle is refused (BAD_ENCODING), since the missing part is unknown.

The result does not depend on how the input is split into pieces, because each coding is decoded in
steps of fixed size.

Limits: linear in input and output; at most 8 codings per body, each of which produces at most 200
times its input plus 1 MiB; at most 100,000 gzip members.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, cast

import brotli
import zstandard
from zlib_ng import zlib_ng

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError
from fonds.model.exchange import HttpHead

Pieces = Iterator[bytes]

InflateError = cast("type[Exception]", zlib_ng.error)
"""Error of zlib-ng for damaged data. The types published for zlib-ng call it an instance."""
RATIO_MAX = 200
RATIO_ALLOWANCE_BYTES = 1024 * 1024
CODINGS_MAX = 8
MEMBERS_MAX = 100_000
"""Maximum number of gzip members in a body. Members of bgzip files have 64 KiB."""

_OUTPUT_BYTES = 256 * 1024
_STEP_BYTES = {"gzip": 1024, "deflate": 1024, "br": 4096, "zstd": 16 * 1024}
"""Number of bytes to decode per step, by coding. The number is small, so that little data before a
damaged part is lost.
"""
_WINDOW_MAX_BYTES = 8 * 1024 * 1024
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]{0,4000})?\r?\n")
_LINE_MAX_BYTES = 4096
_PLAIN_START = re.compile(rb"\s{0,200}(?:<[!?A-Za-z]|[{\[]|%PDF-)")
_CODING_ALIASES = {"x-gzip": "gzip", "x-deflate": "deflate", "x-br": "br", "brotli": "br"}
_MAGICS = {"gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}
_CODING_HEADERS = ("transfer-encoding", "content-encoding")
_CODED = frozenset({"gzip", "deflate", "br", "zstd"})


class _TruncatedCodingError(Exception):
    """Error: a coded body, such as gzip, ends before its coding is complete."""


class _NotCodedError(Exception):
    """Error: a body does not begin like the coding that its header declares.

    - `layer`: number of this coding in the list of the body's codings, from 0.
    """

    def __init__(self, layer: int) -> None:
        super().__init__(layer)
        self.layer = layer


def list_codings(http: HttpHead) -> list[str]:
    """Return the codings of a response's body, in the order in which to decode them: `chunked`,
    `gzip`, `deflate`, `br`, `zstd`.

    Unknown names (`identity`, `utf-8`, …) are ignored, because servers write many other values.
    """
    codings: list[str] = []
    if not any(name.lower() in _CODING_HEADERS for name, _ in http.headers):
        return codings
    for header in _CODING_HEADERS:
        values = [value for name, value in http.headers if name.lower() == header]
        names = [part.strip().lower() for value in values for part in value.split(",")]
        canonical_names = [_CODING_ALIASES.get(name, name) for name in names]
        allowed_names = _CODED | {"chunked"} if header == "transfer-encoding" else _CODED
        codings += [name for name in reversed(canonical_names) if name in allowed_names]
    return codings


def list_unknown_codings(http: HttpHead) -> list[str]:
    """Return the names in Content-Encoding that are neither a supported coding nor `identity`."""
    values = [value for name, value in http.headers if name.lower() == "content-encoding"]
    names = [part.strip().lower() for value in values for part in value.split(",")]
    known_codings = _CODED | _CODING_ALIASES.keys() | {"identity", ""}
    return [name for name in names if name not in known_codings]


def is_packed(body: bytes) -> bool:
    """Return whether a body begins like gzip or zstd data."""
    return body.startswith(tuple(_MAGICS.values()))


def decode_body(
    open_pieces: Callable[[], Pieces], codings: Sequence[str], *, body_max_bytes: int
) -> bytes:
    """Return a body after decoding `codings` in order.

    `open_pieces` returns the coded body from its start, in pieces. It is called again if a declared
    coding turns out to be absent. Raises LimitError (TOO_LARGE) above `body_max_bytes`, LimitError
    (BOMB) if a coding expands too much, and DamagedInputError (BAD_ENCODING) if the body is
    corrupt.
    """
    layers = list(codings)
    if len(layers) > CODINGS_MAX:
        raise LimitError(
            Reason.BOMB, (f"the body has {len(layers)} content codings; the limit is {CODINGS_MAX}")
        )
    while True:
        try:
            return _collect(_undo_layers(open_pieces(), layers), body_max_bytes)
        except _NotCodedError as wrong:
            del layers[wrong.layer]


def decode_start(body: bytes, codings: Sequence[str], *, size_max: int, is_cut: bool) -> bytes:
    """Return the first `size_max` bytes of a body after decoding `codings` in order.

    A coded body that ends too early is corrupt, unless the caller has cut it (`is_cut`). Raises
    LimitError (BOMB) if a coding expands too much, and DamagedInputError (BAD_ENCODING) if the body
    is corrupt.
    """
    layers = list(codings)
    if len(layers) > CODINGS_MAX:
        raise LimitError(Reason.BOMB, f"the body has {len(layers)} content codings")
    while True:
        start = b""
        try:
            for piece in _undo_layers(iter((body,)), layers, is_whole=not is_cut):
                start += piece[: size_max - len(start)]
                if len(start) == size_max:
                    break
        except _NotCodedError as wrong:
            del layers[wrong.layer]
        else:
            return start


def _undo_layers(pieces: Pieces, layers: Sequence[str], *, is_whole: bool = False) -> Pieces:
    for number, name in enumerate(layers):
        if name == "chunked":
            pieces = _unchunk(pieces, number)
        else:
            pieces = _decode_layer(pieces, name, number, is_whole=is_whole)
    return pieces


def _collect(pieces: Pieces, body_max_bytes: int) -> bytes:
    body = io.BytesIO()
    for piece in pieces:
        if body.tell() + len(piece) > body_max_bytes:
            raise LimitError(Reason.TOO_LARGE, f"the body is larger than {body_max_bytes} bytes")
        body.write(piece)
    return body.getvalue()


class _PieceReader:
    """Reader of a body that arrives in pieces, by line or by number of bytes."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._buffer = b""
        self._position = 0

    def read_line(self) -> bytes:
        """Return the next line of the body, at most 4 KiB.

        The line ends without a line end only at this limit or at the end of the body.
        """
        while (
            end := self._buffer.find(b"\n", self._position)
        ) < 0 and self._count_ready() < _LINE_MAX_BYTES:
            if not (piece := self._next_piece()):
                break
            self._buffer, self._position = self._buffer[self._position :] + piece, 0
        stop = len(self._buffer) if end < 0 else end + 1
        return self._take_bytes(min(stop - self._position, _LINE_MAX_BYTES))

    def read_some(self, size_max: int) -> bytes:
        """Return the next 1 to `size_max` bytes of the body; empty bytes at its end."""
        if not self._count_ready():
            self._buffer, self._position = self._next_piece(), 0
        return self._take_bytes(min(size_max, self._count_ready()))

    def _next_piece(self) -> bytes:
        """Return the next piece of the body that is not empty; empty bytes at the end of the
        body.
        """
        return next(filter(None, self._pieces), b"")

    def _count_ready(self) -> int:
        return len(self._buffer) - self._position

    def _take_bytes(self, size_bytes: int) -> bytes:
        self._position += size_bytes
        return self._buffer[self._position - size_bytes : self._position]


def _unchunk(pieces: Pieces, layer: int) -> Pieces:
    """Decode the transfer coding `chunked` of a body.

    A body that does not begin with a chunk is not coded. A missing last chunk is no error.
    """
    feed = _PieceReader(pieces)
    is_first = True
    while line := feed.read_line():
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            if is_first:
                raise _NotCodedError(layer)
            if line in (b"\r\n", b"\n"):
                continue
            if not line.endswith(b"\n") and len(line) < _LINE_MAX_BYTES:
                return
            raise DamagedInputError(
                Reason.BAD_ENCODING, f"invalid chunk size in the body: {line[:20]!r}"
            )
        is_first = False
        n_remaining = int(size.group(1), 16)
        if n_remaining == 0:
            return
        while n_remaining > 0:
            if not (data := feed.read_some(n_remaining)):
                return
            n_remaining -= len(data)
            yield data


def _rechunk(pieces: Pieces, step_bytes: int) -> Pieces:
    """Yield the bytes of a body in new pieces of `step_bytes` bytes. The last piece may be
    shorter.
    """
    buffered_pieces: list[bytes] = []
    buffered_bytes = 0
    for piece in filter(None, pieces):
        if buffered_bytes + len(piece) < step_bytes:
            buffered_pieces.append(piece)
            buffered_bytes += len(piece)
            continue
        head_bytes = step_bytes - buffered_bytes
        yield b"".join([*buffered_pieces, piece[:head_bytes]])
        full_end = head_bytes + (len(piece) - head_bytes) // step_bytes * step_bytes
        for start in range(head_bytes, full_end, step_bytes):
            yield piece[start : start + step_bytes]
        buffered_pieces, buffered_bytes = [piece[full_end:]], len(piece) - full_end
    if buffered_bytes:
        yield b"".join(buffered_pieces)


class _CountedPieces:
    """Iterator over the pieces of a body that counts the bytes read and keeps the first 64."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self.read_bytes = 0
        self.start = b""

    def __iter__(self) -> _CountedPieces:
        return self

    def __next__(self) -> bytes:
        piece = next(self._pieces)
        self.read_bytes += len(piece)
        if len(self.start) < 64:
            self.start = (self.start + piece)[:64]
        return piece


def _decode_layer(pieces: Pieces, name: str, layer: int, *, is_whole: bool = False) -> Pieces:
    """Decode one coding of a body, such as gzip.

    The output may have at most 200 times the size of the input plus 1 MiB. `layer` is the number of
    the coding in the list of the body's codings. With `is_whole`, an input that ends too early is
    an error.
    """
    counted_pieces = _CountedPieces(_rechunk(pieces, _STEP_BYTES[name]))
    made_bytes = 0
    try:
        for piece in _UNPACKERS[name](counted_pieces):
            made_bytes += len(piece)
            if made_bytes > RATIO_ALLOWANCE_BYTES + RATIO_MAX * counted_pieces.read_bytes:
                raise LimitError(
                    Reason.BOMB,
                    (
                        f"{counted_pieces.read_bytes} bytes of {name} decompress to more than {made_bytes}"
                    ),
                )
            if piece:
                yield piece
    except _TruncatedCodingError as cut:
        if made_bytes == 0 and counted_pieces.read_bytes > 0:
            raise _build_fault(
                counted_pieces, name, layer, made_bytes, "it ends before its first byte"
            ) from cut
        if is_whole and made_bytes:
            message = f"the body's {name} coding ends too early"
            raise DamagedInputError(Reason.BAD_ENCODING, message) from cut
    except (InflateError, brotli.error, zstandard.ZstdError) as fault:
        raise _build_fault(counted_pieces, name, layer, made_bytes, str(fault)) from fault


def _build_fault(
    pieces: _CountedPieces, name: str, layer: int, output_bytes: int, noun: str
) -> Exception:
    """Return the exception for a decoding error: the body is not coded at all, or it is corrupt."""
    magic = _MAGICS.get(name)
    if magic is None:
        is_coded = output_bytes > 0 and not _PLAIN_START.match(pieces.start)
    else:
        is_coded = pieces.start.startswith(magic)
    if not is_coded:
        return _NotCodedError(layer)
    return DamagedInputError(Reason.BAD_ENCODING, (f"the body's {name} coding is damaged: {noun}"))


def _decode_gzip(pieces: Pieces) -> Pieces:
    """Decode consecutive gzip members. Data after the last member is ignored, as in browsers."""
    return _inflate(pieces, 31)


def _decode_deflate(pieces: Pieces) -> Pieces:
    """Decode both forms of `deflate`: zlib as in the standard, or raw as some servers send it."""
    head = b""
    while len(head) < 2 and (piece := next(pieces, b"")):
        head += piece
    is_zlib = len(head) >= 2 and head[0] & 15 == 8 and (head[0] << 8 | head[1]) % 31 == 0
    return _inflate(itertools.chain([head], pieces), 15 if is_zlib else -15)


def _inflate(pieces: Pieces, wbits: int) -> Pieces:
    """Decode zlib data. With `wbits` 31, decode all gzip members, which may begin and end within a
    piece.
    """
    inflate: zlib_ng._Decompress | None = zlib_ng.decompressobj(wbits)
    members = 1
    leftover = b""
    for piece in pieces:
        data = leftover + piece
        leftover = b""
        while data:
            if inflate is None:
                magic = _MAGICS["gzip"]
                if len(data) < len(magic):
                    leftover = data
                    break
                if wbits != 31 or not data.startswith(magic):
                    return
                members += 1
                if members > MEMBERS_MAX:
                    raise LimitError(
                        Reason.BOMB, (f"the body has more than {MEMBERS_MAX} gzip members")
                    )
                inflate = zlib_ng.decompressobj(wbits)
            yield inflate.decompress(data, _OUTPUT_BYTES)
            if inflate.eof:
                data, inflate = inflate.unused_data, None
            else:
                data = inflate.unconsumed_tail
    if inflate is not None:
        yield inflate.flush()
        raise _TruncatedCodingError


def _decode_brotli(pieces: Pieces) -> Pieces:
    unpacker = brotli.Decompressor()
    for piece in pieces:
        output = unpacker.process(piece, output_buffer_limit=_OUTPUT_BYTES)
        # It claims to accept more input while it still holds output beyond the limit.
        while output or not unpacker.can_accept_more_data():
            yield output
            if unpacker.is_finished():
                return
            output = unpacker.process(b"", output_buffer_limit=_OUTPUT_BYTES)
        if unpacker.is_finished():
            return
    raise _TruncatedCodingError


class _PieceStream:
    """Stream from which the library zstandard reads the pieces of a body."""

    def __init__(self, pieces: Pieces) -> None:
        self._feed = _PieceReader(pieces)
        self.start = b""

    def read(self, size: int) -> bytes:
        piece = self._feed.read_some(size)
        if len(self.start) < 64:
            self.start = (self.start + piece)[:64]
        return piece


def _decode_zstd(pieces: Pieces) -> Pieces:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX_BYTES)
    readable = _PieceStream(pieces)
    reader = unpacker.stream_reader(cast(IO[bytes], readable), read_across_frames=True)
    has_output = False
    while piece := reader.read(_OUTPUT_BYTES):
        has_output = True
        yield piece
    if not has_output and not _is_empty_frame(readable.start):
        raise _TruncatedCodingError


def _is_empty_frame(data: bytes) -> bool:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX_BYTES).decompressobj()
    unpacker.decompress(data)
    return unpacker.eof


_UNPACKERS: dict[str, Callable[[Pieces], Pieces]] = {
    "gzip": _decode_gzip,
    "deflate": _decode_deflate,
    "br": _decode_brotli,
    "zstd": _decode_zstd,
}
