"""Open and close all stores of a library (home)."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

from fonds.archive.store.body_sources import BodyCache, LayeredArchive, SpooledBodies
from fonds.archive.warc_names import WarcNames
from fonds.config import Settings
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.capture import Place, PlaceKind
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError, FondsError
from fonds.model.rows import CdxRow
from fonds.model.secrets import redact_secrets
from fonds.ports import Blobs, Index, Records, Stores
from fonds.ports.stores import close, purge
from fonds.restrictions.takedown_list import find_missing_takedowns
from fonds.search.index.embargo_filter import EmbargoFilterIndex
from fonds.search.index.version_search import VersionedIndex
from fonds.stores.journal_table.keys import name_journal_table
from fonds.stores.journal_table.schema import build_journal_schema
from fonds.wiring.archive import open_bare_archive
from fonds.wiring.backends import find_backend, open_backend
from fonds.wiring.index import open_index
from fonds.wiring.queue import open_queue


def open_stores(home: Path, settings: Settings) -> Stores:
    """Open all stores of a library. Creates missing stores, and migrates those of older versions.

    Raises ConfigurationError for a store that cannot be opened.
    """
    queue = open_queue(home, settings)
    records = open_backend("records", settings.records, home)
    archive = open_bare_archive(home, settings, lambda: records)
    limit_bytes = max(settings.pdf.max_bytes, settings.page.max_bytes)
    spooled_bodies = SpooledBodies(
        archive, queue.blobs, partial(_find_archived_place, records), limit_bytes
    )
    table = open_backend("table", settings.table, home)
    stores = Stores(
        queue=queue,
        table=table,
        records=records,
        ledger=records.ledger,
        blobs=queue.blobs,
        index=_build_visible_index(open_index(home, settings, table), records, queue.blobs),
        archive=LayeredArchive(archive, BodyCache(spooled_bodies)),
        journal=name_journal_table(settings.group, settings.table_version, settings.env),
    )
    schema = build_journal_schema(settings.table_families)
    stores.table.declare(stores.journal, schema.names, compressions=schema.compressions)
    return stores


def create_warc_names(stores: Stores) -> WarcNames:
    """Create the service that finds the name of a WARC from its path, and stores which paths a name
    has.
    """
    return WarcNames(stores.records, stores.archive, get_utc_now)


def close_stores(stores: Stores) -> None:
    """Close the stores of a library: release leased messages, close files and connections."""
    close(stores.queue, stores.table, stores.records, stores.blobs, stores.index, stores.archive)


def find_takedown_list(settings: Settings) -> Path | None:
    """Return the path of the list of takedowns outside the library; None if there is none."""
    return Path(settings.takedown_list).expanduser() if settings.takedown_list else None


def refuse_missing_takedowns(records: Records, settings: Settings) -> None:
    """Check that the library has all takedowns of the list outside it.

    Raises ConfigurationError if it lacks one, and for an invalid list.
    """
    path = find_takedown_list(settings)
    missing_rows = find_missing_takedowns(records, path) if path is not None else []
    if missing_rows:
        raise ConfigurationError(
            f"{path} lists {pluralize(len(missing_rows), 'takedown')} that this library does not "
            "have, perhaps because it was restored from a backup. Run `fonds takedown --apply`."
        )


def purge_stores(stores: Stores) -> list[str]:
    """Remove the bytes of deleted data from all stores of a library. The archive replaces the
    records of removed files by itself.

    Returns a sentence for each place where bytes can remain. No other process may write meanwhile.
    """
    return purge(stores.queue, stores.table, stores.records, stores.blobs, stores.index)


def set_index_aside(stores: Stores, home: Path, settings: Settings) -> tuple[Stores, Path]:
    """Rename the folder of a damaged full-text index, and open an empty index at the old path.

    Returns the stores with the empty index, and the new path of the damaged one. Raises
    ConfigurationError if the index is not a folder on this machine, or cannot be renamed.
    """
    if not find_backend("index", settings.index).is_below_home:
        raise ConfigurationError(
            f"index = {redact_secrets(settings.index)!r} is not a folder that can be "
            "moved. Empty it yourself, then run `fonds reindex` again."
        )
    folder = home / settings.index.partition(":")[2]
    names = (folder.with_name(f"{folder.name}.damaged-{number}") for number in count(1))
    new_path = next(path for path in names if not os.path.lexists(path))
    with suppress(FondsError):
        # Closing a damaged index may fail, but its lock is released anyway.
        close(stores.index)
    try:
        folder.rename(new_path)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot move {folder} to {new_path} ({error.strerror}). Move it yourself, "
            "then run `fonds reindex` again."
        ) from error
    empty_index = open_index(home, settings, stores.table)
    return replace(
        stores, index=_build_visible_index(empty_index, stores.records, stores.blobs)
    ), new_path


def _build_visible_index(index: Index, records: Records, blobs: Blobs) -> Index:
    """Wrap a full-text index so that it leaves out files under embargo, and also searches earlier
    versions of stories.
    """
    find_hidden = partial(find_active_embargoes, records)
    return EmbargoFilterIndex(VersionedIndex(index, blobs, find_hidden), find_hidden)


def _find_archived_place(records: Records, capture_id: str) -> Place | None:
    """Return the location of a capture in a WARC, from `cdx`; None if it has no row.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    row = next(records.find(CdxRow, {"capture_id": capture_id}, count_max=1), None)
    if row is None:
        return None
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def get_utc_now() -> datetime:
    """Return the current time as aware UTC. Steps and services receive this function as their
    clock.
    """
    return datetime.now(UTC)
