"""Rows of `cdx` by address and time, and records that count the rows they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any

from fonds.model.rows import CdxRow
from fonds.urls.surt import build_lookup_key, build_surt

NOON = datetime(2024, 5, 6, 12, 0, 0, 0, UTC)


def captured(url: str, at: str, offset: int, **more: Any) -> CdxRow:
    """A page captured; `more` are columns of the row."""
    key = build_surt(url)
    values: dict[str, Any] = {
        "capture_id": f"id-{offset}",
        "sha1hex": sha1(f"{url} {at}".encode()).hexdigest(),
        "url": url,
        "surt": key,
        "surt_key": build_lookup_key(key),
        "datetime": at,
        "mimetype": "text/html",
        "status": 200,
        "warc_path": "fonds-20240506120000-00000-here-01234567.warc.gz",
        "warc_csize": 100,
        "warc_offset": offset,
        "row_created": NOON,
    }
    return CdxRow(**{**values, **more})


class Counting:
    """Records that count the rows of `cdx` they give."""

    def __init__(self, records: Any) -> None:
        self.records = records
        self.given = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.records, name)

    def find(self, *words: Any, **more: Any) -> Iterator[Any]:
        """As the records do."""
        for row in self.records.find(*words, **more):
            self.given += 1
            yield row
