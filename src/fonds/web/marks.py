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

from fonds.model.rows import Row

TEXT_MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Mark:
    """The row a page begins behind: how many rows came before the page, its time, and its key."""

    position: int
    time: datetime | None
    key: tuple[str, ...]

    def text(self) -> str:
        """For links and the API; nobody is meant to read or make it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")

    def columns(self, time: str, key: Sequence[str]) -> dict[str, object]:
        """What `Records.find` takes as `after`, for rows in the order of this time and key."""
        return {time: self.time, **dict(zip(key, self.key, strict=True))}


def mark_behind(
    before: Mark | None, rows: Sequence[Row], time: str, key: Sequence[str]
) -> Mark | None:
    """Where the page after these rows begins; `time` and `key` name their columns. None without rows."""
    if not rows:
        return None
    position = (before.position if before else 0) + len(rows)
    last: Any = rows[-1]
    return Mark(position, getattr(last, time), tuple(getattr(last, name) for name in key))


def read_mark(text: str, key_length: int) -> Mark | None:
    """None for no mark. Raises ValueError for what is none of ours."""
    if not text:
        return None
    try:
        mark = msgspec.json.decode(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Mark
        )
    except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError) as error:
        raise ValueError("it is no place in a list; begin at its first page") from error
    if len(mark.key) != key_length or mark.position < 0:
        raise ValueError("it is no place in this list; begin at its first page")
    return mark
