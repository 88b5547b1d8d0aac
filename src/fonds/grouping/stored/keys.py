"""Row keys of documents, clusters and collections: order-preserving, injective, each a prefix of the
longer.

Source: the functions f1, f2 and f3 of Grouperfish's HBase layout, v0.2.

A text part is its UTF-8 with each NUL followed by FF, then the two bytes 00 01. The mark is lower than
whatever may follow a NUL inside a part, so keys sort as the tuples of their parts do, byte by byte, and no
part can reach into the next. A timestamp is eight bytes, big-endian. Numbers come out in their order, and
old clusterings first.

Bound: linear in the key, which has at most 32,767 bytes, HBase's limit.
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
    """f3: the row of a collection, and the prefix of all its documents and clusters (f1')."""
    return _check_length(_encode_part(namespace) + _encode_part(collection_key))


def build_namespace_prefix(namespace: str) -> bytes:
    """What the rows of all collections of a namespace begin with."""
    return _check_length(_encode_part(namespace))


def build_document_row(namespace: str, collection_key: str, document_id: str) -> bytes:
    """f1: the row of a document; `document_id` is the application's own."""
    return _check_length(
        _encode_part(namespace) + _encode_part(collection_key) + _encode_part(document_id)
    )


def build_clustering_prefix(
    namespace: str, collection_key: str, conf: str, timestamp: int
) -> bytes:
    """f2': what the clusters of one clustering begin with. Raises ValueError for a timestamp below 0."""
    if not 0 <= timestamp <= TIMESTAMP_MAX:
        raise ValueError(f"a timestamp is between 0 and {TIMESTAMP_MAX}, not {timestamp}")
    head = _encode_part(namespace) + _encode_part(collection_key) + _encode_part(conf)
    return _check_length(head + timestamp.to_bytes(_TIMESTAMP_BYTES, "big"))


def build_cluster_row(
    namespace: str, collection_key: str, conf: str, timestamp: int, label: str
) -> bytes:
    """f2: the row of a cluster."""
    return _check_length(
        build_clustering_prefix(namespace, collection_key, conf, timestamp) + _encode_part(label)
    )


def build_theme_row(namespace: str, collection_key: str, conf: str, theme_id: str) -> bytes:
    """The row of what is decided about a theme, by the id it has in each clustering of a configuration."""
    head = _encode_part(namespace) + _encode_part(collection_key) + _encode_part(conf)
    return _check_length(head + _encode_part(theme_id))


def build_themes_prefix(namespace: str, collection_key: str, conf: str) -> bytes:
    """What the rows of all themes of a configuration begin with."""
    return _check_length(
        _encode_part(namespace) + _encode_part(collection_key) + _encode_part(conf)
    )


def parse_collection_row(row: bytes) -> tuple[str, str]:
    """(namespace, collection_key) of f3. Raises DamagedInputError."""
    namespace, collection_key = _decode_parts(row, 2)
    return namespace, collection_key


def parse_document_row(row: bytes) -> tuple[str, str, str]:
    """(namespace, collection_key, id) of f1. Raises DamagedInputError."""
    namespace, collection_key, document_id = _decode_parts(row, 3)
    return namespace, collection_key, document_id


def parse_clustering_row(row: bytes) -> tuple[str, str, str, int]:
    """(namespace, collection_key, conf, timestamp) of f2'. Raises DamagedInputError."""
    return parse_cluster_row(row + _encode_part(""))[:4]


def parse_cluster_row(row: bytes) -> tuple[str, str, str, int, str]:
    """(namespace, collection_key, conf, timestamp, label) of f2. Raises DamagedInputError."""
    namespace, at = _read(row, 0)
    collection_key, at = _read(row, at)
    conf, at = _read(row, at)
    stamp = row[at : at + _TIMESTAMP_BYTES]
    timestamp = int.from_bytes(stamp, "big")
    if len(stamp) < _TIMESTAMP_BYTES or timestamp > TIMESTAMP_MAX:
        raise _build_damaged_error(row, "its timestamp is cut off or too large")
    (label,) = _decode_parts(row[at + _TIMESTAMP_BYTES :], 1)
    return namespace, collection_key, conf, timestamp, label


def _encode_part(part: str) -> bytes:
    """One part with its end. Lone surrogates, which UTF-8 cannot hold, raise UnicodeEncodeError."""
    return part.encode("utf-8").replace(_NUL, _ESCAPED_NUL) + _END


def _check_length(row: bytes) -> bytes:
    if len(row) > KEY_MAX_BYTES:
        raise LimitError(
            Reason.TOO_LARGE, f"a row key of {len(row)} bytes; a table takes {KEY_MAX_BYTES}"
        )
    return row


def _decode_parts(row: bytes, count: int) -> list[str]:
    parts, at = [], 0
    for _ in range(count):
        part, at = _read(row, at)
        parts.append(part)
    if at != len(row):
        raise _build_damaged_error(row, f"something follows its {count} parts")
    return parts


def _read(row: bytes, start: int) -> tuple[str, int]:
    """The part that begins at `start`, and where the next one does."""
    if len(row) > KEY_MAX_BYTES:
        raise _build_damaged_error(row[:40], f"it has {len(row)} bytes")
    end = row.find(_END, start)
    if end < 0:
        raise _build_damaged_error(row, "a part has no end")
    coded = row[start:end]
    if coded.count(_NUL) != coded.count(_ESCAPED_NUL):
        raise _build_damaged_error(row, "a NUL is not escaped")
    try:
        return coded.replace(_ESCAPED_NUL, _NUL).decode("utf-8"), end + len(_END)
    except UnicodeDecodeError as error:
        raise _build_damaged_error(row, "a part is not UTF-8") from error


def _build_damaged_error(row: bytes, reason: str) -> DamagedInputError:
    return DamagedInputError(Reason.DAMAGED_RECORD, f"no row key: {row!r}: {reason}")
