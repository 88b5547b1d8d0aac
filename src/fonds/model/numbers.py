"""Whole numbers: their bound in JSON, and how people read them."""

from __future__ import annotations

EXACT_MAX = 2**53 - 1
"""The greatest whole number that every reader of JSON reads as it was written (RFC 8259, section 6)."""


def how_many(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: `1 file`, `0 files`, `1,204 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
