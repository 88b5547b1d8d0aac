"""Jobs and engines by their names and URLs."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from fonds.bulk.captures.deciding import Wanted
from fonds.bulk.captures.job import backfill_job
from fonds.bulk.captures.parts import parts_of
from fonds.bulk.counting import table_counting_job
from fonds.bulk.matching import matching_job
from fonds.catalog.keys import catalog_table
from fonds.config import Settings
from fonds.engines.local.engine import LocalEngine, Tell
from fonds.engines.spark import SparkEngine
from fonds.formats.journal import Schema
from fonds.model.errors import ConfigurationError
from fonds.model.names import no_such
from fonds.model.secrets import without_secrets
from fonds.ports import Engine, Job
from fonds.sources.paths import PathSource
from fonds.wiring.backends import all_shared_of, backend
from fonds.wiring.bulk.table import journal_of

LOCAL = "local"
SPARK_MASTERS = ("spark", "yarn", "k8s")
STORES = ("table", "records")
BULK_FOLDER = "bulk"
RANGES_A_WORKER = 4


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes below some paths, and what was found there that is none."""

    paths: tuple[Path, ...]
    fingerprint: str
    others: tuple[str, ...]


def find_indexes(paths: Sequence[Path], home: Path) -> Indexes:
    """CDX and CDXJ files, packed or not, told by their content. What leads to the parts of a ZipNum cluster
    is passed over: the parts are indexes themselves.

    Raises ConfigurationError for a file that cannot be read.
    """
    found, prints, others = [], [], []
    for row in PathSource(paths, home, "", "").inputs():
        if row.kind in ("missing", "unreadable"):
            raise ConfigurationError(f"{row.path}: {row.error or 'no such file or folder'}")
        if row.kind == "index":
            found.append(Path(row.path))
            prints.append(f"{row.path}:{row.fingerprint}")
        elif row.kind != "zipnum":
            others.append(row.path)
    return Indexes(tuple(found), "\n".join(prints), tuple(others))


def open_engine(
    url: str,
    home: Path,
    settings: Settings,
    *,
    workers: int = 0,
    stores: Sequence[str] = STORES,
    tell: Tell | None = None,
) -> Engine:
    """`local`, or Spark by the URL of its master; `stores` are what its jobs open. `tell` is told how far
    jobs got here.

    Raises ConfigurationError for another, and for Spark where a store is a file of this machine.
    """
    if url == LOCAL:
        count = workers or os.cpu_count() or 1
        writers = count if all_shared_of(settings, stores) else 1
        return LocalEngine(home / BULK_FOLDER, count, writers, tell=tell)
    if url.partition(":")[0].partition("?")[0] not in SPARK_MASTERS:
        raise ConfigurationError(
            no_such("engine", url, (LOCAL, "spark://host:7077", *SPARK_MASTERS[1:]))
        )
    for port in stores:
        if not all_shared_of(settings, (port,)):
            value = without_secrets(getattr(settings, port))
            raise ConfigurationError(
                f"{port} = {value!r} is a file of this machine, which Spark's other machines cannot write;"
                " set one of a server, or use the engine 'local'"
            )
    return SparkEngine(url)


def counting_job(
    table: str, schema: Schema, home: Path, settings: Settings, large: bool, fingerprint: str
) -> Job:
    """The statistics of one table; `fingerprint` is new each time, for tables change."""
    opens = partial(backend, "table", settings.table, home)
    return table_counting_job(opens, table, schema, large=large, fingerprint=fingerprint)


def match_job(what: str, home: Path, settings: Settings, now: datetime) -> Job:
    """All papers, or all references, held against the catalogue of these settings."""
    stores = (
        partial(backend, "table", settings.table, home),
        partial(backend, "records", settings.records, home),
        journal_of(settings),
        catalog_table(settings.group, settings.env),
    )
    return matching_job(what, stores, now, uuid.uuid4().hex[:16])


def captures_job(
    indexes: Indexes, wanted: Wanted, home: Path, settings: Settings, workers: int, now: datetime
) -> Job:
    """The backfill of some indexes into the stores of these settings."""
    stores = (
        partial(backend, "table", settings.table, home),
        partial(backend, "records", settings.records, home),
        journal_of(settings),
    )
    where = "\n".join((indexes.fingerprint, settings.table, settings.records, stores[2]))
    parts = [*parts_of(indexes.paths)]
    ranges = RANGES_A_WORKER * (workers or os.cpu_count() or 1)
    return backfill_job(parts, wanted, ranges, stores, now, where)
