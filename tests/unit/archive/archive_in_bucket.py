"""An archive in a folder that acts as a bucket, and lists of its files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fixtures.buckets import FolderBucket
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.s3 import S3Archive
from fonds.archive.warc.scanner import RecordHead, read_heads


def open_archive(home: Path, bucket: FolderBucket, **options: object) -> S3Archive:
    archive_options = ArchiveOptions(waiting_folder=home / "archive", stories_max=5, **options)  # type: ignore[arg-type]
    return S3Archive("s3://bucket", archive_options, lambda _: bucket)


def list_local_files(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "archive").iterdir())


def list_bucket_files(bucket: FolderBucket) -> list[Path]:
    return sorted(path for path in bucket.folder.rglob("*") if path.is_file())


def count_responses(*folders: Path) -> Counter[str]:
    """Count the response records of each URL in all WARC files below these folders."""
    counts: Counter[str] = Counter()
    for folder in folders:
        for path in folder.rglob("*.warc.gz"):
            with path.open("rb") as stream:
                heads = [head for head in read_heads(stream) if isinstance(head, RecordHead)]
            counts.update(head.url for head in heads if head.type == "response")
    return counts
