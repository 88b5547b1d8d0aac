"""`file_meta` on the wire, under the names of the SQL table of the same name.

Source: seed 003, `file_meta`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from fonds.model.capture import Capture
from fonds.model.file import FileMeta

Sha1Hex = Annotated[str, Meta(pattern="^[0-9a-f]{40}$", description="SHA-1 in lower-case hex")]


class FileMetaObject(msgspec.Struct, frozen=True, kw_only=True):
    """Hashes in lower-case hex, size in bytes, and the normalised type of a file."""

    sha1hex: Sha1Hex
    sha256hex: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    md5hex: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    size_bytes: Annotated[int, Meta(ge=0)]
    mimetype: str
    magic: Annotated[str, Meta(description="what the bytes are, in words; ours")] = ""
    magic_mime: Annotated[str, Meta(description="the type by the bytes alone; ours")] = ""


def to_object(file: FileMeta) -> FileMetaObject:
    """A file under the names others read."""
    return FileMetaObject(
        sha1hex=file.sha1,
        sha256hex=file.sha256,
        md5hex=file.md5,
        size_bytes=file.size,
        mimetype=file.mime,
        magic=file.magic,
        magic_mime=file.magic_mime,
    )


def mime_of(file: FileMeta | None, source: Capture) -> str:
    """The type of the file, else the type its capture declares; "" without either."""
    return file.mime if file else source.mime or ""


def from_object(found: FileMetaObject) -> FileMeta:
    """The file again."""
    return FileMeta(
        size=found.size_bytes,
        mime=found.mimetype,
        magic=found.magic,
        magic_mime=found.magic_mime,
        sha1=found.sha1hex,
        md5=found.md5hex,
        sha256=found.sha256hex,
    )
