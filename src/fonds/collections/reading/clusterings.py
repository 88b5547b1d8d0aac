"""Collections and their clusterings as they are: sizes, times, which one is served, how far a rebuild is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fonds.collections.claims import Claims
from fonds.collections.clusterings import (
    building,
    configurations_of,
    known,
    processed,
    rebuilt,
)
from fonds.collections.names import DEFAULT, Name, claim_of_rebuild
from fonds.collections.tables import (
    CLUSTERINGS,
    COLLECTION_SIZE,
    COLLECTIONS,
    MODIFIED,
    Cells,
    Tables,
    collections_there,
    is_there,
    number,
    text,
)
from fonds.formats.grouping.keys import namespace_prefix


@dataclass(frozen=True, slots=True)
class Served:
    """What a collection has of one configuration: seconds since 1970 its clustering was rebuilt at, and a
    document was last assigned."""

    conf: str
    rebuilt: int
    processed: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection: how many documents it has, when the last one was put (seconds since 1970, None before
    the first), the search that fills it, '' where it is filled by others, and its configurations."""

    name: Name
    size: int
    modified: int | None
    query: str
    template: str
    served: tuple[Served, ...]


@dataclass(frozen=True, slots=True)
class Clustering:
    """A clustering that is served or was: `documents` it was built of, when that began and ended, how many
    `clusters` its first level has; `later` documents came since, `later_outliers` of them out of reach."""

    conf: str
    timestamp: int
    is_served: bool
    levels: int
    documents: int
    clusters: int
    begun: int
    ended: int
    later: int
    later_outliers: int
    configuration: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rebuild is: the stage by name, `done` documents of `total` (0 where that is not known),
    when it began and was last seen to move, and who does it; None for one that died."""

    conf: str
    timestamp: int
    stage: str
    done: int
    total: int
    begun: int
    moved: int
    who: str | None


def collections(
    tables: Tables, namespace: str | None = None, after: Name | None = None
) -> Iterator[Collection]:
    """All collections, or those of a namespace, in the order of their names, behind `after`; streamed."""
    prefix = b"" if namespace is None else namespace_prefix(namespace)
    behind = None if after is None else after.row
    for name, cells in collections_there(tables, prefix, after=behind):
        yield _collection(name, cells)


def collection(tables: Tables, name: Name) -> Collection | None:
    """One collection; None where there is none."""
    cells = tables.row(COLLECTIONS, name.row, ["main:"])
    return _collection(name, cells) if cells is not None and is_there(cells) else None


def served_timestamp(tables: Tables, name: Name, conf: str = DEFAULT) -> int | None:
    """The time of the clustering that is served; None where none was built yet."""
    cells = tables.row(COLLECTIONS, name.row, [rebuilt(conf)])
    return None if not cells else number(cells, rebuilt(conf))


def clusterings(tables: Tables, name: Name, conf: str | None = None) -> list[Clustering]:
    """The clusterings there are of a collection, of one configuration or all, the newest first."""
    cells = tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    found = []
    for one in known(tables, name):
        serving = number(cells, rebuilt(one.conf), -1)
        if conf in (None, one.conf) and one.timestamp <= serving:
            row = tables.row(CLUSTERINGS, one.row, ["main:"]) or {}
            found.append(_clustering(row, one.timestamp == serving))
    return sorted(found, key=lambda one: (one.conf, -one.timestamp))


def progress(tables: Tables, claims: Claims, name: Name) -> list[Progress]:
    """The rebuilds of a collection that have begun and not ended."""
    cells = tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    found = []
    for one in known(tables, name):
        if number(cells, building(one.conf), -1) != one.timestamp:
            continue
        row = tables.row(CLUSTERINGS, one.row, ["main:"])
        found.append(
            Progress(
                one.conf,
                one.timestamp,
                text(row, "main:stage", "begun"),
                number(row, "main:done"),
                number(row, "main:total"),
                number(row, "main:begun"),
                number(row, "main:moved"),
                claims.holder(claim_of_rebuild(name, one.conf)),
            )
        )
    return found


def _collection(name: Name, cells: Cells) -> Collection:
    confs = configurations_of(cells)
    return Collection(
        name,
        number(cells, COLLECTION_SIZE),
        number(cells, MODIFIED, -1) if MODIFIED in cells else None,
        text(cells, "main:query"),
        text(cells, "main:template"),
        tuple(Served(conf, at, number(cells, processed(conf))) for conf, at in confs.items()),
    )


def _clustering(row: Cells, is_served: bool) -> Clustering:
    return Clustering(
        text(row, "main:conf"),
        number(row, "main:timestamp"),
        is_served,
        number(row, "main:levels"),
        number(row, "main:documents"),
        number(row, "main:clusters"),
        number(row, "main:begun"),
        number(row, "main:ended"),
        number(row, "main:later"),
        number(row, "main:later_outliers"),
        msgspec.json.decode(text(row, "main:configuration", "{}")),
    )
