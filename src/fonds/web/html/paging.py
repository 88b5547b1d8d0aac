"""Cursors of long lists of database rows.

The link to a page has a cursor that names the last row of the page before. The database reads on
from that row, so the last page costs as much as the first.
"""

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
    """Cursor of a list of database rows: the last row before a page.

    `position`: number of rows of the list before the page.
    `time`: time or number of that row by which the list is sorted.
    `key`: values of the key columns of that row.
    """

    position: int
    time: datetime | int | None
    key: tuple[str, ...]

    def encode(self) -> str:
        """Encode the cursor as text for links and the API. The text is opaque to clients."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class CursorList:
    """List of database rows that pages show in parts, each part found by a cursor.

    `time`: name of the column of times or numbers by which the list is sorted.
    `key`: names of the columns that order rows with equal times.
    """

    time: str
    key: tuple[str, ...]

    def decode(self, text: str) -> PageCursor | None:
        """Decode a cursor; '' gives None. Raises ValueError for a text that is not a cursor of this
        list.
        """
        if not text:
            return None
        try:
            padded_text = text + "=" * (-len(text) % 4)
            mark = msgspec.json.decode(
                base64.urlsafe_b64decode(padded_text), type=prepare_type(PageCursor)
            )
        except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError) as error:
            raise ValueError("it is not a cursor; start at the first page") from error
        if len(mark.key) != len(self.key) or mark.position < 0:
            raise ValueError("it is not a cursor of this list; start at the first page")
        return mark

    def validate(self, text: str) -> str:
        """Return the text of a cursor unchanged. Raises ValueError if it is not a cursor of this
        list.
        """
        self.decode(text)
        return text

    def build_filter(self, mark: PageCursor | None) -> dict[str, object] | None:
        """Return the `after` argument of `Records.find` for the page that begins after the cursor
        `mark`.

        Return None for the first page, i.e. if `mark` is None.
        """
        if mark is None:
            return None
        return {self.time: mark.time, **dict(zip(self.key, mark.key, strict=True))}

    def find_next(self, first: int, rows: Sequence[Row], page_size: int) -> str | None:
        """Return the cursor of the page after `rows`, the rows of a page whose first row has the
        number `first`.

        Return None if the page has fewer than `page_size` rows, since it then is the last page.
        """
        if not rows or len(rows) < page_size:
            return None
        last: Any = rows[-1]
        key = tuple(getattr(last, name) for name in self.key)
        return PageCursor(first - 1 + len(rows), getattr(last, self.time), key).encode()


def get_first_number(mark: PageCursor | None) -> int:
    """Return the number in the list, from 1, of the first row on the page that begins after the
    cursor `mark`.

    `mark`: None for the first page.
    """
    return (mark.position if mark else 0) + 1


# Cursors in lists of documents: the last row of a page.


AFTER_MAX_CHARS = 60_000
"""Maximum length of a cursor: a row key of at most 32,767 bytes in base64, which writes four
characters for three bytes.
"""

AFTER: Any = Field(
    "",
    max_length=AFTER_MAX_CHARS,
    description="Cursor of the next page: `next` of the previous response",
)


@contextmanager
def refuse_invalid_cursor() -> Iterator[None]:
    """Context manager that turns a ValueError into HTTPException 400 for an invalid cursor
    `after`.
    """
    try:
        yield
    except ValueError as error:
        detail = "it is not a cursor of this list; start at the first page"
        raise HTTPException(400, f"The parameter “after”: {detail}.") from error
