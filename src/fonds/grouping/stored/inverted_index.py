"""`index`: the inverted index of a collection, feature by feature, in chunks that can each be read alone.

Payload of a chunk: varints for the dictionary's version, the first feature, the number of features and of
postings; how many postings each feature has here; the gaps between each feature's document numbers, those
of a feature from 0 anew; then the weights as binary16. A feature with many postings goes on in the next
chunk.

Bound: 500,000 postings and as many features a chunk, so that none is over 8 MiB.
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
    """The cells of `processing:index` of one long run, chunk after chunk."""
    return number_pieces([seal_payload(b"i", _encode_run(run)) for run in _iter_runs(postings)])


def decode_postings(chunks: Sequence[bytes]) -> list[Postings]:
    """The runs of all chunks in order. Raises DamagedInputError."""
    return [_read(open_payload(b"i", piece, CHUNK_MAX_BYTES)) for piece in list_pieces(chunks)]


def _iter_runs(postings: Postings) -> Iterator[Postings]:
    """The same postings in runs that fit a chunk; at least one run, maybe empty."""
    ends = np.cumsum(postings.counts)
    feature, at, is_first = 0, 0, True
    while feature < len(ends) or is_first:
        whole = int(np.searchsorted(ends, at + POSTINGS_MAX, side="right"))
        whole = min(whole, feature + FEATURES_MAX)
        if whole > feature or not len(ends):
            counts = np.diff(ends[feature:whole], prepend=at)
            after = whole
        else:
            counts, after = np.array([POSTINGS_MAX], dtype=np.int64), feature
        part = slice(at, at + int(counts.sum()))
        yield Postings(
            postings.version,
            postings.first_feature + feature,
            counts,
            postings.documents[part],
            postings.weights[part],
        )
        feature, at, is_first = after, part.stop, False


def _encode_run(run: Postings) -> bytes:
    head = [run.version, run.first_feature, len(run.counts), len(run.documents)]
    return b"".join(
        (
            encode_varints(np.array(head, dtype=np.int64)),
            encode_varints(run.counts),
            encode_varints(_compute_document_gaps(run.documents, run.counts)),
            encode_half_floats(np.maximum(run.weights, np.finfo(np.float16).smallest_subnormal)),
        )
    )


def _compute_document_gaps(documents: Numbers, counts: Numbers) -> Numbers:
    """How far each document is beyond the one before, less one; each feature begins anew."""
    before = np.concatenate(([-1], documents[:-1]))
    before[_find_starts(counts)] = -1
    steps: Numbers = documents - before[: len(documents)] - 1
    return steps


def _find_starts(counts: Numbers) -> Numbers:
    """Where the postings of each feature that has any begin."""
    starts = np.cumsum(counts) - counts
    return starts[counts > 0]


def _read(payload: bytes) -> Postings:
    head, at = read_varints(payload, 4)
    version, first, features, count = (int(number) for number in head)
    if features > FEATURES_MAX or count > POSTINGS_MAX or first > DOCUMENT_MAX:
        raise build_damaged_error(f"{features} features with {count} postings in one chunk")
    counts, at = read_varints(payload, features, at)
    if (features and int(counts.max()) > count) or int(counts.sum()) != count:
        raise build_damaged_error("the features have other than the postings there are")
    steps, at = read_varints(payload, count, at)
    weights = read_halves(payload, count, at)
    return Postings(version, first, counts, _restore_documents(steps, counts), weights)


def _restore_documents(steps: Numbers, counts: Numbers) -> Numbers:
    if len(steps) and int(steps.max()) > DOCUMENT_MAX:
        raise build_damaged_error("a document's number is too large")
    sums = np.cumsum(steps + 1)
    begins = _find_starts(counts)
    before = np.concatenate(([0], sums))[begins]
    documents: Numbers = sums - np.repeat(before, counts[counts > 0]) - 1
    if len(documents) and int(documents.max()) > DOCUMENT_MAX:
        raise build_damaged_error("a document's number is too large")
    return documents
