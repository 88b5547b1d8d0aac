"""An archive in a bucket that is a folder, and what lies where."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fixtures.buckets import FolderBucket
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.s3 import S3Archive
from fonds.archive.warc.scanner import RecordHead, read_heads


def opened(home: Path, bucket: FolderBucket, **options: object) -> S3Archive:
    chosen = ArchiveOptions(waiting_folder=home / "archive", stories_max=5, **options)  # type: ignore[arg-type]
    return S3Archive("s3://bucket", chosen, lambda _: bucket)


def here(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "archive").iterdir())


def kept(bucket: FolderBucket) -> list[Path]:
    return sorted(path for path in bucket.folder.rglob("*") if path.is_file())


def records(*folders: Path) -> Counter[str]:
    """How often each URL was written, in all WARC files below these folders."""
    found: Counter[str] = Counter()
    for folder in folders:
        for path in folder.rglob("*.warc.gz"):
            with path.open("rb") as stream:
                heads = [head for head in read_heads(stream) if isinstance(head, RecordHead)]
            found.update(head.url for head in heads if head.type == "response")
    return found
