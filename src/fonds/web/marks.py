"""Where a page of a long list begins: behind a row, which a link names, so that the last page costs what the
first does."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from fonds.model.prepared import prepared
from fonds.model.rows import Row

TEXT_MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Mark:
    """The row a page begins behind: how many rows came before the page, its time or number, and
    its key."""

    position: int
    time: datetime | int | None
    key: tuple[str, ...]

    def text(self) -> str:
        """For links and the API; nobody is meant to read or make it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class MarkedList:
    """A list paged behind rows: the column of times or numbers it goes by, and the key that decides
    among equal ones."""

    time: str
    key: tuple[str, ...]

    def read(self, text: str) -> Mark | None:
        """None for no mark. Raises ValueError for what is none of this list's."""
        if not text:
            return None
        try:
            padded = text + "=" * (-len(text) % 4)
            mark = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=prepared(Mark))
        except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError) as error:
            raise ValueError("it is no place in a list; begin at its first page") from error
        if len(mark.key) != len(self.key) or mark.position < 0:
            raise ValueError("it is no place in this list; begin at its first page")
        return mark

    def checked(self, text: str) -> str:
        """The text of a mark, as it came. Raises ValueError as `read` does."""
        self.read(text)
        return text

    def after(self, mark: Mark | None) -> dict[str, object] | None:
        """What `Records.find` takes for a page that begins at `mark`."""
        if mark is None:
            return None
        return {self.time: mark.time, **dict(zip(self.key, mark.key, strict=True))}

    def following(self, first: int, rows: Sequence[Row], page_size: int) -> str | None:
        """Where the page after these rows begins, of which the first is number `first`; None at the end: a
        page that is not full is the last."""
        if not rows or len(rows) < page_size:
            return None
        last: Any = rows[-1]
        key = tuple(getattr(last, name) for name in self.key)
        return Mark(first - 1 + len(rows), getattr(last, self.time), key).text()


def first_of(mark: Mark | None) -> int:
    """The number of the first row of the page that begins at `mark`, from 1."""
    return (mark.position if mark else 0) + 1
