"""Jobs and stores for the tests of bulk work, as functions that a worker process can import."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fonds.grouping.tables import Tables
from fonds.ingest.bulk.capture_filter import CaptureFilter
from fonds.ingest.bulk.index_job import build_backfill_job
from fonds.ingest.bulk.index_reader import iter_parts
from fonds.model.keys import encode_sha1_base32
from fonds.model.rows import CdxRow
from fonds.ports import Job
from fonds.stores.journal_table.schema import JOURNAL as SCHEMA
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.hbase import HbaseTable
from fonds.stores.table.sqlite import SqliteTable

JOURNAL = "fonds-journal-extract-0-test"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MIMES = ("application/pdf", "application/pdf", "unk", "text/html", "warc/revisit", "image/pdf")


@dataclass(frozen=True)
class NumberWords:
    """Read a number into 100 records whose words repeat."""

    fail_at: int = -1

    def __call__(self, number: int) -> Iterator[bytes]:
        if number == self.fail_at:
            raise ValueError("this part is bad")
        for value in range(number * 100, number * 100 + 100):
            yield b"%05d %d" % (value * 7919 % 1000, value)


def join_records(number: int, records: Iterator[bytes]) -> Iterator[bytes]:
    """Yield one record: the number of the range and all its records."""
    yield b"%d:" % number + b",".join(records)


def word_job(name: str, part_count: int, ranges: tuple[bytes, ...], **more: Any) -> Job:
    """Build a job without stores."""
    return Job(name, tuple(range(part_count)), NumberWords(**more), ranges, join_records)


def open_collections(file: Path) -> Tables:
    """Open the tables of collections in a file."""
    return Tables(SqliteTable(file))


def open_hbase_collections(url: str, prefix: str) -> Tables:
    """Open the tables of collections in HBase, below a prefix."""
    return Tables(HbaseTable(url), prefix)


def generate_cdx_lines(seed: int, count: int, files: int) -> list[str]:
    """Generate the CDX lines of a crawl.

    They contain repeated files, revisits, rejected lines, contradictions and lines that cannot be
    parsed.
    """
    chance = random.Random(seed)
    lines = []
    for number in range(count):
        digest = encode_sha1_base32(bytes([chance.randrange(files)]) * 20)
        host, mime = chance.randrange(5), chance.choice(MIMES)
        url = chance.choice((f"http://h{host}.example/{number % 7}", f"ftp://h{host}.example/f"))
        status = (
            "-"
            if mime == "warc/revisit" or url.startswith("ftp")
            else chance.choice(("200", "404"))
        )
        moment = f"20{chance.randrange(10, 24)}0102030405"
        size = chance.choice(("-", "100"))
        warc = chance.choice((f"item{number % 3}/a.warc.gz", "bare.warc.gz"))
        offset = chance.randrange(count)
        key = f"example,h{host})/{number % 7}"
        fields = (key, moment, url, mime, status, digest, "-", "-", size, offset, warc)
        lines.append(" ".join(map(str, fields)))
    lines += [*chance.sample(lines, min(len(lines), count // 10)), "nonsense", "# a comment"]
    return lines


def open_table(home: Path) -> SqliteTable:
    """Open the table of a home with the journal declared."""
    table = SqliteTable(home / "table.sqlite")
    table.declare(JOURNAL, SCHEMA.names)
    return table


def captures_job(home: Path, paths: list[Path], ranges: int = 4, part_bytes: int = 2000) -> Job:
    """Build a backfill job that writes to the stores of a home."""
    home.mkdir(exist_ok=True)
    open_table(home).close()
    open_sqlite(home / "records.sqlite").close()
    stores = (
        partial(SqliteTable, home / "table.sqlite"),
        partial(open_sqlite, home / "records.sqlite"),
        JOURNAL,
    )
    parts = [*iter_parts(paths, part_bytes)]
    return build_backfill_job(parts, CaptureFilter(), ranges, stores, NOW, "test")


def read_rows(home: Path) -> tuple[list[Any], list[CdxRow]]:
    """Return all rows of the table and of `cdx`."""
    table, records = open_table(home), open_sqlite(home / "records.sqlite")
    try:
        return table.scan(JOURNAL, count_max=100_000), [*records.find(CdxRow)]
    finally:
        table.close()
        records.close()
