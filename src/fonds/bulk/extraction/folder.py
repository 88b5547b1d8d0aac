"""The folder an extraction writes into: whose it is, and the books beside the Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fonds.bulk.extraction.books import Books
from fonds.bulk.extraction.parquet import sweep
from fonds.bulk.extraction.rows import RESULTS
from fonds.model.errors import ConfigurationError, cause_of

OWNER, BOOKS = "job.json", "books.jsonl"


def claim(folder: Path, job: str) -> None:
    """Make the folder this job's, or find that it is. What a job leaves is the same when it runs again.

    Raises ConfigurationError for a folder that holds anything else, and one that cannot be written.
    """
    owner = folder / OWNER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not owner.exists():
            if next(folder.iterdir(), None) is not None:
                raise ConfigurationError(f"{folder} is not empty; name a folder of its own")
            owner.write_bytes(msgspec.json.encode({"job": job}))
        elif msgspec.json.decode(owner.read_bytes()) != {"job": job}:
            told = "holds what other WARCs or other settings gave; name another folder"
            raise ConfigurationError(f"{folder} {told}")
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigurationError(f"{folder} cannot be written into: {cause_of(error)}") from error


def close_books(folder: Path, books: Books) -> None:
    """Write the books, a JSON line for each WARC, and remove what killed writers left. Raises OSError."""
    sweep(folder, RESULTS)
    partial = folder / f"{BOOKS}.part"
    with partial.open("wb") as stream:
        stream.writelines(_lines(books))
    partial.replace(folder / BOOKS)


def _lines(books: Books) -> Iterator[bytes]:
    for path in sorted({*books.records, *books.ended}):
        yield msgspec.json.encode(books.of(path)) + b"\n"
