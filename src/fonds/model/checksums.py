"""Checksums of rows, by which the audit notices changes by other programs.

A checksum is a hash, or a sum of hashes. If one part of a sum changes, the new sum follows from the
former one and the two values of this part. The other parts are not read.

A person who knows how checksums are computed can change a row and its checksum. `docs/audit.md`
says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from hashlib import blake2b, sha256
from operator import attrgetter
from typing import Any

import msgspec

ROW_HASH_BYTES = 5
"""Length of the hash of an SQL row. The sum of the hashes of eight million rows fits into a tally."""
CHECKSUM = "checksum"
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


def hash_row(row: Any) -> int:
    """Return the hash of an SQL row without its column `checksum`: a number of 40 bits."""
    kind: Any = type(row)
    data = msgspec.msgpack.encode(_get_reader(kind)(row), order="deterministic")
    return int.from_bytes(sha256(data).digest()[:ROW_HASH_BYTES], "big")


@cache
def _get_reader(kind: Any) -> Any:
    return attrgetter(*(column.name for column in fields(kind) if column.name != CHECKSUM))
