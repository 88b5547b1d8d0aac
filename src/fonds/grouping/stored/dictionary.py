"""Encoding of `processing:dictionary`: the sorted terms of a collection and their document counts.

Payload, compressed by zlib: varints for the version, the number of documents counted and the number
of terms; for each term a varint for the number of bytes it shares with the previous one; for each
term a varint for the number of remaining bytes; the document counts as varints; the remaining
bytes of all terms. The payload is stored in chunks.

Limits: 5,000,000 terms of at most 1,000 bytes; 256 MiB unpacked, and never more than that is
unpacked.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from fonds.grouping.stored.chunks import (
    CHUNK_MAX_BYTES,
    CHUNKS_MAX,
    join_chunks,
    split,
)
from fonds.grouping.stored.packing import (
    build_damaged_error,
    encode_varints,
    open_payload,
    read_varints,
    seal_payload,
)
from fonds.model.vectors import Dictionary, Numbers

TERMS_MAX = 5_000_000
TERM_MAX_BYTES = 1000
UNPACKED_MAX_BYTES = 256 * 1024 * 1024


def encode_dictionary(dictionary: Dictionary) -> list[bytes]:
    """Return the cells of `processing:dictionary` for a collection's dictionary, one per chunk."""
    encoded_terms = [term.encode("utf-8") for term in dictionary.terms]
    shared_counts = _count_shared_bytes(encoded_terms)
    suffixes = [
        term[shared_count:] for term, shared_count in zip(encoded_terms, shared_counts, strict=True)
    ]
    head = [dictionary.version, dictionary.documents, len(encoded_terms)]
    payload = b"".join(
        (
            encode_varints(np.array(head, dtype=np.int64)),
            encode_varints(np.array(shared_counts, dtype=np.int64)),
            encode_varints(np.array([len(end) for end in suffixes], dtype=np.int64)),
            encode_varints(dictionary.document_counts),
            *suffixes,
        )
    )
    return split(seal_payload(b"d", zlib.compress(payload, 6)))


def decode_dictionary(chunks: Sequence[bytes]) -> Dictionary:
    """Decode a collection's dictionary from the cells of its chunks, given in order.

    Raises DamagedInputError if a chunk is missing or damaged.
    """
    payload = _unpack(open_payload(b"d", join_chunks(chunks), CHUNK_MAX_BYTES * CHUNKS_MAX))
    head, position = read_varints(payload, 3)
    version, documents, count = (int(number) for number in head)
    if count > TERMS_MAX:
        raise build_damaged_error(f"{count} terms; the limit is {TERMS_MAX}")
    shared_counts, position = read_varints(payload, count, position)
    lengths, position = read_varints(payload, count, position)
    counts, position = read_varints(payload, count, position)
    if count and (int(counts.max()) > documents or int(counts.min()) < 1):
        raise build_damaged_error("the document count of a term is 0 or more than all documents")
    return Dictionary(
        version, documents, _decode_terms(payload[position:], shared_counts, lengths), counts
    )


def _count_shared_bytes(encoded_terms: Sequence[bytes]) -> list[int]:
    """Return, for each term, the number of bytes at its start that the previous term has too."""
    previous, shared_counts = b"", []
    for term in encoded_terms:
        length_max = min(len(previous), len(term))
        shared_counts.append(
            next(
                (
                    position
                    for position in range(length_max)
                    if previous[position] != term[position]
                ),
                length_max,
            )
        )
        previous = term
    return shared_counts


def _decode_terms(ends: bytes, shared_counts: Numbers, lengths: Numbers) -> tuple[str, ...]:
    if len(lengths) and int(lengths.max()) > TERM_MAX_BYTES:
        raise build_damaged_error(f"a term has more than {TERM_MAX_BYTES} bytes")
    if int(lengths.sum()) != len(ends):
        raise build_damaged_error("the terms do not end with their bytes")
    terms: list[bytes] = []
    previous, position = b"", 0
    for shared_count, length in zip(shared_counts.tolist(), lengths.tolist(), strict=True):
        term = previous[:shared_count] + ends[position : position + length]
        if (
            shared_count > len(previous)
            or len(term) > TERM_MAX_BYTES
            or (terms and term <= previous)
        ):
            raise build_damaged_error("the terms are not sorted")
        terms.append(term)
        previous, position = term, position + length
    try:
        return tuple(term.decode("utf-8") for term in terms)
    except UnicodeDecodeError as error:
        raise build_damaged_error("a term is not valid UTF-8") from error


def _unpack(packed_bytes: bytes) -> bytes:
    decompressor = zlib.decompressobj()
    try:
        payload = decompressor.decompress(packed_bytes, UNPACKED_MAX_BYTES)
    except zlib.error as error:
        raise build_damaged_error(f"cannot decompress it: {error}") from error
    if not decompressor.eof or decompressor.unused_data:
        raise build_damaged_error(
            f"it ends too early, too late, or after {UNPACKED_MAX_BYTES} bytes"
        )
    return payload
