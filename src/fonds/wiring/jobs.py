"""Creation of bulk jobs, and of the engines that run them: this machine or Spark."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path

from fonds.bulk.local import LocalEngine, ReportProgress
from fonds.bulk.spark import SparkEngine
from fonds.config import PORTS, Settings
from fonds.failures.accounting.table_counts import build_counting_job
from fonds.ingest.bulk.capture_filter import CaptureFilter
from fonds.ingest.bulk.index_job import build_backfill_job
from fonds.ingest.bulk.index_reader import iter_parts
from fonds.ingest.bulk.parquet_job import build_extraction_job
from fonds.ingest.bulk.record_reading import ReadingSteps
from fonds.ingest.bulk.store_job import build_ingest_job
from fonds.ingest.sources.paths import PathSource, detect_kind
from fonds.ingest.sources.remote_paths import REMOTE, RemotePathSource
from fonds.model.errors import ConfigurationError
from fonds.model.paper import JATS_VERSION
from fonds.model.rows import InputRow
from fonds.model.secrets import redact_secrets
from fonds.model.suggestions import format_unknown_name
from fonds.papers.bulk_match import build_matching_job
from fonds.papers.catalog.store import name_catalog_table
from fonds.ports import Engine, Job
from fonds.stores.journal_table.schema import Schema
from fonds.wiring.archive import open_archive
from fonds.wiring.backends import are_ports_shared, open_backend
from fonds.wiring.pipelines import create_named_source, discard_file, get_input_file, open_pipeline
from fonds.wiring.readers import count_cores, name_extractors, open_readers
from fonds.wiring.steps import build_reading_steps
from fonds.wiring.table import name_journal

LOCAL = "local"
SPARK_MASTERS = ("spark", "yarn", "k8s")
STORES = ("table", "records")
BULK_FOLDER = "bulk"
RANGES_PER_WORKER = 4


@dataclass(frozen=True, slots=True)
class IndexInputs:
    """Index files (CDX, CDXJ) found below some paths.

    `paths`: the index files.
    `fingerprint`: text that changes when one of the files changes.
    `other_paths`: files found that are not index files.
    """

    paths: tuple[Path, ...]
    fingerprint: str
    other_paths: tuple[str, ...]


def find_indexes(paths: Sequence[Path], home: Path) -> IndexInputs:
    """Find CDX and CDXJ files, compressed or not, below some paths. They are recognised by content.

    The main index of a ZipNum cluster is skipped; its parts are index files themselves. `home` is
    the library folder. Raises ConfigurationError for an unreadable file.
    """
    index_paths, fingerprints, other_paths = [], [], []
    for row in PathSource(paths, home, "", "").iter_inputs():
        if row.kind in ("missing", "unreadable"):
            raise ConfigurationError(f"{row.path}: {row.error or 'no such file or folder'}")
        if row.kind == "index":
            index_paths.append(Path(row.path))
            fingerprints.append(f"{row.path}:{row.fingerprint}")
        elif row.kind != "zipnum":
            other_paths.append(row.path)
    return IndexInputs(tuple(index_paths), "\n".join(fingerprints), tuple(other_paths))


def open_engine(
    url: str,
    home: Path,
    settings: Settings,
    *,
    workers: int = 0,
    stores: Sequence[str] = STORES,
    report: ReportProgress | None = None,
) -> Engine:
    """Open the engine that runs bulk jobs: `local`, or Spark by the URL of its master.

    `workers`: number of local processes; 0 for one per core.
    `stores`: names of the stores that the jobs open.
    `report`: receives the progress of local jobs; None to report nothing.

    Raises ConfigurationError for an unknown engine. Also raises it for Spark if a store is a file
    on this machine.
    """
    if url == LOCAL:
        count = workers or os.cpu_count() or 1
        writers = count if are_ports_shared(settings, stores) else 1
        return LocalEngine(home / BULK_FOLDER, count, writers, report_progress=report)
    if url.partition(":")[0].partition("?")[0] not in SPARK_MASTERS:
        raise ConfigurationError(
            format_unknown_name("engine", url, (LOCAL, "spark://host:7077", *SPARK_MASTERS[1:]))
        )
    for port in stores:
        if not are_ports_shared(settings, (port,)):
            value = redact_secrets(getattr(settings, port))
            raise ConfigurationError(
                f"{port} = {value!r} is a file on this machine, which other machines of "
                "Spark cannot write. Use a server, or the engine 'local'."
            )
    return SparkEngine(url)


def build_table_counting_job(
    table: str, schema: Schema, home: Path, settings: Settings, large: bool, fingerprint: str
) -> Job:
    """Build the bulk job that counts the rows and values of one table.

    `large`: whether to also count the rows that lack a large column.
    `fingerprint`: must be new for each run, because tables change and a job with a known name
        resumes.
    """
    open_table = partial(open_backend, "table", settings.table, home)
    return build_counting_job(open_table, table, schema, large=large, fingerprint=fingerprint)


def build_match_job(subject: str, home: Path, settings: Settings, now: datetime) -> Job:
    """Build the bulk job that matches papers with the catalogue of works.

    `subject`: `papers` matches the papers themselves, `references` the entries of their reference
        lists.
    `now`: time recorded in the results, aware UTC.
    """
    stores = (
        partial(open_backend, "table", settings.table, home),
        partial(open_backend, "records", settings.records, home),
        name_journal(settings),
        name_catalog_table(settings.group, settings.env),
    )
    return build_matching_job(subject, stores, now, uuid.uuid4().hex[:16])


def build_captures_job(
    indexes: IndexInputs,
    capture_filter: CaptureFilter,
    home: Path,
    settings: Settings,
    workers: int,
    now: datetime,
) -> Job:
    """Build the bulk job that stores the captures of CDX and CDXJ indexes.

    `capture_filter`: conditions for the captures to store.
    `workers`: number of worker processes; 0 for one per core.
    `now`: the time recorded in the rows, aware UTC.
    """
    stores = (
        partial(open_backend, "table", settings.table, home),
        partial(open_backend, "records", settings.records, home),
        name_journal(settings),
    )
    where = "\n".join((indexes.fingerprint, settings.table, settings.records, stores[2]))
    parts = [*iter_parts(indexes.paths)]
    ranges = RANGES_PER_WORKER * (workers or os.cpu_count() or 1)
    return build_backfill_job(parts, capture_filter, ranges, stores, now, where)


# Bulk extraction with the settings of a library (home).


@dataclass(frozen=True, slots=True)
class WarcInputs:
    """WARC and ARC files found for the paths and URLs that a user gave.

    `rows`: one input row for each WARC or ARC file.
    `other_paths`: files found that are neither WARC nor ARC.
    `source`: the source that reads the WARC and ARC files.
    `urls`: URL of each downloaded WARC, by its local path.
    """

    rows: tuple[InputRow, ...]
    other_paths: tuple[str, ...]
    source: PathSource | RemotePathSource
    urls: Mapping[str, str]


def find_warcs(
    names: Sequence[str], home: Path, settings: Settings, *, keeps_files: bool = False
) -> WarcInputs:
    """Find WARC and ARC files by paths and URLs. They are recognised by content, and each is
    returned once.

    Files at URLs and in S3 are downloaded to the inbox of the library folder. `keeps_files` is
    whether downloaded files are kept after reading. Raises ConfigurationError for a file that
    cannot be read.
    """
    source = create_named_source(names, home, settings, keeps_files=keeps_files)
    warc_rows: dict[str, InputRow] = {}
    urls: dict[str, str] = {}
    other_paths = []
    for row in source.iter_inputs():
        if row.kind in ("missing", "unreadable"):
            raise ConfigurationError(f"{row.path}: {row.error or 'no such file or folder'}")
        path = get_input_file(source, row)
        if row.kind == "warc" or (row.kind == REMOTE and detect_kind(path) == "warc"):
            warc_rows.setdefault(row.input_id, row)
            if str(path) != row.path:
                urls[str(path)] = row.path
        else:
            other_paths.append(row.path)
            discard_file(source, row.path, path)
    return WarcInputs(tuple(warc_rows.values()), tuple(other_paths), source, urls)


def build_parquet_job(warcs: WarcInputs, folder: Path, home: Path, settings: Settings) -> Job:
    """Build the bulk job that extracts WARCs into Parquet files in a folder.

    Raises ConfigurationError if there are too many WARCs.
    """
    limits = (settings.pdf.max_bytes, settings.page.max_bytes)
    try:
        return build_extraction_job(
            warcs.rows,
            warcs.source,
            partial(open_reading, home, settings),
            folder,
            repr((_list_readers(settings), limits, str(folder))),
            warcs.urls,
        )
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _list_readers(settings: Settings) -> tuple[object, ...]:
    """Return the names and versions of the extractors, for the fingerprint of a bulk job.

    If one of them changes, the job reads everything again.
    """
    return name_extractors(settings), JATS_VERSION


def build_stores_job(warcs: WarcInputs, home: Path, settings: Settings, workers: int) -> Job:
    """Build the bulk job that extracts WARCs into the stores of a library, with `workers` local
    processes.

    A job with the same WARCs, extractors and stores resumes where the last run stopped.
    """
    names = [getattr(settings, port) for port in PORTS]
    inputs = repr(([row.input_id for row in warcs.rows], _list_readers(settings), names))
    worker_settings = settings.replace_values(
        work_children=max(1, (settings.work.children or count_cores()) // workers)
    )
    return build_ingest_job(
        warcs.rows,
        warcs.source,
        partial(open_pipeline, home, worker_settings),
        sha256(f"{inputs}{settings.pipeline}".encode("utf-8", "replace")).hexdigest()[:16],
    )


def open_reading(home: Path, settings: Settings) -> ReadingSteps:
    """Open the pipeline steps that extract bodies. Called in each worker process of a bulk job.

    Bodies are stored in `tmp` below the library folder while they are read.
    """
    readers = open_readers(home / "tmp", settings)
    steps = build_reading_steps(open_archive(home, settings), readers, settings)
    return ReadingSteps(steps, readers.close)


# Rebuilds and document frequencies of collections with an engine.
