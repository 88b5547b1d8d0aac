"""Blob store of a library folder: small texts in one SQLite file, all other blobs as files.

A file of its own for each short text would take several times the space of the text, and three
waits for the disk.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

from fonds.model.archive import Blob
from fonds.ports.scan import iter_chunks
from fonds.stores.blobs import FolderBlobs, check_key
from fonds.stores.sqlite_file import FileLayout, SqliteFile

FILE_NAME = "texts.sqlite"
TEXT_TYPES = frozenset({"text/plain", "application/xml", "application/json"})
"""Media types of blobs that may be stored in the SQLite file. Thumbnails stay files, so that a web
server can serve them.
"""
TEXT_MAX_BYTES = 64 * 1024
"""Maximum size of a blob in the SQLite file. Larger blobs are files."""

_LAYOUT = FileLayout(
    noun="blob store",
    application_id=0x466F426C,
    version=1,
    schema="""
CREATE TABLE blobs (key TEXT NOT NULL UNIQUE, size_bytes INTEGER NOT NULL, packed BLOB NOT NULL)
""",
)
_REPLACE = "REPLACE INTO blobs (key, size_bytes, packed) VALUES (?, ?, ?)"
_DELETE = "DELETE FROM blobs WHERE key = ?"
_LEVEL = 4
_KEYS_PER_STATEMENT = 500


class LocalBlobs:
    """Blob store that keeps small texts, compressed, in one SQLite file, and other blobs as files.

    Implements the interface Blobs (`ports/stores.py`). The SQLite file `texts.sqlite` is in the
    folder of the files. It can be used by all processes of one machine, but not on a network
    drive.
    """

    def __init__(self, root: Path) -> None:
        """Open the folder `root` and its SQLite file, creating them if missing.

        Raises ConfigurationError if they cannot be created, or the SQLite file is of another
        program.
        """
        self._folder = FolderBlobs(root)
        self._file = SqliteFile(root / FILE_NAME, _LAYOUT)

    def put(self, blobs: Sequence[Blob]) -> None:
        """Write blobs, replacing those with the same keys. All blobs are on disk when the method
        returns.
        """
        for blob in blobs:
            check_key(blob.key)
        texts = [blob for blob in blobs if blob.content_type in TEXT_TYPES]
        small_texts = [text for text in texts if len(text.data) <= TEXT_MAX_BYTES]
        large_texts = [text for text in texts if len(text.data) > TEXT_MAX_BYTES]
        others = [blob for blob in blobs if blob.content_type not in TEXT_TYPES]
        if large_texts or others:
            self._folder.put([*large_texts, *others])
        if texts:
            self._write_rows(small_texts, [text.key for text in large_texts])

    def _write_rows(self, texts: Sequence[Blob], stale_keys: Sequence[str]) -> None:
        """Write small texts in one transaction, and delete those that a file has replaced."""
        rows = [(text.key, len(text.data), zlib.compress(text.data, _LEVEL)) for text in texts]
        with self._file.write_transaction() as connection:
            connection.executemany(_REPLACE, rows)
            connection.executemany(_DELETE, [(key,) for key in stale_keys])

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a blob, or None if the key does not exist.

        A text that cannot be unpacked, because the file is damaged, counts as absent.
        """
        check_key(key)
        with self._file.read_connection() as connection:
            row = connection.execute("SELECT packed FROM blobs WHERE key = ?", (key,)).fetchone()
        return self._folder.get(key) if row is None else _unpack(row[0])

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """Return those of the blob keys `keys` that exist."""
        return set(self.get_sizes(keys))

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each blob in `keys` that exists, by key."""
        sizes = self._read_sizes(keys)
        return sizes | self._folder.get_sizes([key for key in keys if key not in sizes])

    def _read_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each small text in `keys` that exists, by key."""
        for key in keys:
            check_key(key)
        sizes: dict[str, int] = {}
        for chunk in iter_chunks(iter(keys), _KEYS_PER_STATEMENT):
            marks = ", ".join("?" * len(chunk))
            with self._file.read_connection() as connection:
                sizes |= connection.execute(
                    f"SELECT key, size_bytes FROM blobs WHERE key IN ({marks})",  # noqa: S608
                    chunk,
                )
        return sizes

    def delete(self, keys: Sequence[str]) -> None:
        """Delete blobs; absent keys are ignored. The bytes of deleted texts remain in the SQLite file
        until `purge`, or until other texts replace them.
        """
        # Most deleted blobs are files, such as fetched pages that have been archived. They need no
        # transaction.
        if texts := self._read_sizes(keys):
            with self._file.write_transaction() as connection:
                connection.executemany(_DELETE, [(key,) for key in texts])
        self._folder.delete(keys)

    def purge(self) -> Sequence[str]:
        """Remove the bytes of deleted texts from the SQLite file. Return what remains."""
        return self._file.purge()

    def close(self) -> None:
        """Close the SQLite file."""
        self._file.close()


def _unpack(packed: bytes) -> bytes | None:
    """Unpack a small text; return None if it is damaged."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, TEXT_MAX_BYTES)
    except (zlib.error, TypeError):
        return None
    return text if unpacker.eof else None
