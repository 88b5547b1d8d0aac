"""Bytes on their way into the blob store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Blob:
    """What is kept under a key; stores that serve it to browsers say its type."""

    key: str
    data: bytes
    content_type: str
