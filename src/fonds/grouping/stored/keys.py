"""Row keys of documents, clusters and collections: order-preserving and injective.

The key of a collection is a prefix of the keys of its documents and clusters.

Source: the functions f1, f2 and f3 of Grouperfish's HBase layout, v0.2.

A text part is its UTF-8 with FF after each NUL, then the two bytes 00 01. This end mark sorts below
everything that may follow a NUL inside a part. So keys sort bytewise like the tuples of their
parts, and no part can extend into the next. A timestamp is eight bytes, big-endian, so old
clusterings come first.

Limits: linear in the key, which has at most 32,767 bytes, HBase's limit.
"""

from __future__ import annotations

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError

KEY_MAX_BYTES = 32_767
TIMESTAMP_MAX = 2**63 - 1

_END = b"\x00\x01"
_NUL = b"\x00"
_ESCAPED_NUL = b"\x00\xff"
_TIMESTAMP_BYTES = 8


def build_collection_row(namespace: str, collection_key: str) -> bytes:
    """Return the row key of a collection (function f3 of Grouperfish).

    The key is the prefix of the row keys of all documents and clusters of the collection.
    """
    return _check_length(_encode_part(namespace) + _encode_part(collection_key))


def build_namespace_prefix(namespace: str) -> bytes:
    """Return the prefix of the row keys of all collections of a namespace."""
    return _check_length(_encode_part(namespace))


def build_document_row(namespace: str, collection_key: str, document_id: str) -> bytes:
    """Return the row key of a document of a collection (function f1 of Grouperfish).

    `document_id` is the id that the application gave the document.
    """
    return _check_length(
        _encode_part(namespace) + _encode_part(collection_key) + _encode_part(document_id)
    )


def build_clustering_prefix(
    namespace: str, collection_key: str, conf: str, timestamp: int
) -> bytes:
    """Return the prefix of the row keys of all clusters of one clustering.

    `conf`: name of the configuration. `timestamp`: time of the clustering in seconds since 1970.
    Raises ValueError for a timestamp out of range.
    """
    if not 0 <= timestamp <= TIMESTAMP_MAX:
        raise ValueError(f"a timestamp must be between 0 and {TIMESTAMP_MAX}, not {timestamp}")
    head = _encode_part(namespace) + _encode_part(collection_key) + _encode_part(conf)
    return _check_length(head + timestamp.to_bytes(_TIMESTAMP_BYTES, "big"))


def build_cluster_row(
    namespace: str, collection_key: str, conf: str, timestamp: int, label: str
) -> bytes:
    """Return the row key of a cluster, identified by its label (function f2 of Grouperfish)."""
    return _check_length(
        build_clustering_prefix(namespace, collection_key, conf, timestamp) + _encode_part(label)
    )


def build_theme_row(namespace: str, collection_key: str, conf: str, theme_id: str) -> bytes:
    """Return the row key, in the table `themes`, of the name and pin that people gave a theme.

    A theme has the same id in all clusterings of a configuration.
    """
    head = _encode_part(namespace) + _encode_part(collection_key) + _encode_part(conf)
    return _check_length(head + _encode_part(theme_id))


def build_themes_prefix(namespace: str, collection_key: str, conf: str) -> bytes:
    """Return the prefix of the row keys for the names and pins of all themes of a configuration."""
    return _check_length(
        _encode_part(namespace) + _encode_part(collection_key) + _encode_part(conf)
    )


def parse_collection_row(row: bytes) -> tuple[str, str]:
    """Parse the row key of a collection into (namespace, collection_key).

    Raises DamagedInputError if it is no such row key.
    """
    namespace, collection_key = _decode_parts(row, 2)
    return namespace, collection_key


def parse_document_row(row: bytes) -> tuple[str, str, str]:
    """Parse the row key of a document into (namespace, collection_key, document id).

    Raises DamagedInputError if it is no such row key.
    """
    namespace, collection_key, document_id = _decode_parts(row, 3)
    return namespace, collection_key, document_id


def parse_clustering_row(row: bytes) -> tuple[str, str, str, int]:
    """Parse the row key of a clustering into (namespace, collection_key, conf, timestamp).

    Raises DamagedInputError if it is no such row key.
    """
    return parse_cluster_row(row + _encode_part(""))[:4]


def parse_cluster_row(row: bytes) -> tuple[str, str, str, int, str]:
    """Parse the row key of a cluster into (namespace, collection_key, conf, timestamp, label).

    Raises DamagedInputError if it is no such row key.
    """
    namespace, position = _read(row, 0)
    collection_key, position = _read(row, position)
    conf, position = _read(row, position)
    stamp = row[position : position + _TIMESTAMP_BYTES]
    timestamp = int.from_bytes(stamp, "big")
    if len(stamp) < _TIMESTAMP_BYTES or timestamp > TIMESTAMP_MAX:
        raise _build_damaged_error(row, "the timestamp is truncated or too large")
    (label,) = _decode_parts(row[position + _TIMESTAMP_BYTES :], 1)
    return namespace, collection_key, conf, timestamp, label


def _encode_part(part: str) -> bytes:
    """Encode one part of a row key, with NUL bytes escaped and the end mark 00 01 after it.

    Raises UnicodeEncodeError for lone surrogates, which UTF-8 cannot encode.
    """
    return part.encode("utf-8").replace(_NUL, _ESCAPED_NUL) + _END


def _check_length(row: bytes) -> bytes:
    if len(row) > KEY_MAX_BYTES:
        raise LimitError(
            Reason.TOO_LARGE,
            (f"a row key of {len(row)} bytes is too long; the limit is {KEY_MAX_BYTES}"),
        )
    return row


def _decode_parts(row: bytes, count: int) -> list[str]:
    parts, position = [], 0
    for _ in range(count):
        part, position = _read(row, position)
        parts.append(part)
    if position != len(row):
        raise _build_damaged_error(row, f"bytes follow its {count} parts")
    return parts


def _read(row: bytes, start: int) -> tuple[str, int]:
    """Decode one part of a row key, as `_encode_part` encodes it.

    Return the part that starts at the byte `start`, and the position at which the next part starts.
    Raises DamagedInputError if the part has no end mark or is not encoded correctly, or the row key
    is too long.
    """
    if len(row) > KEY_MAX_BYTES:
        raise _build_damaged_error(row[:40], f"the key has {len(row)} bytes")
    end = row.find(_END, start)
    if end < 0:
        raise _build_damaged_error(row, "a part has no end")
    encoded_part = row[start:end]
    if encoded_part.count(_NUL) != encoded_part.count(_ESCAPED_NUL):
        raise _build_damaged_error(row, "a NUL byte is not escaped")
    try:
        return encoded_part.replace(_ESCAPED_NUL, _NUL).decode("utf-8"), end + len(_END)
    except UnicodeDecodeError as error:
        raise _build_damaged_error(row, "a part is not valid UTF-8") from error


def _build_damaged_error(row: bytes, reason: str) -> DamagedInputError:
    return DamagedInputError(Reason.DAMAGED_RECORD, f"invalid row key: {row!r}: {reason}")
