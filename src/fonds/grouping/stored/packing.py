"""Compact encoding of integers as varints and of weights as half-precision floats, vectorized.

Source: the varint of Protocol Buffers (seven bits per byte, lowest first, high bit set if more
follow); IEEE 754 binary16.

Every stored value begins with eight bytes: `FG`, a letter for its kind, the format version, and the
CRC-32 of the rest. Limits: linear in the bytes; a varint has at most nine.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.vectors import Numbers, Weights

MAGIC = b"FG"
FORM_VERSION = 1
HEAD_BYTES = 8
VARINT_MAX_BYTES = 9
NUMBER_MAX = 2**63 - 1
SMALL_COUNT_MAX = 300


def seal_payload(kind: bytes, payload: bytes) -> bytes:
    """Return the stored form of a payload: an eight-byte header with the checksum, then the
    payload.

    `kind`: one byte that identifies the format of the payload.
    """
    return (
        MAGIC + kind + bytes([FORM_VERSION]) + zlib.crc32(payload).to_bytes(4, "little") + payload
    )


def open_payload(kind: bytes, value: bytes, max_bytes: int) -> bytes:
    """Check the header of a stored value and return its payload.

    `kind`: byte that identifies the expected format. `max_bytes`: maximum size of the stored value.
    Raises DamagedInputError for another format or format version, altered bytes or excess length.
    """
    if len(value) > max_bytes:
        raise build_damaged_error(f"{len(value)} bytes; the limit is {max_bytes}")
    if value[:3] != MAGIC + kind:
        raise build_damaged_error(f"it begins with {value[:4]!r} instead of {MAGIC + kind!r}")
    if value[3:4] != bytes([FORM_VERSION]):
        raise build_damaged_error(
            f"its format version is {value[3:4]!r}; this version of Fonds reads {FORM_VERSION}"
        )
    payload = value[HEAD_BYTES:]
    if value[4:HEAD_BYTES] != zlib.crc32(payload).to_bytes(4, "little"):
        raise build_damaged_error("the checksum does not match")
    return payload


def encode_varints(numbers: NDArray[Any]) -> bytes:
    """Encode integers from 0 to 2^63 - 1 as consecutive varints; return the bytes.

    A varint has seven bits per byte, lowest first, as in Protocol Buffers.
    """
    if len(numbers) <= SMALL_COUNT_MAX:
        return _encode_few_varints(numbers.tolist())
    values = np.asarray(numbers, dtype=np.uint64)
    bits = np.ones(len(values), dtype=np.int64)
    for step in range(1, VARINT_MAX_BYTES):
        bits += values >> np.uint64(7 * step) != 0
    starts = np.cumsum(bits) - bits
    encoded_bytes = np.zeros(int(bits.sum()), dtype=np.uint8)
    for step in range(int(bits.max(initial=0))):
        longer = bits > step
        septet = (values[longer] >> np.uint64(7 * step)).astype(np.uint8) & 0x7F
        continuation = (bits[longer] > step + 1).astype(np.uint8) << 7
        encoded_bytes[starts[longer] + step] = septet | continuation
    return encoded_bytes.tobytes()


def _encode_few_varints(numbers: list[int]) -> bytes:
    """Encode a few integers as varints in a loop; return the bytes.

    For the number of terms in a short text, numpy arrays take ten times as long.
    """
    encoded_bytes = bytearray()
    for value in numbers:
        number = int(value)
        while number >= 0x80:
            encoded_bytes.append(number & 0x7F | 0x80)
            number >>= 7
        encoded_bytes.append(number)
    return bytes(encoded_bytes)


def read_varints(data: bytes, count: int, start: int = 0) -> tuple[Numbers, int]:
    """Decode `count` varints from `data`, beginning at the byte `start`.

    Return the integers, and the position in `data` after the last one.
    Raises DamagedInputError if the bytes are not `count` valid varints in their shortest form.
    """
    if count < 0 or count > len(data) - start:
        raise build_damaged_error(f"{count} numbers declared in {len(data) - start} bytes")
    if count == 0:
        return np.zeros(0, dtype=np.int64), start
    window = np.frombuffer(data, dtype=np.uint8, offset=start)[: count * VARINT_MAX_BYTES]
    ends = np.flatnonzero(window < 0x80)[:count]
    if len(ends) < count:
        raise build_damaged_error("a number has no end")
    begins = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - begins + 1
    if int(lengths.max()) > VARINT_MAX_BYTES:
        raise build_damaged_error(f"a number has more than {VARINT_MAX_BYTES} bytes")
    if bool(np.any((window[ends] == 0) & (lengths > 1))):
        raise build_damaged_error("a number is not in its shortest form")
    used_bytes = window[: int(ends[-1]) + 1].astype(np.int64) & 0x7F
    places = np.arange(len(used_bytes)) - np.repeat(begins, lengths)
    return np.add.reduceat(used_bytes << (7 * places), begins), start + len(used_bytes)


def encode_gaps(ascending: Numbers) -> Numbers:
    """Encode ascending integers as gaps.

    The first gap is the first integer. Each other gap is the difference to the previous integer,
    minus 1.
    """
    return np.diff(ascending, prepend=-1) - 1


def decode_gaps(steps: Numbers, number_max: int) -> Numbers:
    """Restore the ascending integers that `encode_gaps` encoded.

    Raises DamagedInputError if an integer is greater than `number_max`.
    """
    if len(steps) and int(steps.max()) > number_max:
        raise build_damaged_error(f"a number is larger than {number_max}")
    numbers = np.cumsum(steps + 1) - 1
    if len(numbers) and not (0 <= int(numbers[-1]) <= number_max and int(numbers.min()) >= 0):
        raise build_damaged_error(f"a number is larger than {number_max}")
    return numbers


def encode_half_floats(weights: Weights) -> bytes:
    """Encode weights as little-endian binary16 (two bytes each), accurate to a thousandth."""
    return np.asarray(weights, dtype="<f2").tobytes()


def read_halves(data: bytes, count: int, start: int) -> Weights:
    """Decode binary16 weights, which fill `data` from the byte `start` to its end, to float32.

    Raises DamagedInputError if there are not exactly `count` weights, or if a weight is not
    positive and finite.
    """
    if len(data) - start != 2 * count:
        raise build_damaged_error(f"{count} weights declared in {len(data) - start} bytes")
    weights = np.frombuffer(data, dtype="<f2", offset=start).astype(np.float32)
    if not bool(np.all(np.isfinite(weights) & (weights > 0))):
        raise build_damaged_error("a weight is not a positive number")
    return weights


def build_damaged_error(reason: str) -> DamagedInputError:
    """Return the DamagedInputError to raise for an invalid stored value, with the reason."""
    return DamagedInputError(Reason.DAMAGED_RECORD, f"invalid stored value: {reason}")
