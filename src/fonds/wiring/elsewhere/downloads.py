"""What fetching an old system's downloads is made of: its bucket, and the spool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fonds.config import Settings
from fonds.ports import Step, Stores
from fonds.steps.news.fetch_download import FetchDownload
from fonds.steps.news.spool import Spool
from fonds.wiring.backends import s3_objects


@dataclass(frozen=True, slots=True)
class InS3:
    """Implements Downloads; the bucket is reached when the first object is wanted."""

    objects: Callable[[], Any]

    def dated(self, url: str, bytes_max: int, version: str | None = None) -> tuple[bytes, datetime]:
        """As Downloads says."""
        found: tuple[bytes, datetime] = self.objects().dated(url, bytes_max, version)
        return found

    def versions(self, url: str) -> list[tuple[str, datetime]]:
        """As Downloads says."""
        found: list[tuple[str, datetime]] = self.objects().versions(url)
        return found


def make_fetch_download(stores: Stores, settings: Settings) -> Step[Any]:
    """The step `fetch_download`."""
    downloads = InS3(s3_objects(Path(), settings))
    return FetchDownload(
        downloads, Spool(stores.blobs, stores.records, stores.archive), settings.page.max_bytes
    )
