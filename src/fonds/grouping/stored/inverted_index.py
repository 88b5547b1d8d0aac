"""Encoding of `processing:index`: a collection's inverted index, in separately readable chunks.

A chunk has one part of the postings. Its payload consists of varints and weights:

- version of the dictionary, number of the first feature, count of features, count of postings
- for each feature: its number of postings in this chunk
- for each posting: the gap to the previous document number of the same feature
- for each posting: its weight as binary16

A feature with many postings continues in the next chunk.

Limits: 500,000 postings and 500,000 features per chunk, so a chunk is at most 8 MiB. Feature and
document numbers are below 2^31.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fonds.grouping.stored.chunks import CHUNK_MAX_BYTES, list_pieces, number_pieces
from fonds.grouping.stored.packing import (
    build_damaged_error,
    encode_half_floats,
    encode_varints,
    open_payload,
    read_halves,
    read_varints,
    seal_payload,
)
from fonds.grouping.stored.vectors import FEATURE_MAX
from fonds.model.vectors import Numbers, Postings

POSTINGS_MAX = 500_000
FEATURES_MAX = 500_000
DOCUMENT_MAX = 2**31 - 1


def encode_postings(postings: Postings) -> list[bytes]:
    """Encode the postings of a collection as cells to store: one numbered cell of
    `processing:index` for each part that fits into a chunk.

    Raises LimitError if there are more than 4,096 chunks.
    """
    return number_pieces([seal_payload(b"i", _encode_part(part)) for part in _iter_parts(postings)])


def decode_postings(chunks: Sequence[bytes]) -> list[Postings]:
    """Decode the postings of a collection from the cells of its chunks, given in order.

    Return the part of the postings that each chunk has. Raises DamagedInputError for invalid or
    missing chunks.
    """
    return [
        _decode_part(open_payload(b"i", piece, CHUNK_MAX_BYTES)) for piece in list_pieces(chunks)
    ]


def _iter_parts(postings: Postings) -> Iterator[Postings]:
    """Split postings into consecutive parts that each fit into one chunk.

    Without postings, yield one empty part.
    """
    ends = np.cumsum(postings.counts)
    feature, position, is_first = 0, 0, True
    while feature < len(ends) or is_first:
        end_feature = int(np.searchsorted(ends, position + POSTINGS_MAX, side="right"))
        end_feature = min(end_feature, feature + FEATURES_MAX)
        if end_feature > feature or not len(ends):
            counts = np.diff(ends[feature:end_feature], prepend=position)
            next_feature = end_feature
        else:
            counts, next_feature = np.array([POSTINGS_MAX], dtype=np.int64), feature
        next_position = position + int(counts.sum())
        yield Postings(
            postings.version,
            postings.first_feature + feature,
            counts,
            postings.documents[position:next_position],
            postings.weights[position:next_position],
        )
        feature, position, is_first = next_feature, next_position, False


def _encode_part(part: Postings) -> bytes:
    head = [
        part.version,
        part.first_feature,
        len(part.counts),
        len(part.documents),
    ]
    return b"".join(
        (
            encode_varints(np.array(head, dtype=np.int64)),
            encode_varints(part.counts),
            encode_varints(_compute_document_gaps(part.documents, part.counts)),
            encode_half_floats(np.maximum(part.weights, np.finfo(np.float16).smallest_subnormal)),
        )
    )


def _compute_document_gaps(documents: Numbers, counts: Numbers) -> Numbers:
    """Return the gaps between successive document numbers of each feature.

    A gap is the difference to the previous document number, minus 1. The first document number of
    each feature is kept as it is.
    `documents`: document numbers of all features, one feature after another.
    `counts`: number of postings (document numbers) of each feature.
    """
    previous = np.concatenate(([-1], documents[:-1]))
    previous[_find_starts(counts)] = -1
    gaps: Numbers = documents - previous[: len(documents)] - 1
    return gaps


def _find_starts(counts: Numbers) -> Numbers:
    """Return the index of the first posting of each feature that has any.

    `counts`: number of postings of each feature.
    """
    starts = np.cumsum(counts) - counts
    return starts[counts > 0]


def _decode_part(payload: bytes) -> Postings:
    head, position = read_varints(payload, 4)
    version, first_feature, feature_count, posting_count = (int(number) for number in head)
    if first_feature > FEATURE_MAX:
        raise build_damaged_error(f"a feature number is larger than {FEATURE_MAX}")
    if feature_count > FEATURES_MAX or posting_count > POSTINGS_MAX:
        raise build_damaged_error(
            f"{feature_count} features with {posting_count} postings in one chunk"
        )
    counts, position = read_varints(payload, feature_count, position)
    is_larger = bool(feature_count) and int(counts.max()) > posting_count
    if is_larger or int(counts.sum()) != posting_count:
        raise build_damaged_error("the number of postings does not match the features")
    gaps, position = read_varints(payload, posting_count, position)
    weights = read_halves(payload, posting_count, position)
    return Postings(version, first_feature, counts, _restore_documents(gaps, counts), weights)


def _restore_documents(gaps: Numbers, counts: Numbers) -> Numbers:
    """Return the document numbers of all features, from the gaps that `_compute_document_gaps`
    returned.

    Raises DamagedInputError if a document number is larger than `DOCUMENT_MAX`.
    """
    if len(gaps) and int(gaps.max()) > DOCUMENT_MAX:
        raise build_damaged_error("a document's number is too large")
    sums = np.cumsum(gaps + 1)
    starts = _find_starts(counts)
    sums_before = np.concatenate(([0], sums))[starts]
    documents: Numbers = sums - np.repeat(sums_before, counts[counts > 0]) - 1
    if len(documents) and int(documents.max()) > DOCUMENT_MAX:
        raise build_damaged_error("a document's number is too large")
    return documents
