"""Rows of `cdx` by URL and time, and records that count the rows they return."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any

from fonds.model.rows import CdxRow
from fonds.urls.surt import build_lookup_key, build_surt

NOON = datetime(2024, 5, 6, 12, 0, 0, 0, UTC)


def build_cdx_row(url: str, at: str, offset: int, **more: Any) -> CdxRow:
    """Build the row of a captured page; `more` sets columns."""
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
        "warc_path": "fonds-20240506120000-00000-local-01234567.warc.gz",
        "warc_csize": 100,
        "warc_offset": offset,
        "row_created": NOON,
    }
    return CdxRow(**{**values, **more})


class CountingRecords:
    """Records that count the rows they return."""

    def __init__(self, records: Any) -> None:
        self.records = records
        self.row_count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.records, name)

    def find(self, *args: Any, **more: Any) -> Iterator[Any]:
        """Find rows and count them."""
        for row in self.records.find(*args, **more):
            self.row_count += 1
            yield row
