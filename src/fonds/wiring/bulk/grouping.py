"""Collections read and written by an engine, over the stores of a home: rebuilds, document frequencies."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from fonds.bulk.grouping.gathering import ByEngine
from fonds.bulk.grouping.parts import stretches
from fonds.bulk.grouping.reading import ReadDocuments, frequencies_of, reading_job
from fonds.collections.building.reading_in import Keep, ReadIn, usual_language
from fonds.collections.building.rebuilding import Passes
from fonds.collections.changing.redo import SEQUENCE
from fonds.collections.clusterings import Known
from fonds.collections.configurations import Configuration, get
from fonds.collections.names import Name
from fonds.collections.tables import COLLECTIONS, Tables, number
from fonds.config import Settings
from fonds.wiring.backends import backend
from fonds.wiring.bulk.jobs import BULK_FOLDER, open_engine

STORES = ("table",)


def rebuild_passes(
    name: Name, conf: str, url: str, home: Path, settings: Settings, *, workers: int = 0
) -> Passes:
    """The passes of a rebuild by the engine of this URL. Raises ConfigurationError as `open_engine` does."""
    engine = open_engine(url, home, settings, workers=workers, stores=STORES)
    digest = _digest(name, conf)
    by = ByEngine(
        engine,
        partial(open_there, home, settings),
        lambda: f"{digest}-{uuid.uuid4().hex[:16]}",
    )

    def read(
        tables: Tables,
        one: Known,
        until: int,
        configuration: Configuration,
        progress: Callable[[int], None],
        keep: Keep,
    ) -> ReadIn:
        # Whoever builds this has the claim of it: what is there is of one that died.
        for left in (home / BULK_FOLDER).glob(f"group-{digest}-*"):
            shutil.rmtree(left, ignore_errors=True)
        return by.read(tables, one, until, configuration, progress, keep)

    return Passes(read, by.put)


def document_frequencies(
    tables: Tables,
    name: Name,
    conf: str,
    url: str,
    home: Path,
    settings: Settings,
    *,
    workers: int = 0,
) -> tuple[int, Iterator[tuple[str, int]]]:
    """How many documents of a collection a configuration groups, and of each of their terms, in order, in how
    many it stands; nothing is encoded for it. Raises ConfigurationError as `open_engine`
    does, ValueError for a configuration there is not."""
    engine = open_engine(url, home, settings, workers=workers, stores=STORES)
    until = number(tables.row(COLLECTIONS, name.row, [SEQUENCE]), SEQUENCE)
    read = ReadDocuments(
        partial(open_there, home, settings),
        Known(name, conf, 0, 1, {}),
        until,
        replace(get(tables, name.namespace, conf), encoder=None),
        usual_language(tables, name),
        keeps_pages=False,
    )
    fingerprint = f"{_digest(name, conf)}-{uuid.uuid4().hex[:16]}"
    return frequencies_of(engine.run(reading_job(read, stretches(tables, name), fingerprint)))


def open_there(home: Path, settings: Settings) -> Tables:
    """The tables of collections, in whatever process."""
    return Tables(backend("table", settings.table, home), settings.collections.prefix)


def _digest(name: Name, conf: str) -> str:
    return sha256(repr((name.namespace, name.key, conf)).encode("utf-8", "replace")).hexdigest()[
        :12
    ]
