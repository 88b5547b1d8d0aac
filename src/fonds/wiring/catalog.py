"""The catalogue of works in the table of a library."""

from __future__ import annotations

from fonds.config import Settings
from fonds.papers.catalog.store import Catalog, name_catalog_table
from fonds.ports import Stores


def find_catalog(stores: Stores, settings: Settings) -> Catalog | None:
    """Return the catalogue of works; None if nothing was loaded into it."""
    name = name_catalog_table(settings.group, settings.env)
    return Catalog(stores.table, name) if name in stores.table.list_tables() else None
