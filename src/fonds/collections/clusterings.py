"""Which clusterings a collection has: their rows, which one is served, and the times that number them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fonds.collections.names import Name, apart_conf, level_conf
from fonds.collections.tables import CLUSTERINGS, Cells, Tables, number
from fonds.formats.grouping.keys import clustering_prefix, parts_of_cluster, parts_of_clustering

if TYPE_CHECKING:
    from fonds.collections.building.models import Served

DROPPED = "main:dropped"
"""Set before the rows of a clustering are removed: nobody looks at it from then on."""

COLUMNS = (
    "main:conf",
    "main:stage",
    "main:levels",
    "main:documents",
    "main:outliers",
    "main:later",
    "main:later_outliers",
    "main:later_terms",
    "main:later_unknown",
    "main:terms",
    "main:unknown",
    DROPPED,
)


@dataclass(frozen=True, slots=True)
class Known:
    """A clustering by its row. `levels` is 0 while it is being built."""

    name: Name
    conf: str
    timestamp: int
    levels: int
    cells: Cells

    @property
    def row(self) -> bytes:
        """The row in `clusterings`."""
        return clustering_prefix(self.name.namespace, self.name.key, self.conf, self.timestamp)

    def level_confs(self) -> Iterator[str]:
        """What stands for the configuration in the rows of each level, and of those apart."""
        for level in range(self.levels):
            yield level_conf(self.conf, level)
        yield apart_conf(self.conf)


REBUILT, BUILDING = "rebuilt", "building"
_BEGIN = "main:configuration:"


def column(conf: str, what: str) -> str:
    """The column of a collection that says something of a configuration."""
    return f"{_BEGIN}{conf}:{what}"


def by_configuration(collection: Cells, what: str) -> dict[str, int]:
    """The configurations of which a collection's row says something, with the number it says."""
    end = f":{what}"
    return {
        name[len(_BEGIN) : -len(end)]: number(collection, name)
        for name, value in collection.items()
        if name.startswith(_BEGIN) and name.endswith(end) and value
    }


def rebuilt(conf: str) -> str:
    """The column of a collection that says which clustering of a configuration is served: the one cell by
    which the next becomes visible."""
    return column(conf, REBUILT)


def processed(conf: str) -> str:
    """The column that says when a document was last assigned by a configuration."""
    return column(conf, "processed")


def building(conf: str) -> str:
    """The column that says which clustering of a configuration is being built."""
    return column(conf, BUILDING)


def settled(conf: str) -> str:
    """The column that says of which clustering all documents' rows tell."""
    return column(conf, "settled")


def known(tables: Tables, name: Name) -> list[Known]:
    """All clusterings of a collection, served, kept or being built, oldest first in each configuration."""
    return [one for one in all_rows(tables, name) if DROPPED not in one.cells]


def all_rows(tables: Tables, name: Name) -> list[Known]:
    """The same with those that are being removed."""
    found = []
    for row, cells in tables.scan(CLUSTERINGS, name.row, COLUMNS):
        _, _, conf, timestamp = parts_of_clustering(row)
        found.append(Known(name, conf, timestamp, number(cells, "main:levels"), cells))
    return found


def ready(clusterings: list[Known], collection: Cells) -> list[Known]:
    """Those that are served, or were before the one that is."""
    return [one for one in clusterings if one.timestamp <= number(collection, rebuilt(one.conf))]


def is_served(one: Known, collection: Cells) -> bool:
    """Whether readers see this one unless they ask for another."""
    return one.timestamp == number(collection, rebuilt(one.conf), -1)


def configurations_of(collection: Cells) -> dict[str, int]:
    """The configurations a collection has a served clustering of, with its time."""
    return by_configuration(collection, REBUILT)


def parts(row: bytes) -> tuple[str, int, str]:
    """(level's configuration, timestamp, label) of a row of `clusters`."""
    _, _, conf, timestamp, label = parts_of_cluster(row)
    return conf, timestamp, label


class Models:
    """The models of served clusterings, read once each; as many as there are collections in use here."""

    def __init__(self, count_max: int = 16) -> None:
        self._count_max = count_max
        self._kept: dict[tuple[Name, str], Served] = {}
        self._lock = threading.Lock()

    def of(self, tables: Tables, one: Known) -> Served | None:
        """The model of a clustering; None where it has none any more."""
        # Loads numpy.
        from fonds.collections.building.models import read_model

        key = (one.name, one.conf)
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is None or kept.timestamp != one.timestamp:
                kept = read_model(tables, one.name, one.conf, one.timestamp)
            if kept is not None:
                self._kept[key] = kept
            while len(self._kept) > self._count_max:
                self._kept.pop(next(iter(self._kept)))
        return kept
