"""Values too large for one cell, cut into chunks below HBase's limit of 10 MB a cell.

The first chunk lies in the column that bears the value's name, the next ones in `name.1`, `name.2` and so
on. Each begins with its number and how many there are (four bytes each, big-endian), so that one that is
missing, or of another writing, is seen. Bound: 4,096 chunks of 8 MiB.
"""

from __future__ import annotations

from collections.abc import Sequence

from fonds.grouping.stored.packing import build_damaged_error
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError

CHUNK_MAX_BYTES = 8 * 1024 * 1024
CHUNKS_MAX = 4096
_HEAD_BYTES = 8
_PAYLOAD_MAX_BYTES = CHUNK_MAX_BYTES - _HEAD_BYTES


def build_chunk_column(name: str, chunk: int) -> str:
    """The column of a chunk, counted from 0."""
    return f"{name}.{chunk}" if chunk else name


def split(value: bytes) -> list[bytes]:
    """The chunks of a value; one for a value of no bytes. Raises LimitError beyond all chunks."""
    pieces = [
        value[at : at + _PAYLOAD_MAX_BYTES] for at in range(0, len(value), _PAYLOAD_MAX_BYTES)
    ] or [b""]
    return number_pieces(pieces)


def number_pieces(pieces: Sequence[bytes]) -> list[bytes]:
    """Pieces with their number and how many there are. Raises LimitError where one or all are too large."""
    if len(pieces) > CHUNKS_MAX or any(len(piece) > _PAYLOAD_MAX_BYTES for piece in pieces):
        raise LimitError(
            Reason.TOO_LARGE, f"a value of over {CHUNKS_MAX} chunks of {CHUNK_MAX_BYTES} bytes"
        )
    total = len(pieces).to_bytes(4, "big")
    return [number.to_bytes(4, "big") + total + piece for number, piece in enumerate(pieces)]


def join_chunks(chunks: Sequence[bytes]) -> bytes:
    """The value of all its chunks in order. Raises DamagedInputError where one is not what it should be."""
    return b"".join(list_pieces(chunks))


def list_pieces(chunks: Sequence[bytes]) -> list[bytes]:
    """What `number_pieces` was given. Raises DamagedInputError."""
    if not 0 < len(chunks) <= CHUNKS_MAX:
        raise build_damaged_error(f"{len(chunks)} chunks")
    total = len(chunks).to_bytes(4, "big")
    for number, chunk in enumerate(chunks):
        if chunk[:_HEAD_BYTES] != number.to_bytes(4, "big") + total:
            raise build_damaged_error(f"chunk {number} of {len(chunks)} is another's")
        if len(chunk) > CHUNK_MAX_BYTES:
            raise build_damaged_error(f"chunk {number} has {len(chunk)} bytes")
    return [chunk[_HEAD_BYTES:] for chunk in chunks]
