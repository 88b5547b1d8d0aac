"""Encoding of pages of read documents as records of a bulk job, and key ranges of documents.

A page is a batch of documents with their term counts. Its record is `s`, the number of the part and
the number of the page in ten digits each, a space, and base64 of zlib of MessagePack. So a record
has no line ends, and records sort in the order of document ids. Terms are stored as text and
numbered within the record. The collecting process decodes them into its own vocabulary.

Limits: 64 MiB per unpacked page.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from fonds.grouping.algorithms.corpus import TermSlice
from fonds.grouping.algorithms.duplicates import BANDS
from fonds.grouping.algorithms.term_counts import count_terms
from fonds.grouping.algorithms.terms import BREAK, Vocabulary
from fonds.grouping.columns import Column
from fonds.grouping.document import COLUMNS, EncodedCells
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.reader import CorpusPage
from fonds.grouping.tables import DOCUMENTS, Cells, Tables
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError

MARK = b"s"
UNPACKED_MAX_BYTES = 64 * 1024 * 1024
_LEVEL = 1


class _PackedPage(msgspec.Struct, frozen=True, array_like=True):
    """Page of read documents as it is encoded: the fields of `CorpusPage` as lists and bytes.

    Term numbers are indices into `terms`. Arrays are little-endian: `numbers` int32, `starts`
    int64, `contents` and `bands` uint64, `dense` binary16.
    """

    ids: list[str]
    languages: list[str]
    times: list[float]
    unclustered: list[tuple[str, str]]
    term_languages: list[str]
    terms: list[str]
    numbers: bytes
    starts: bytes
    contents: bytes
    bands: bytes
    dense: bytes | None
    dimensions: int
    encoded: EncodedCells


def build_page_key(part: int, page: int) -> bytes:
    """Return the key of a page's record: `s`, then the part and the page in ten digits each."""
    return MARK + b"%010d%010d" % (part, page)


def encode_page(page: CorpusPage, vocabulary: Vocabulary) -> bytes:
    """Encode a page of read documents as compressed MessagePack.

    `vocabulary`: vocabulary that numbers the terms of the page.
    """
    numbers = page.terms.numbers
    used_numbers = np.unique(numbers[numbers >= 0])
    names = list(vocabulary.numbers)
    local_numbers = np.where(numbers >= 0, np.searchsorted(used_numbers, numbers), BREAK)
    packed_page = _PackedPage(
        page.ids,
        page.languages,
        page.times,
        page.unclustered,
        list(page.terms.languages),
        [names[number] for number in used_numbers.tolist()],
        local_numbers.astype("<i4").tobytes(),
        page.terms.starts.astype("<i8").tobytes(),
        page.terms.contents.astype("<u8").tobytes(),
        page.terms.bands.astype("<u8").tobytes(),
        None if page.dense is None else page.dense.astype("<f2").tobytes(),
        0 if page.dense is None else page.dense.shape[1],
        page.encoded,
    )
    return zlib.compress(msgspec.msgpack.encode(packed_page), _LEVEL)


def decode_page(value: bytes, vocabulary: Vocabulary) -> CorpusPage:
    """Decode a page of read documents.

    `vocabulary`: vocabulary that numbers the terms of the result.
    Raises DamagedInputError if the page is damaged, truncated or larger than 64 MiB.
    """
    try:
        unpacking = zlib.decompressobj()
        unpacked_bytes = unpacking.decompress(value, UNPACKED_MAX_BYTES)
        if not unpacking.eof:
            raise ValueError(f"larger than {UNPACKED_MAX_BYTES:,} bytes, or truncated")
        packed_page = msgspec.msgpack.decode(unpacked_bytes, type=prepare_type(_PackedPage))
        return _unpack_page(packed_page, vocabulary)
    except (zlib.error, msgspec.MsgspecError, ValueError, IndexError) as error:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, f"not a page of documents: {error}"
        ) from error


def encode_record(part: int, page: int, value: bytes) -> bytes:
    """Return the record of a bulk job for one encoded page of documents.

    `part`, `page`: number of the key range, and of the page within it.
    `value`: the encoded page.
    """
    return build_page_key(part, page) + b" " + b64encode(value)


def decode_record(record: bytes) -> tuple[bytes, bytes]:
    """Return the key of a page of documents, and the encoded page, from a record of a bulk job."""
    key, _, encoded_page = record.partition(b" ")
    return key, b64decode(encoded_page)


def _unpack_page(packed_page: _PackedPage, vocabulary: Vocabulary) -> CorpusPage:
    places = np.array([*map(vocabulary.get_number, packed_page.terms), BREAK], dtype=np.int32)
    numbers = places[np.frombuffer(packed_page.numbers, "<i4")]
    starts = np.frombuffer(packed_page.starts, "<i8").astype(np.int64)
    contents = np.frombuffer(packed_page.contents, "<u8").astype(np.uint64)
    bands = np.frombuffer(packed_page.bands, "<u8").astype(np.uint64).reshape(-1, BANDS)
    if not len(packed_page.ids) == len(starts) - 1 == len(contents) == len(bands):
        raise ValueError("its columns have different lengths")
    terms = TermSlice(
        tuple(packed_page.term_languages),
        numbers,
        starts,
        count_terms(numbers, starts, len(vocabulary.numbers)),
        contents,
        bands,
    )
    dense = None
    if packed_page.dense is not None:
        shape = (len(packed_page.ids), packed_page.dimensions)
        dense = np.frombuffer(packed_page.dense, "<f2").astype(np.float16).reshape(shape)
    return CorpusPage(
        packed_page.ids,
        packed_page.languages,
        packed_page.times,
        packed_page.unclustered,
        terms,
        dense,
        packed_page.encoded,
    )


# Key ranges of a collection's documents


PART_DOCUMENTS = 4000


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Range of row keys of a collection's documents: one part of a bulk job.

    `number`: number of the part.
    `after`: row key after which the range begins; None for the first document.
    `last`: last row key of the range.
    """

    number: int
    after: bytes | None
    last: bytes


def split_key_ranges(
    tables: Tables, name: CollectionName, documents: int = PART_DOCUMENTS
) -> tuple[KeyRange, ...]:
    """Split the documents of a collection into ranges of row keys. Only document ids are read.

    A collection without documents has one empty range.
    `documents`: number of documents per range; the last range may have fewer.
    """
    ranges: list[KeyRange] = []
    after: bytes | None = None
    last, count = name.row, 0
    for row, _ in tables.iter_rows(DOCUMENTS, name.row, [Column.ID]):
        last, count = row, count + 1
        if count == documents:
            ranges.append(KeyRange(len(ranges), after, last))
            after, count = last, 0
    if count or not ranges:
        ranges.append(KeyRange(len(ranges), after, last))
    return tuple(ranges)


def iter_rows(
    tables: Tables, name: CollectionName, key_range: KeyRange
) -> Iterator[list[tuple[bytes, Cells]]]:
    """Iterate over the documents' rows in a range of row keys, in pages of row keys and cells.

    Documents added to the range after the collection was split into ranges are included.
    """
    for page in tables.iter_pages(DOCUMENTS, name.row, COLUMNS, after=key_range.after):
        yield [(row, cells) for row, cells in page if row <= key_range.last]
        if page[-1][0] >= key_range.last:
            return
