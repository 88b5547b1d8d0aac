"""Read, change and damage the small texts in the blob store of a library."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from fonds.model.archive import Blob
from fonds.stores.local_blobs import FILE_NAME, LocalBlobs


def list_text_keys(home: Path, prefix: str = "") -> list[str]:
    """Return the keys of all small texts that begin with `prefix`, in order."""
    connection = sqlite3.connect(home / "blobs" / FILE_NAME)
    keys = [key for (key,) in connection.execute("SELECT key FROM blobs ORDER BY key")]
    connection.close()
    return [key for key in keys if key.startswith(prefix)]


def read_text(home: Path, key: str) -> bytes:
    """Return the bytes of a small text."""
    blobs = LocalBlobs(home / "blobs")
    data = blobs.get(key)
    blobs.close()
    assert data is not None, key
    return data


def change_text(home: Path, key: str, data: bytes | None) -> None:
    """Replace the bytes of a small text; None removes it."""
    blobs = LocalBlobs(home / "blobs")
    if data is None:
        blobs.delete([key])
    else:
        blobs.put([Blob(key, data, "text/plain")])
    blobs.close()


def flip_text_bit(home: Path, key: str) -> None:
    """Flip a bit in the middle of a small text."""
    change_text(home, key, flip_bit_of(read_text(home, key)))


def flip_packed_bit(home: Path, key: str) -> None:
    """Flip a bit in the middle of a small text as it is stored."""
    connection = sqlite3.connect(home / "blobs" / FILE_NAME)
    (packed,) = connection.execute("SELECT packed FROM blobs WHERE key = ?", (key,)).fetchone()
    packed = flip_bit_of(packed)
    connection.execute("UPDATE blobs SET packed = ? WHERE key = ?", (packed, key))
    connection.commit()
    connection.close()


def flip_bit_of(data: bytes, at: float = 0.5) -> bytes:
    """Return bytes with one bit changed; `at` is its position as a share of the length."""
    changed_data = bytearray(data)
    changed_data[int(len(data) * at)] ^= 0x10
    return bytes(changed_data)
