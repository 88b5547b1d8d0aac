"""Decode the headers of WARC records and HTTP messages: as UTF-8, or as Latin-1 where they are not
UTF-8.
"""

from __future__ import annotations


def decode_text(data: bytes) -> str:
    """Decode a line or a part of it."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def decode_lines(block: bytes) -> list[str]:
    """Split a block into lines at its line feeds, and decode each line by itself."""
    try:
        return block.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return [decode_text(line) for line in block.split(b"\n")]
