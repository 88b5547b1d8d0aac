"""Whether bytes are still anywhere below a folder: in a file as it lies there, or in what it unpacks to."""

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
    """The files that hold these bytes."""
    return [path.name for path in _files(folder) if any(needle in one for one in _forms(path))]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _forms(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if data.startswith(b"\x1f\x8b"):
        try:
            yield gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            yield zlib.decompressobj(31).decompress(data)


def members(data: bytes) -> list[bytes]:
    """The gzip members of a file, packed, in their order."""
    found = []
    while data:
        unpacked = zlib.decompressobj(31)
        unpacked.decompress(data)
        assert unpacked.eof
        found.append(data[: len(data) - len(unpacked.unused_data)])
        data = unpacked.unused_data
    return found


def purged(archive: WarcArchive, place: Place, body: bytes) -> PurgeResult:
    """What came of purging a body from the WARC it lies in."""
    taken = Tombstone(sha1(body, usedforsecurity=False).hexdigest(), "privacy", NOW)
    return archive.purge(place.path, taken)
