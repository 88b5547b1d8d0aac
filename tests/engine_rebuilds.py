"""Collections for tests of rebuilds by an engine, and what both leave."""

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
from kept_collections import NEWS, Clock, Kept, open_kept, themed

TABLES = (CLUSTERS, MEMBERS, ASSIGNMENTS, DOCUMENTS, COLLECTIONS, READINGS)


def filled(folder: Path, migrated: Path | None = None, tables: Tables | None = None) -> Kept:
    """A collection of copies, near-copies, empty and short documents, of several languages and none;
    `migrated`: records to begin with; `tables`: None for a file in the folder."""
    folder.mkdir()
    if migrated is not None:
        shutil.copy(migrated, folder / "records.sqlite")
    kept = open_kept(folder, Clock(), tables=tables)
    documents = themed(240)
    texts = [document.text for document in documents]
    kept.changes.put(
        NEWS,
        [
            *(replace(one, vector=(at % 5, 1.0, -at)) for at, one in enumerate(documents)),
            *(Document(f"copy{at}", texts[at]) for at in range(20)),
            *(Document(f"near{at}", texts[at] + " harbour") for at in range(20)),
            Document("short", "x"),
            Document("of\nnothing", "the of and the of and"),
            Document("de\x00", "Der Hafen und die Schiffe im Hafen", language="de", time=7),
        ],
    )
    save_configuration(
        kept.tables, "news", "deep", build_configuration({"clusters": 5, "granularities": [2]})
    )
    save_configuration(
        kept.tables, "news", "dense", build_configuration({"clusters": 5, "dense": 3})
    )
    return kept


def by_engine(engine: Engine, folder: Path, opens: OpenTables | None = None) -> RebuildPasses:
    """The passes of a rebuild of what lies in a folder, or in what `opens` opens."""
    number = count()
    opens = opens or partial(open_collections, folder / "table.sqlite")
    by = BulkPasses(engine, opens, lambda: f"{folder.name}{next(number)}", 50)
    return RebuildPasses(by.read, by.put)


def left(kept: Kept) -> dict[str, list[tuple[bytes, dict[str, bytes]]]]:
    """All rows a rebuild writes, by table."""
    return {table: list(kept.tables.iter_rows(table, b"")) for table in TABLES}
