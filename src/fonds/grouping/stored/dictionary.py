"""`dictionary`: the terms of a collection in order, and in how many documents each stands.

Payload, compressed by zlib: varints for the version, the number of documents counted and the number of
terms; for each term a varint for how many bytes it shares with the one before, one for how many more
follow; then the document counts as varints, then the bytes of all the ends in one row. It lies in chunks.

Bound: 5,000,000 terms of at most 1,000 bytes; 256 MiB when unpacked, and no more than that is ever
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
    """The cells of `processing:dictionary`, chunk after chunk."""
    coded = [term.encode("utf-8") for term in dictionary.terms]
    shared = _count_shared_bytes(coded)
    ends = [term[same:] for term, same in zip(coded, shared, strict=True)]
    head = [dictionary.version, dictionary.documents, len(coded)]
    payload = b"".join(
        (
            encode_varints(np.array(head, dtype=np.int64)),
            encode_varints(np.array(shared, dtype=np.int64)),
            encode_varints(np.array([len(end) for end in ends], dtype=np.int64)),
            encode_varints(dictionary.document_counts),
            *ends,
        )
    )
    return split(seal_payload(b"d", zlib.compress(payload, 6)))


def decode_dictionary(chunks: Sequence[bytes]) -> Dictionary:
    """The dictionary of its cells in order. Raises DamagedInputError."""
    payload = _unpack(open_payload(b"d", join_chunks(chunks), CHUNK_MAX_BYTES * CHUNKS_MAX))
    head, at = read_varints(payload, 3)
    version, documents, count = (int(number) for number in head)
    if count > TERMS_MAX:
        raise build_damaged_error(f"{count} terms, where {TERMS_MAX} is the most")
    shared, at = read_varints(payload, count, at)
    lengths, at = read_varints(payload, count, at)
    counts, at = read_varints(payload, count, at)
    if count and (int(counts.max()) > documents or int(counts.min()) < 1):
        raise build_damaged_error("a term stands in more documents than there are, or in none")
    return Dictionary(version, documents, _decode_terms(payload[at:], shared, lengths), counts)


def _count_shared_bytes(coded: Sequence[bytes]) -> list[int]:
    """How many bytes each term shares with the one before."""
    before, shared = b"", []
    for term in coded:
        most = min(len(before), len(term))
        shared.append(next((at for at in range(most) if before[at] != term[at]), most))
        before = term
    return shared


def _decode_terms(ends: bytes, shared: Numbers, lengths: Numbers) -> tuple[str, ...]:
    if len(lengths) and int(lengths.max()) > TERM_MAX_BYTES:
        raise build_damaged_error(f"a term has over {TERM_MAX_BYTES} bytes")
    if int(lengths.sum()) != len(ends):
        raise build_damaged_error("the terms end before or after their bytes")
    terms: list[bytes] = []
    before, at = b"", 0
    for same, length in zip(shared.tolist(), lengths.tolist(), strict=True):
        term = before[:same] + ends[at : at + length]
        if same > len(before) or len(term) > TERM_MAX_BYTES or (terms and term <= before):
            raise build_damaged_error("the terms are not in order")
        terms.append(term)
        before, at = term, at + length
    try:
        return tuple(term.decode("utf-8") for term in terms)
    except UnicodeDecodeError as error:
        raise build_damaged_error("a term is not UTF-8") from error


def _unpack(packed: bytes) -> bytes:
    unpack = zlib.decompressobj()
    try:
        payload = unpack.decompress(packed, UNPACKED_MAX_BYTES)
    except zlib.error as error:
        raise build_damaged_error(f"it cannot be unpacked: {error}") from error
    if not unpack.eof or unpack.unused_data:
        raise build_damaged_error(
            f"it ends too early, too late, or beyond {UNPACKED_MAX_BYTES} bytes"
        )
    return payload
