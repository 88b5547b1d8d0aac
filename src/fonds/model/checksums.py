"""Checksums of rows in a wide table, by which the audit notices changes by other programs.

A checksum is a hash, or a sum of hashes. If one part of a sum changes, the new sum follows from the
former one and the two values of this part. The other parts are not read.

A person who knows how checksums are computed can change a row and its checksum. `docs/audit.md`
says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import msgspec

_HASH_BYTES = 8
_MODULUS = 2 ** (8 * _HASH_BYTES)


def hash_cells(key: bytes, cells: Mapping[str, bytes]) -> int:
    """Return the hash of some cells of the row with this key. Their order does not matter."""
    data = msgspec.msgpack.encode((key, cells), order="deterministic")
    return int.from_bytes(blake2b(data, digest_size=_HASH_BYTES).digest(), "big")


def format_checksum(total: int) -> bytes:
    """Return a sum of hashes as the value of a cell: 16 hexadecimal digits."""
    return b"%016x" % (total % _MODULUS)


def parse_checksum(cell: bytes | None) -> int:
    """Return the sum of hashes in a cell; 0 if the cell is missing or has no number."""
    try:
        return int(cell or b"0", 16)
    except ValueError:
        return 0
