"""Collections for tests of rebuilds by an engine, and the rows that a rebuild writes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from bulk_jobs import open_collections
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.rebuild.bulk_reader import OpenTables
from fonds.grouping.rebuild.bulk_rebuild import BulkPasses
from fonds.grouping.rebuild.rebuild import RebuildPasses
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    MEMBERS,
    READINGS,
    Tables,
)
from fonds.ports import Engine
from kept_collections import NEWS, Clock, CollectionStore, open_collection_store, themed_documents

TABLES = (CLUSTERS, MEMBERS, ASSIGNMENTS, DOCUMENTS, COLLECTIONS, READINGS)


def fill_collection(
    folder: Path, migrated: Path | None = None, tables: Tables | None = None
) -> CollectionStore:
    """Create a collection with copies, near-copies, and empty and short documents.

    The documents are in several languages or in none. `migrated` is a file of records to start
    from. Without `tables`, the tables are a file in the folder.
    """
    folder.mkdir()
    if migrated is not None:
        shutil.copy(migrated, folder / "records.sqlite")
    store = open_collection_store(folder, Clock(), tables=tables)
    documents = themed_documents(240)
    texts = [document.text for document in documents]
    store.writer.put(
        NEWS,
        [
            *(
                replace(document, vector=(at % 5, 1.0, -at))
                for at, document in enumerate(documents)
            ),
            *(Document(f"copy{at}", texts[at]) for at in range(20)),
            *(Document(f"near{at}", texts[at] + " harbour") for at in range(20)),
            Document("short", "x"),
            Document("of\nnothing", "the of and the of and"),
            Document("de\x00", "Der Hafen und die Schiffe im Hafen", language="de", time=7),
        ],
    )
    save_configuration(
        store.tables, "news", "deep", build_configuration({"clusters": 5, "granularities": [2]})
    )
    save_configuration(
        store.tables, "news", "dense", build_configuration({"clusters": 5, "dense": 3})
    )
    return store


def build_engine_passes(
    engine: Engine, folder: Path, open_tables: OpenTables | None = None
) -> RebuildPasses:
    """Build the passes of a rebuild by an engine.

    The data is in the folder, or in the tables that `open_tables` returns.
    """
    number = count()
    open_tables = open_tables or partial(open_collections, folder / "table.sqlite")
    bulk_passes = BulkPasses(engine, open_tables, lambda: f"{folder.name}{next(number)}", 50)
    return RebuildPasses(bulk_passes.read, bulk_passes.put)


def read_rebuilt_rows(store: CollectionStore) -> dict[str, list[tuple[bytes, dict[str, bytes]]]]:
    """Return all rows that a rebuild writes, by table."""
    return {table: list(store.tables.iter_rows(table, b"")) for table in TABLES}
