"""Where a file or story is among the clusters of collections."""

from __future__ import annotations

from typing import Any

from fonds.collections.tables import Tables
from fonds.config import Settings
from fonds.ports import Stores


def in_clusters(stores: Stores, settings: Settings, document_id: str) -> list[dict[str, Any]]:
    """The collections that have a document, and where it is in each of their clusterings."""
    tables = Tables(stores.table, settings.collections.prefix)
    if not tables.are_there():
        return []
    # What reads clusters takes long to load, and most homes have none.
    from fonds.cli.collections.asking import NAMES_MAX
    from fonds.collections.reading.clusterings import collections
    from fonds.collections.reading.documents import holding, places

    names = (one.name for one, _ in zip(collections(tables), range(NAMES_MAX), strict=False))
    return [
        {"collection": str(name), "places": places(tables, name, document_id)}
        for name in holding(tables, names, document_id)
    ]


def told(found: list[dict[str, Any]]) -> list[tuple[str, object]]:
    """The same for people: collection, then the cluster in each configuration."""
    lines: list[tuple[str, object]] = []
    for one in found:
        if not one["places"]:
            lines.append((one["collection"], "not grouped yet"))
        for place in one["places"]:
            where = place.name or place.label or f"in no cluster: {place.apart}"
            level = f", level {place.level}" if place.level else ""
            lines.append((one["collection"], f"{where} ({place.conf}{level}, {place.score:.2f})"))
    return lines
