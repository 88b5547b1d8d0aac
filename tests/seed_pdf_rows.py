"""Rows of `pdf_meta` as a program would write them that only knows the DDL of seed 003."""

from __future__ import annotations

from collections.abc import Sequence

_VALUES: dict[str, object] = {
    "updated": "2024-05-06 12:00:00",
    "status": "success",
    "has_page0_thumbnail": False,
    "page_count": 2,
    "word_count": 7,
    "page0_height": 841.875,
    "page0_width": 595.25,
    "permanent_id": "0f1e",
    "pdf_created": "2024-05-06 12:00:00",
    "pdf_version": "1.7",
    "metadata": '{"title": "F\u00e4hre"}',
}
SEED_COLUMNS = ("sha1hex", *_VALUES)
SEED_COLUMNS_REQUIRED = ("sha1hex", "status", "has_page0_thumbnail")
"""The columns that are NOT NULL in the DDL and have no default."""
SEED_REFUSES = [
    {"sha1hex": "a" * 39},
    {"sha1hex": "ä" + "a" * 39},
    {"status": ""},
    {"permanent_id": ""},
    {"pdf_version": ""},
]
"""Values that violate the DDL. It counts bytes: `ä` is two of them."""


def seed_values(number: int, columns: Sequence[str]) -> tuple[object, ...]:
    """Return the values of these columns for the file with this number."""
    return tuple(f"{number:040x}" if name == "sha1hex" else _VALUES[name] for name in columns)


def insert_of(columns: Sequence[str], mark: str) -> str:
    """Return the INSERT statement; `mark` is the placeholder of the driver."""
    return (
        f"INSERT INTO pdf_meta ({', '.join(columns)}) VALUES ({', '.join([mark] * len(columns))})"
    )
