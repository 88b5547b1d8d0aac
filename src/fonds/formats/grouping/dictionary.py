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

from fonds.formats.grouping.chunks import CHUNK_BYTES_MAX, CHUNKS_MAX, joined, split
from fonds.formats.grouping.packing import damaged, opened, read_varints, sealed, varints
from fonds.model.vectors import Dictionary, Numbers

TERMS_MAX = 5_000_000
TERM_BYTES_MAX = 1000
UNPACKED_BYTES_MAX = 256 * 1024 * 1024


def to_dictionary(dictionary: Dictionary) -> list[bytes]:
    """The cells of `processing:dictionary`, chunk after chunk."""
    coded = [term.encode("utf-8") for term in dictionary.terms]
    shared = _shared(coded)
    ends = [term[same:] for term, same in zip(coded, shared, strict=True)]
    head = [dictionary.version, dictionary.documents, len(coded)]
    payload = b"".join(
        (
            varints(np.array(head, dtype=np.int64)),
            varints(np.array(shared, dtype=np.int64)),
            varints(np.array([len(end) for end in ends], dtype=np.int64)),
            varints(dictionary.document_counts),
            *ends,
        )
    )
    return split(sealed(b"d", zlib.compress(payload, 6)))


def from_dictionary(chunks: Sequence[bytes]) -> Dictionary:
    """The dictionary of its cells in order. Raises DamagedInputError."""
    payload = _unpacked(opened(b"d", joined(chunks), CHUNK_BYTES_MAX * CHUNKS_MAX))
    head, at = read_varints(payload, 3)
    version, documents, count = (int(number) for number in head)
    if count > TERMS_MAX:
        raise damaged(f"{count} terms, where {TERMS_MAX} is the most")
    shared, at = read_varints(payload, count, at)
    lengths, at = read_varints(payload, count, at)
    counts, at = read_varints(payload, count, at)
    if count and (int(counts.max()) > documents or int(counts.min()) < 1):
        raise damaged("a term stands in more documents than there are, or in none")
    return Dictionary(version, documents, _terms(payload[at:], shared, lengths), counts)


def _shared(coded: Sequence[bytes]) -> list[int]:
    """How many bytes each term shares with the one before."""
    before, shared = b"", []
    for term in coded:
        most = min(len(before), len(term))
        shared.append(next((at for at in range(most) if before[at] != term[at]), most))
        before = term
    return shared


def _terms(ends: bytes, shared: Numbers, lengths: Numbers) -> tuple[str, ...]:
    if len(lengths) and int(lengths.max()) > TERM_BYTES_MAX:
        raise damaged(f"a term has over {TERM_BYTES_MAX} bytes")
    if int(lengths.sum()) != len(ends):
        raise damaged("the terms end before or after their bytes")
    terms: list[bytes] = []
    before, at = b"", 0
    for same, length in zip(shared.tolist(), lengths.tolist(), strict=True):
        term = before[:same] + ends[at : at + length]
        if same > len(before) or len(term) > TERM_BYTES_MAX or (terms and term <= before):
            raise damaged("the terms are not in order")
        terms.append(term)
        before, at = term, at + length
    try:
        return tuple(term.decode("utf-8") for term in terms)
    except UnicodeDecodeError as error:
        raise damaged("a term is not UTF-8") from error


def _unpacked(packed: bytes) -> bytes:
    unpack = zlib.decompressobj()
    try:
        payload = unpack.decompress(packed, UNPACKED_BYTES_MAX)
    except zlib.error as error:
        raise damaged(f"it cannot be unpacked: {error}") from error
    if not unpack.eof or unpack.unused_data:
        raise damaged(f"it ends too early, too late, or beyond {UNPACKED_BYTES_MAX} bytes")
    return payload
