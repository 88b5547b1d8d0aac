"""What was read of some documents as one record, and again in the numbering of who gathers it.

A record is `s`, the part and the page in ten digits each, a space, and base64 of zlib of MessagePack: no line
ends, and in the order of ids. Terms stand in it as text, numbered within the record.

Bound: 64 MiB unpacked.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode

import msgspec
import numpy as np

from fonds.collections.building.reading_in import ReadPage
from fonds.collections.documents import EncodedCells
from fonds.grouping.text.counting import counted
from fonds.grouping.text.duplicates import BANDS
from fonds.grouping.text.reading import Slice
from fonds.grouping.text.tokens import BREAK, Vocabulary
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.prepared import prepared

MARK = b"s"
UNPACKED_BYTES_MAX = 64 * 1024 * 1024
_LEVEL = 1


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    """A page of documents: as in `ReadPage`, its slice with terms of its own. Numbers are little-endian:
    int32, int64, uint64 and binary16."""

    ids: list[str]
    languages: list[str]
    times: list[float]
    apart: list[tuple[str, str]]
    spoken: list[str]
    terms: list[str]
    numbers: bytes
    starts: bytes
    contents: bytes
    bands: bytes
    dense: bytes | None
    numbers_a_vector: int
    encoded: EncodedCells


def key_of(part: int, page: int) -> bytes:
    """What the record of a page begins with."""
    return MARK + b"%010d%010d" % (part, page)


def to_value(page: ReadPage, vocabulary: Vocabulary) -> bytes:
    """A page, read by this vocabulary, as a cell keeps it."""
    numbers = page.terms.numbers
    used = np.unique(numbers[numbers >= 0])
    names = list(vocabulary.numbers)
    places = np.where(numbers >= 0, np.searchsorted(used, numbers), BREAK)
    packed = _Packed(
        page.ids,
        page.languages,
        page.times,
        page.apart,
        list(page.terms.languages),
        [names[number] for number in used.tolist()],
        places.astype("<i4").tobytes(),
        page.terms.starts.astype("<i8").tobytes(),
        page.terms.contents.astype("<u8").tobytes(),
        page.terms.bands.astype("<u8").tobytes(),
        None if page.dense is None else page.dense.astype("<f2").tobytes(),
        0 if page.dense is None else page.dense.shape[1],
        page.encoded,
    )
    return zlib.compress(msgspec.msgpack.encode(packed), _LEVEL)


def from_value(value: bytes, vocabulary: Vocabulary) -> ReadPage:
    """The page with its terms in the numbers of this vocabulary. Raises DamagedInputError."""
    try:
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(value, UNPACKED_BYTES_MAX)
        if not unpacking.eof:
            raise ValueError(f"over {UNPACKED_BYTES_MAX:,} bytes, or cut")
        packed = msgspec.msgpack.decode(plain, type=prepared(_Packed))
        return _unpacked(packed, vocabulary)
    except (zlib.error, msgspec.MsgspecError, ValueError, IndexError) as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"no page of documents: {error}") from error


def to_record(part: int, page: int, value: bytes) -> bytes:
    """A value as a record of a job."""
    return key_of(part, page) + b" " + b64encode(value)


def from_record(record: bytes) -> tuple[bytes, bytes]:
    """The key of a record, and its value."""
    key, _, coded = record.partition(b" ")
    return key, b64decode(coded)


def _unpacked(packed: _Packed, vocabulary: Vocabulary) -> ReadPage:
    places = np.array([*map(vocabulary.number, packed.terms), BREAK], dtype=np.int32)
    numbers = places[np.frombuffer(packed.numbers, "<i4")]
    starts = np.frombuffer(packed.starts, "<i8").astype(np.int64)
    contents = np.frombuffer(packed.contents, "<u8").astype(np.uint64)
    bands = np.frombuffer(packed.bands, "<u8").astype(np.uint64).reshape(-1, BANDS)
    if not len(packed.ids) == len(starts) - 1 == len(contents) == len(bands):
        raise ValueError("its columns are of several lengths")
    terms = Slice(
        tuple(packed.spoken),
        numbers,
        starts,
        counted(numbers, starts, len(vocabulary.numbers)),
        contents,
        bands,
    )
    dense = None
    if packed.dense is not None:
        shape = (len(packed.ids), packed.numbers_a_vector)
        dense = np.frombuffer(packed.dense, "<f2").astype(np.float16).reshape(shape)
    return ReadPage(
        packed.ids, packed.languages, packed.times, packed.apart, terms, dense, packed.encoded
    )
