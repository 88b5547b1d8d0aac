"""The seven facts about a file: hashes, size, type."""

from __future__ import annotations

import hashlib

from fonds.extract.mime import sniff
from fonds.model.file import FileMeta


def describe(body: bytes, declared_mime: str | None) -> FileMeta:
    """Hashes, size and type of a whole body; `declared_mime` is what the server or the index said."""
    sniffed = sniff(body, declared_mime)
    return FileMeta(
        size=len(body),
        mime=sniffed.mime,
        magic=sniffed.magic,
        magic_mime=sniffed.magic_mime,
        sha1=hashlib.sha1(body, usedforsecurity=False).hexdigest(),
        md5=hashlib.md5(body, usedforsecurity=False).hexdigest(),
        sha256=hashlib.sha256(body).hexdigest(),
    )
