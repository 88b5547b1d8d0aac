"""Build tombstones: WARC records that replace the records of a removed file and have exactly their
length.

A tombstone is a `resource` record. Readers of Media Cloud's archives skip it, but would fail on a
lone metadata record. Because it has the length of the replaced record, no other record of the WARC
file moves.

Source: WARC/1.1, sections 5 and 6 (resource); RFC 1951, section 3.2.4 (stored blocks); RFC 1952,
section 2.3 (the comment of a gzip member).
Limits: linear in the requested length. At most 64 KiB are in memory at a time.
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
"""Prefix of the target URI of every tombstone. The SHA-1 of the removed body in base32 follows it.
"""

CONTENT_TYPE = "application/warc-fields"

_END = b"\r\n\r\n"
_PADDING = b"padding: "
_STORED_MAX_BYTES = 65_535
_STORED_HEAD_BYTES = 5
_FRAME_BYTES = 18
_GZIP_HEADER = b"\x1f\x8b\x08%c\x00\x00\x00\x00\x00\xff"
_COMMENT_FLAG = 16


def is_tombstone(uri: str) -> bool:
    """Return whether a record with the target URI `uri` is a tombstone, which replaces a removed
    record.
    """
    return uri.startswith(URI)


def build_tombstone_member(
    size_bytes: int, tombstone: Tombstone, *, replaced_type: str, version: str
) -> Iterator[bytes]:
    """Yield pieces of a gzip member of exactly `size_bytes` bytes that contains one tombstone
    record.

    `replaced_type` is the type of the replaced record, `version` its WARC version, such as
    `WARC/1.1`. Raises ValueError if `size_bytes` is too small for a record. Every record that Fonds
    writes is large enough.
    """
    head = _build_head(tombstone, version)
    text = _build_text(tombstone, replaced_type)
    padding_bytes = _compute_padding(size_bytes, head, text)
    if padding_bytes is not None:
        return _iter_stored_member(head, text, padding_bytes, size_bytes)
    return iter([_build_packed_member(size_bytes, head, text)])


def _build_head(tombstone: Tombstone, version: str) -> str:
    """Build the lines of a tombstone's WARC header that do not depend on its block."""
    removed_at = tombstone.at.astimezone(UTC).replace(tzinfo=None)
    date = removed_at.isoformat(timespec="seconds" if version == "WARC/1.0" else "microseconds")
    lines = (
        version,
        "WARC-Type: resource",
        f"WARC-Record-ID: <urn:uuid:{uuid4()}>",
        f"WARC-Date: {date}Z",
        f"WARC-Target-URI: {URI}{encode_sha1_base32(bytes.fromhex(tombstone.sha1hex))}",
        f"Content-Type: {CONTENT_TYPE}",
    )
    return "".join(f"{line}\r\n" for line in lines)


def _build_text(tombstone: Tombstone, replaced_type: str) -> bytes:
    lines = (
        "taken-down: the record that stood here was taken down",
        f"reason: {tombstone.reason_class}",
        f"replaced: {replaced_type}",
    )
    return "".join(f"{line}\r\n" for line in lines).encode("ascii", "replace")


