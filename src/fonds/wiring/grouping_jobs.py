"""Creation of the bulk passes that rebuild and count the documents of a collection.

Kept apart from other bulk jobs, which do without the grouping algorithms that this module imports.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from fonds.config import Settings
from fonds.grouping.clustering import StoredClustering
from fonds.grouping.columns import Column
from fonds.grouping.configuration import Configuration, get
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.bulk_reader import (
    DocumentReader,
    build_reading_job,
    collect_frequencies,
)
from fonds.grouping.rebuild.bulk_rebuild import BulkPasses
from fonds.grouping.rebuild.bulk_slices import split_key_ranges
from fonds.grouping.rebuild.reader import Corpus, StoreEncoded, detect_usual_language
from fonds.grouping.rebuild.rebuild import RebuildPasses
from fonds.grouping.tables import COLLECTIONS, Tables, decode_int
from fonds.wiring.backends import open_backend
from fonds.wiring.jobs import BULK_FOLDER, open_engine

GROUPING_STORES = ("table",)


def build_rebuild_passes(
    name: CollectionName, conf: str, url: str, home: Path, settings: Settings, *, workers: int = 0
) -> RebuildPasses:
    """Return the functions with which a bulk engine reads and writes all documents when clusters
    are rebuilt.

    `name`: name of the collection.
    `conf`: name of the clustering configuration.
    `url`: `local`, or the URL of a Spark master.
    `workers`: number of local processes; 0 for one per core.

    Raises ConfigurationError for an unknown engine, and for Spark if the table is a file on this
    machine.
    """
    engine = open_engine(url, home, settings, workers=workers, stores=GROUPING_STORES)
    digest = _hash_name(name, conf)
    bulk_passes = BulkPasses(
        engine,
        partial(open_tables_in_worker, home, settings),
        lambda: f"{digest}-{uuid.uuid4().hex[:16]}",
    )

    def read(
        tables: Tables,
        clustering: StoredClustering,
        last_change: int,
        configuration: Configuration,
        progress: Callable[[int], None],
        store_encoded: StoreEncoded,
    ) -> Corpus:
        # The builder has the lease, so existing folders were left by a builder that died.
        for leftover in (home / BULK_FOLDER).glob(f"group-{digest}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        return bulk_passes.read(
            tables, clustering, last_change, configuration, progress, store_encoded
        )

    return RebuildPasses(read, bulk_passes.put)


def count_document_frequencies(
    tables: Tables,
    name: CollectionName,
    conf: str,
    url: str,
    home: Path,
    settings: Settings,
    *,
    workers: int = 0,
) -> tuple[int, Iterator[tuple[str, int]]]:
    """Count in how many documents of a collection each term occurs.

    `conf`: name of the clustering configuration, which selects the documents.
    `url`: `local`, or the URL of a Spark master.

    Returns the number of documents, and the terms in order, each with its number of documents.
    Nothing is encoded as vectors. Raises ConfigurationError for an unknown engine, and for Spark if
    the table is a file on this machine. Raises ValueError for an unknown configuration.
    """
    engine = open_engine(url, home, settings, workers=workers, stores=GROUPING_STORES)
    until = decode_int(tables.get_row(COLLECTIONS, name.row, [Column.SEQUENCE]), Column.SEQUENCE)
    document_reader = DocumentReader(
        partial(open_tables_in_worker, home, settings),
        StoredClustering(name, conf, 0, 1, {}),
        until,
        replace(get(tables, name.namespace, conf), encoder=None),
        detect_usual_language(tables, name),
        keeps_pages=False,
    )
    fingerprint = f"{_hash_name(name, conf)}-{uuid.uuid4().hex[:16]}"
    return collect_frequencies(
        engine.run(build_reading_job(document_reader, split_key_ranges(tables, name), fingerprint))
    )


def open_tables_in_worker(home: Path, settings: Settings) -> Tables:
    """Open the tables of the collections in a worker process of a bulk job."""
    return Tables(open_backend("table", settings.table, home), settings.collections.prefix)


def _hash_name(name: CollectionName, conf: str) -> str:
    return sha256(repr((name.namespace, name.key, conf)).encode("utf-8", "replace")).hexdigest()[
        :12
    ]
