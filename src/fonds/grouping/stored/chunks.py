"""Chunks of values that are too large for one cell; HBase limits a cell to 10 MB.

The first chunk is in the column with the value's name, the next ones in `name.1`, `name.2` and so
on. Each begins with its number and the number of chunks (four bytes each, big-endian). So a missing
chunk, or one of a value with another number of chunks, is detected. Limits: 4,096 chunks of 8 MiB.
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
    """Return the column name for a chunk of a value. `chunk` is its number, from 0."""
    return f"{name}.{chunk}" if chunk else name


def split(value: bytes) -> list[bytes]:
    """Split a value into numbered chunks for one cell each; an empty value has one chunk.

    Raises LimitError if the value needs more than 4,096 chunks.
    """
    pieces = [
        value[start : start + _PAYLOAD_MAX_BYTES]
        for start in range(0, len(value), _PAYLOAD_MAX_BYTES)
    ] or [b""]
    return number_pieces(pieces)


def number_pieces(pieces: Sequence[bytes]) -> list[bytes]:
    """Prefix each piece of a value with its number and the number of pieces; return the chunks.

    Raises LimitError if a piece does not fit into a chunk, or if there are more than 4,096 pieces.
    """
    if len(pieces) > CHUNKS_MAX or any(len(piece) > _PAYLOAD_MAX_BYTES for piece in pieces):
        raise LimitError(
            Reason.TOO_LARGE,
            f"the value needs more than {CHUNKS_MAX} chunks of at most {CHUNK_MAX_BYTES} bytes",
        )
    total = len(pieces).to_bytes(4, "big")
    return [number.to_bytes(4, "big") + total + piece for number, piece in enumerate(pieces)]


def join_chunks(chunks: Sequence[bytes]) -> bytes:
    """Join the chunks of a stored value, given in order, and return the value.

    Raises DamagedInputError if a chunk is too long, missing, or of another value.
    """
    return b"".join(list_pieces(chunks))


def list_pieces(chunks: Sequence[bytes]) -> list[bytes]:
    """Return the pieces of a stored value: its chunks without the numbers that `number_pieces`
    added.

    Raises DamagedInputError if a chunk is too long, missing, or of another value.
    """
    if not 0 < len(chunks) <= CHUNKS_MAX:
        raise build_damaged_error(f"{len(chunks)} chunks")
    total = len(chunks).to_bytes(4, "big")
    for number, chunk in enumerate(chunks):
        if chunk[:_HEAD_BYTES] != number.to_bytes(4, "big") + total:
            raise build_damaged_error(f"chunk {number} of {len(chunks)} belongs to another value")
        if len(chunk) > CHUNK_MAX_BYTES:
            raise build_damaged_error(f"chunk {number} has {len(chunk)} bytes")
    return [chunk[_HEAD_BYTES:] for chunk in chunks]
