"""Encoding of `processing:index`: a collection's inverted index, in separately readable chunks.

Payload of a chunk: varints for the dictionary's version, the number of the first feature, the count
of features and the count of postings; the number of postings of each feature in this chunk; the
gaps between each feature's document numbers, which start from 0 for each feature; then the weights
as binary16. A feature with many postings continues in the next chunk.

Limits: 500,000 postings and 500,000 features per chunk, so a chunk is at most 8 MiB.
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
from fonds.model.vectors import Numbers, Postings

POSTINGS_MAX = 500_000
FEATURES_MAX = 500_000
DOCUMENT_MAX = 2**31 - 1


def encode_postings(postings: Postings) -> list[bytes]:
    """Encode the postings of a collection as cells to store: one numbered cell of
    `processing:index` for each chunk of documents.
    """
    return number_pieces(
        [seal_payload(b"i", _encode_run(postings_run)) for postings_run in _iter_runs(postings)]
    )


def decode_postings(chunks: Sequence[bytes]) -> list[Postings]:
    """Decode the postings of a collection from the cells of its chunks, given in order.

    Return one set of postings per chunk. Raises DamagedInputError for invalid or missing chunks.
    """
    return [_read(open_payload(b"i", piece, CHUNK_MAX_BYTES)) for piece in list_pieces(chunks)]


def _iter_runs(postings: Postings) -> Iterator[Postings]:
    """Split postings into consecutive runs that each fit into one chunk.

    Without postings, yield one empty run."""
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
        part = slice(position, position + int(counts.sum()))
        yield Postings(
            postings.version,
            postings.first_feature + feature,
            counts,
            postings.documents[part],
            postings.weights[part],
        )
        feature, position, is_first = next_feature, part.stop, False


def _encode_run(postings_run: Postings) -> bytes:
    head = [
        postings_run.version,
        postings_run.first_feature,
        len(postings_run.counts),
        len(postings_run.documents),
    ]
    return b"".join(
        (
            encode_varints(np.array(head, dtype=np.int64)),
            encode_varints(postings_run.counts),
            encode_varints(_compute_document_gaps(postings_run.documents, postings_run.counts)),
            encode_half_floats(
                np.maximum(postings_run.weights, np.finfo(np.float16).smallest_subnormal)
            ),
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


def _read(payload: bytes) -> Postings:
    head, position = read_varints(payload, 4)
    version, first, features, count = (int(number) for number in head)
    if features > FEATURES_MAX or count > POSTINGS_MAX or first > DOCUMENT_MAX:
        raise build_damaged_error(f"{features} features with {count} postings in one chunk")
    counts, position = read_varints(payload, features, position)
    if (features and int(counts.max()) > count) or int(counts.sum()) != count:
        raise build_damaged_error("the number of postings does not match the features")
    steps, position = read_varints(payload, count, position)
    weights = read_halves(payload, count, position)
    return Postings(version, first, counts, _restore_documents(steps, counts), weights)


def _restore_documents(steps: Numbers, counts: Numbers) -> Numbers:
    if len(steps) and int(steps.max()) > DOCUMENT_MAX:
        raise build_damaged_error("a document's number is too large")
    sums = np.cumsum(steps + 1)
    begins = _find_starts(counts)
    sums_before = np.concatenate(([0], sums))[begins]
    documents: Numbers = sums - np.repeat(sums_before, counts[counts > 0]) - 1
    if len(documents) and int(documents.max()) > DOCUMENT_MAX:
        raise build_damaged_error("a document's number is too large")
    return documents