def _build_header(head: str, block_bytes: int, digest: bytes, blanks: int = 0) -> bytes:
    lines = (
        f"WARC-Block-Digest: sha1:{encode_sha1_base32(digest)}",
        f"Content-Length: {' ' * blanks}{block_bytes}",
    )
    return (head + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode("ascii")


def _compute_content_bytes(size_bytes: int) -> int:
    """Return how many bytes of content fit into an uncompressed gzip member that is `size_bytes`
    bytes long.
    """
    stored_bytes = max(0, size_bytes - _FRAME_BYTES)
    return stored_bytes - _count_blocks(size_bytes) * _STORED_HEAD_BYTES


def _count_blocks(size_bytes: int) -> int:
    """Return how many stored (uncompressed) DEFLATE blocks a gzip member that is `size_bytes` bytes
    long consists of.
    """
    stored_bytes = max(0, size_bytes - _FRAME_BYTES)
    return max(1, -(-stored_bytes // (_STORED_MAX_BYTES + _STORED_HEAD_BYTES)))


def _compute_padding(size_bytes: int, head: str, content: bytes) -> int | None:
    """Return the number of blanks that fill the block of an uncompressed tombstone to the requested
    length.

    Returns None if the record does not fit into `size_bytes` without compression.
    """
    fixed_bytes = len(_build_header(head, 0, bytes(20))) - 1 + len(_END)
    min_bytes = len(content) + len(_PADDING) + 2
    block_bytes = _compute_content_bytes(size_bytes) - fixed_bytes
    # Subtract the digits of Content-Length: a longer block has more.
    block_bytes -= len(str(max(0, block_bytes)))
    return block_bytes - min_bytes if block_bytes >= min_bytes else None


def _iter_block(content: bytes, padding_bytes: int) -> Iterator[bytes]:
    yield content + _PADDING
    for start in range(0, padding_bytes, _STORED_MAX_BYTES):
        yield b" " * min(_STORED_MAX_BYTES, padding_bytes - start)
    yield b"\r\n"


def _iter_stored_member(
    head: str, content: bytes, padding_bytes: int, size_bytes: int
) -> Iterator[bytes]:
    """Yield the bytes of a gzip member that overwrites the member of a purged record in place.

    It contains a tombstone record in stored (uncompressed) DEFLATE blocks. Blanks pad it to the
    size of the purged member.
    """
    content_bytes = _compute_content_bytes(size_bytes)
    block_bytes = len(content) + len(_PADDING) + padding_bytes + 2
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in _iter_block(content, padding_bytes):
        digest.update(piece)
    header = _build_header(head, block_bytes, digest.digest())
    blanks = content_bytes - len(header) - block_bytes - len(_END)
    header = _build_header(head, block_bytes, digest.digest(), blanks)
    yield _GZIP_HEADER % 0
    crc = 0
    for piece in chain([header], _iter_block(content, padding_bytes), [_END]):
        crc = zlib.crc32(piece, crc)
    pieces = chain([header], _iter_block(content, padding_bytes), [_END])
    yield from _iter_stored_blocks(pieces, content_bytes, _count_blocks(size_bytes))
    yield struct.pack("<II", crc, content_bytes & 0xFFFFFFFF)


def _iter_stored_blocks(
    pieces: Iterable[bytes], content_bytes: int, block_count: int
) -> Iterator[bytes]:
    """Yield the content as a given number of stored (uncompressed) DEFLATE blocks. The last may be
    empty.

    `content_bytes` is the length of the content.
    """
    remaining_pieces, pending_bytes, remaining_bytes = iter(pieces), bytearray(), content_bytes
    for number in range(block_count):
        length = min(remaining_bytes, _STORED_MAX_BYTES)
        while len(pending_bytes) < length:
            pending_bytes += next(remaining_pieces)
        is_last = number == block_count - 1
        yield struct.pack("<BHH", is_last, length, length ^ 0xFFFF) + bytes(pending_bytes[:length])
        del pending_bytes[:length]
        remaining_bytes -= length


def _build_packed_member(size_bytes: int, head: str, text_bytes: bytes) -> bytes:
    """Build a compressed gzip member for a tombstone that is too short for uncompressed content.

    Its text is shortened until it fits. A gzip comment fills the remaining bytes. Raises ValueError
    if even the shortest text does not fit.
    """
    _, reason_line, replaced_line, _ = text_bytes.split(b"\r\n")
    shorter_text = reason_line + b"\r\n" + replaced_line + b"\r\n"
    for block in (text_bytes, shorter_text, reason_line + b"\r\n", b""):
        digest = hashlib.sha1(block, usedforsecurity=False).digest()
        content = _build_header(head, len(block), digest) + block + _END
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed_content = packer.compress(content) + packer.flush()
        comment_bytes = size_bytes - _FRAME_BYTES - len(packed_content)
        if comment_bytes >= 0:
            comment = b" " * (comment_bytes - 1) + b"\x00" if comment_bytes else b""
            trailer = struct.pack("<II", zlib.crc32(content), len(content))
            return (
                _GZIP_HEADER % (_COMMENT_FLAG if comment_bytes else 0)
                + comment
                + packed_content
                + trailer
            )
    raise ValueError(f"a record of {size_bytes} bytes is too short for a tombstone")
