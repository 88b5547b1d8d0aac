"""Find bytes below a folder, in files as they are stored or decompressed."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

from fonds.model.archive import PurgeResult
from fonds.model.capture import Place
from fonds.model.restrictions import Tombstone
from fonds.ports import WarcArchive
from home_rows import NOW

STREAM_MAX_BYTES = 200_000
_ZLIB_START = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")


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
    """Yield the bytes of a file, and everything in it that can be unpacked: streams of gzip and
    zlib, also in the free pages of a SQLite file, and the blocks of LZ4 in the index.
    """
    data = path.read_bytes()
    yield data
    if data.startswith(b"\x1f\x8b"):
        try:
            yield gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            yield zlib.decompressobj(31).decompress(data)
    for start in _ZLIB_START.finditer(data):
        try:
            yield zlib.decompressobj(47).decompress(
                data[start.start() : start.start() + STREAM_MAX_BYTES]
            )
        except zlib.error:
            continue
    if path.suffix == ".store":
        for position in range(len(data) - 4):
            size = int.from_bytes(data[position : position + 4], "little")
            if 0 < size < STREAM_MAX_BYTES:
                yield _unpack_lz4(data, position + 4, size)


def _unpack_lz4(data: bytes, position: int, size: int) -> bytes:
    """Unpack a block of LZ4 with `size` unpacked bytes, as far as it is one.

    Source: LZ4 block format description.
    """
    out = bytearray()

    def read_length(nibble: int) -> int:
        nonlocal position
        length = nibble
        while nibble == 15:
            part = data[position]
            position += 1
            length += part
            if part < 255:
                break
        return length

    try:
        while len(out) < size:
            token = data[position]
            position += 1
            literal_length = read_length(token >> 4)
            if literal_length > size:
                break
            out += data[position : position + literal_length]
            position += literal_length
            if len(out) >= size:
                break
            offset = data[position] | data[position + 1] << 8
            position += 2
            match_length = read_length(token & 15) + 4
            if not 0 < offset <= len(out) or match_length > size:
                break
            for _ in range(match_length):
                out.append(out[-offset])
    except IndexError:
        pass
    return bytes(out)


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
