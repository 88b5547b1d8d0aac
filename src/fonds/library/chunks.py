"""Rows some hundred at a time, so that a store is asked about many at once and memory stays flat."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

CHUNK = 500
T = TypeVar("T")


def chunks(rows: Iterator[T], size: int = CHUNK) -> Iterator[list[T]]:
    """All rows, so many at a time."""
    while chunk := list(islice(rows, size)):
        yield chunk
