"""Archives in a bucket of a real S3 server, each with its own prefix."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import urlsplit

from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.s3 import S3Archive


def add_unique_prefix(url: str) -> str:
    """Return the URL of the bucket with a unique prefix."""
    parts = urlsplit(url)
    path = f"{parts.path.rstrip('/')}/archive-{secrets.token_hex(6)}"
    return parts._replace(path=path).geturl()


def open_archive(url: str, home: Path, **options: object) -> S3Archive:
    return S3Archive(url, ArchiveOptions(waiting_folder=home / "archive", **options))  # type: ignore[arg-type]


def list_waiting_files(home: Path) -> list[Path]:
    return list((home / "archive").iterdir())
