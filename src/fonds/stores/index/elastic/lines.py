"""The lines of a bulk request, and how many go together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

REQUEST_MAX_BYTES = 8 * 1024 * 1024


def line(action: str, index: str, key: str) -> str:
    """What is to be done with one document; the document itself is the next line."""
    return json.dumps({action: {"_index": index, "_id": key}}) + "\n"


def chunks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines together in requests that are not too large."""
    chunk: list[str] = []
    size_bytes = 0
    for one in lines:
        if chunk and size_bytes + len(one) > REQUEST_MAX_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
        chunk.append(one)
        size_bytes += len(one)
    if chunk:
        yield chunk
