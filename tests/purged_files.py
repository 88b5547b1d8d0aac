"""Find bytes below a folder, in files as they are stored or decompressed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

from fonds.model.archive import PurgeResult
from fonds.model.capture import Place
from fonds.model.restrictions import Tombstone
from fonds.ports import WarcArchive
from home_rows import NOW


def holders(folder: Path, needle: bytes) -> list[str]:
    """Return the names of the files that contain these bytes."""
    return [
        path.name
        for path in _iter_files(folder)
        if any(needle in content for content in _iter_contents(path))
    ]


def _iter_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _iter_contents(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if data.startswith(b"\x1f\x8b"):
        try:
            yield gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            yield zlib.decompressobj(31).decompress(data)


def members(data: bytes) -> list[bytes]:
    """Return the compressed gzip members of a file, in order."""
    compressed_members = []
    while data:
        decompressor = zlib.decompressobj(31)
        decompressor.decompress(data)
        assert decompressor.eof
        compressed_members.append(data[: len(data) - len(decompressor.unused_data)])
        data = decompressor.unused_data
    return compressed_members


def purge_body(archive: WarcArchive, place: Place, body: bytes) -> PurgeResult:
    """Purge a body from its WARC and return the result."""
    tombstone = Tombstone(sha1(body, usedforsecurity=False).hexdigest(), "privacy", NOW)
    return archive.purge(place.path, tombstone)
