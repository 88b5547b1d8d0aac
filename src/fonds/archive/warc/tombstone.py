"""Records that stand in a WARC of ours where others stood that were taken down, and are as long to the byte.

A tombstone is a `resource`: those who read Media Cloud's archives pass it over, and stop at any metadata that
stands alone. Since it is as long as what it replaces, no other record of the file moves.

Source: WARC/1.1, sections 5 and 6 (resource); RFC 1951, section 3.2.4 (blocks stored as they are);
RFC 1952, section 2.3 (the comment of a gzip member).
Bound: linear in the length asked for; pieces of at most 64 KiB are held.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC
from itertools import chain
from uuid import uuid4

from fonds.model.keys import encode_sha1_base32
from fonds.model.restrictions import Tombstone

URI = "urn:taken-down:sha1:"
"""Begins the target URI of every tombstone; the SHA-1 of what was taken down follows in base32."""

CONTENT_TYPE = "application/warc-fields"

_END = b"\r\n\r\n"
_PADDING = b"padding: "
_STORED_MAX_BYTES = 65_535
_STORED_HEAD_BYTES = 5
_FRAME_BYTES = 18
_GZIP = b"\x1f\x8b\x08%c\x00\x00\x00\x00\x00\xff"
_COMMENTED = 16


def is_tombstone(uri: str) -> bool:
    """Whether the record with this target URI stands for what was taken down."""
    return uri.startswith(URI)


def build_tombstone_member(
    size_bytes: int, tombstone: Tombstone, *, replaced: str, version: str
) -> Iterator[bytes]:
    """A gzip member of exactly `size_bytes` that holds one record, in pieces.

    `replaced` is the type of the record that stood there, `version` that of its WARC, as `WARC/1.1`.
    Raises ValueError when nothing so short can be a record; none of ours is.
    """
    head = _build_head(tombstone, version)
    said = _build_text(tombstone, replaced)
    padding_bytes = _compute_padding(size_bytes, head, said)
    if padding_bytes is not None:
        return _iter_stored_member(head, said, padding_bytes, size_bytes)
    return iter([_build_packed_member(size_bytes, head, said)])


def _build_head(tombstone: Tombstone, version: str) -> str:
    """The header's lines that do not depend on the block."""
    moment = tombstone.at.astimezone(UTC).replace(tzinfo=None)
    date = moment.isoformat(timespec="seconds" if version == "WARC/1.0" else "microseconds")
    lines = (
        version,
        "WARC-Type: resource",
        f"WARC-Record-ID: <urn:uuid:{uuid4()}>",
        f"WARC-Date: {date}Z",
        f"WARC-Target-URI: {URI}{encode_sha1_base32(bytes.fromhex(tombstone.sha1hex))}",
        f"Content-Type: {CONTENT_TYPE}",
    )
    return "".join(f"{line}\r\n" for line in lines)


def _build_text(tombstone: Tombstone, replaced: str) -> bytes:
    lines = (
        "taken-down: the record that stood here was taken down",
        f"reason: {tombstone.reason_class}",
        f"replaced: {replaced}",
    )
    return "".join(f"{line}\r\n" for line in lines).encode("ascii", "replace")


def _build_header(head: str, block_bytes: int, digest: bytes, blanks: int = 0) -> bytes:
    lines = (
        f"WARC-Block-Digest: sha1:{encode_sha1_base32(digest)}",
        f"Content-Length: {' ' * blanks}{block_bytes}",
    )
    return (head + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode("ascii")


def _compute_content_bytes(size_bytes: int) -> int:
    """How many bytes a member of this length holds that packs nothing."""
    stored = max(0, size_bytes - _FRAME_BYTES)
    return stored - _count_blocks(size_bytes) * _STORED_HEAD_BYTES


def _count_blocks(size_bytes: int) -> int:
    """How many blocks that is stored in."""
    stored = max(0, size_bytes - _FRAME_BYTES)
    return max(1, -(-stored // (_STORED_MAX_BYTES + _STORED_HEAD_BYTES)))


def _compute_padding(size_bytes: int, head: str, content: bytes) -> int | None:
    """How many blanks fill the block up where nothing is packed; None where there is no room for it so."""
    fixed_bytes = len(_build_header(head, 0, bytes(20))) - 1 + len(_END)
    least_bytes = len(content) + len(_PADDING) + 2
    block_bytes = _compute_content_bytes(size_bytes) - fixed_bytes
    # The longer the block, the longer is the number that says so.
    block_bytes -= len(str(max(0, block_bytes)))
    return block_bytes - least_bytes if block_bytes >= least_bytes else None


def _iter_block(content: bytes, padding_bytes: int) -> Iterator[bytes]:
    yield content + _PADDING
    for start in range(0, padding_bytes, _STORED_MAX_BYTES):
        yield b" " * min(_STORED_MAX_BYTES, padding_bytes - start)
    yield b"\r\n"


def _iter_stored_member(
    head: str, content: bytes, padding_bytes: int, size_bytes: int
) -> Iterator[bytes]:
    """The member whose content is not packed."""
    held_bytes = _compute_content_bytes(size_bytes)
    block_bytes = len(content) + len(_PADDING) + padding_bytes + 2
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in _iter_block(content, padding_bytes):
        digest.update(piece)
    header = _build_header(head, block_bytes, digest.digest())
    blanks = held_bytes - len(header) - block_bytes - len(_END)
    header = _build_header(head, block_bytes, digest.digest(), blanks)
    yield _GZIP % 0
    crc = 0
    for piece in chain([header], _iter_block(content, padding_bytes), [_END]):
        crc = zlib.crc32(piece, crc)
    pieces = chain([header], _iter_block(content, padding_bytes), [_END])
    yield from _iter_stored_blocks(pieces, held_bytes, _count_blocks(size_bytes))
    yield struct.pack("<II", crc, held_bytes & 0xFFFFFFFF)


def _iter_stored_blocks(pieces: Iterable[bytes], held_bytes: int, blocks: int) -> Iterator[bytes]:
    """The content in so many blocks, the last of which may be empty."""
    more, waiting, left = iter(pieces), bytearray(), held_bytes
    for number in range(blocks):
        length = min(left, _STORED_MAX_BYTES)
        while len(waiting) < length:
            waiting += next(more)
        last = number == blocks - 1
        yield struct.pack("<BHH", last, length, length ^ 0xFFFF) + bytes(waiting[:length])
        del waiting[:length]
        left -= length


def _build_packed_member(size_bytes: int, head: str, text_bytes: bytes) -> bytes:
    """The member of a record too short for that: packed, and the rest of its room is a comment."""
    _, reason, replaced, _ = text_bytes.split(b"\r\n")
    shorter = reason + b"\r\n" + replaced + b"\r\n"
    for block in (text_bytes, shorter, reason + b"\r\n", b""):
        digest = hashlib.sha1(block, usedforsecurity=False).digest()
        content = _build_header(head, len(block), digest) + block + _END
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packer.compress(content) + packer.flush()
        left = size_bytes - _FRAME_BYTES - len(packed)
        if left >= 0:
            comment = b" " * (left - 1) + b"\x00" if left else b""
            trailer = struct.pack("<II", zlib.crc32(content), len(content))
            return _GZIP % (_COMMENTED if left else 0) + comment + packed + trailer
    raise ValueError(f"no record of {size_bytes} bytes can say that it was taken down")
