"""Archives in a bucket of a real S3 server, each below a prefix of its own."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import urlsplit

from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.s3 import S3Archive


def below(url: str) -> str:
    """The bucket's URL with a prefix nobody else has."""
    parts = urlsplit(url)
    path = f"{parts.path.rstrip('/')}/archive-{secrets.token_hex(6)}"
    return parts._replace(path=path).geturl()


def opened(url: str, home: Path, **options: object) -> S3Archive:
    return S3Archive(url, ArchiveOptions(waiting_folder=home / "archive", **options))  # type: ignore[arg-type]


def here(home: Path) -> list[Path]:
    return list((home / "archive").iterdir())
