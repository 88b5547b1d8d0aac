"""Where a page of a long list begins: behind a row, which a link names, so that the last page costs what the
first does."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from fastapi import HTTPException
from pydantic import Field

from fonds.model.encoding import prepare_type
from fonds.model.rows import Row

TEXT_MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class PageCursor:
    """The row a page begins behind: how many rows came before the page, its time or number, and
    its key."""

    position: int
    time: datetime | int | None
    key: tuple[str, ...]

    def encode(self) -> str:
        """For links and the API; nobody is meant to read or make it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class CursorList:
    """A list paged behind rows: the column of times or numbers it goes by, and the key that decides
    among equal ones."""

    time: str
    key: tuple[str, ...]

    def decode(self, text: str) -> PageCursor | None:
        """None for no mark. Raises ValueError for what is none of this list's."""
        if not text:
            return None
        try:
            padded = text + "=" * (-len(text) % 4)
            mark = msgspec.json.decode(
                base64.urlsafe_b64decode(padded), type=prepare_type(PageCursor)
            )
        except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError) as error:
            raise ValueError("it is no place in a list; begin at its first page") from error
        if len(mark.key) != len(self.key) or mark.position < 0:
            raise ValueError("it is no place in this list; begin at its first page")
        return mark

    def validate(self, text: str) -> str:
        """The text of a mark, as it came. Raises ValueError as `read` does."""
        self.decode(text)
        return text

    def build_filter(self, mark: PageCursor | None) -> dict[str, object] | None:
        """What `Records.find` takes for a page that begins at `mark`."""
        if mark is None:
            return None
        return {self.time: mark.time, **dict(zip(self.key, mark.key, strict=True))}

    def find_next(self, first: int, rows: Sequence[Row], page_size: int) -> str | None:
        """Where the page after these rows begins, of which the first is number `first`; None at the end: a
        page that is not full is the last."""
        if not rows or len(rows) < page_size:
            return None
        last: Any = rows[-1]
        key = tuple(getattr(last, name) for name in self.key)
        return PageCursor(first - 1 + len(rows), getattr(last, self.time), key).encode()


def get_first_number(mark: PageCursor | None) -> int:
    """The number of the first row of the page that begins at `mark`, from 1."""
    return (mark.position if mark else 0) + 1


# Places in lists of documents, as they stand in addresses: the row a page ends with.


AFTER_MAX_CHARS = 60_000
"""A row has at most 32,767 bytes, of which base64 makes four characters for three bytes."""

AFTER: Any = Field(
    "", max_length=AFTER_MAX_CHARS, description="The page behind another: its `next`"
)


def encode_cursor(row: bytes) -> str:
    """The row a page ends with, for links and the API; nobody is meant to read or make it."""
    return base64.urlsafe_b64encode(row).decode().rstrip("=")


def decode_cursor(after: str) -> bytes | None:
    """The row behind which a page begins, None for the first. Raises ValueError for what is none."""
    if not after:
        return None
    try:
        return base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("no base64") from error


@contextmanager
def refuse_invalid_cursor() -> Iterator[None]:
    """A place of another list, or none, becomes an HTTPException 400."""
    try:
        yield
    except ValueError as error:
        said = "it is no place in this list; begin at its first page"
        raise HTTPException(400, f"The parameter “after”: {said}.") from error
