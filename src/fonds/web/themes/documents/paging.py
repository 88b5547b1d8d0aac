"""Places in lists of documents, as they stand in addresses: the row a page ends with."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import HTTPException
from pydantic import Field

AFTER_MAX_CHARS = 60_000
"""A row has at most 32,767 bytes, of which base64 makes four characters for three bytes."""

AFTER: Any = Field(
    "", max_length=AFTER_MAX_CHARS, description="The page behind another: its `next`"
)


def to_text(row: bytes) -> str:
    """The row a page ends with, for links and the API; nobody is meant to read or make it."""
    return base64.urlsafe_b64encode(row).decode().rstrip("=")


def to_row(after: str) -> bytes | None:
    """The row behind which a page begins, None for the first. Raises ValueError for what is none."""
    if not after:
        return None
    try:
        return base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("no base64") from error


@contextmanager
def pages() -> Iterator[None]:
    """A place of another list, or none, becomes an HTTPException 400."""
    try:
        yield
    except ValueError as error:
        said = "it is no place in this list; begin at its first page"
        raise HTTPException(400, f"The parameter “after”: {said}.") from error
