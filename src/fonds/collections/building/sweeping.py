"""What is removed of clusterings: those that died while they were built, and those beyond the kept ones."""

from __future__ import annotations

from collections.abc import Iterable

from fonds.collections.changing.redo import forget, needed_after
from fonds.collections.changing.writing import Changes
from fonds.collections.clusterings import (
    DROPPED,
    Known,
    all_rows,
    building,
    rebuilt,
)
from fonds.collections.configurations import GRANULARITIES_MAX, get
from fonds.collections.names import Name, apart_conf, level_conf
from fonds.collections.tables import (
    ASSIGNMENTS,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    MEMBERS,
    READINGS,
    number,
)
from fonds.formats.grouping.keys import clustering_prefix


def drop_leavings(changes: Changes, name: Name, conf: str) -> int:
    """Remove what rebuilds left that died; how many clusterings. For whoever has the rebuild's claim."""
    with changes.held(name) as held:
        serving = number(held.cells, rebuilt(conf), -1)
        left = [
            one
            for one in all_rows(changes.tables, name)
            if one.conf == conf and (one.timestamp > serving or DROPPED in one.cells)
        ]
        if held.cells.get(building(conf)):
            changes.tables.put(COLLECTIONS, [(name.row, {building(conf): b""})])
        still = {column: v for column, v in held.cells.items() if column != building(conf)}
        sequence = number(held.cells, "main:sequence")
        forget(changes.tables, name, needed_after(still, sequence))
        _mark(changes, left)
    _remove(changes, left)
    return len(left)


def drop_old(changes: Changes, served: Known) -> int:
    """Remove clusterings older than those the configuration keeps; how many."""
    try:
        kept = get(changes.tables, served.name.namespace, served.conf).kept
    except ValueError:
        kept = 1
    with changes.held(served.name):
        own = [one for one in all_rows(changes.tables, served.name) if one.conf == served.conf]
        older = sorted(
            (one for one in own if one.timestamp <= served.timestamp),
            key=lambda one: -one.timestamp,
        )
        beyond = older[kept:]
        _mark(changes, beyond)
    _remove(changes, beyond)
    return len(beyond)


def drop(changes: Changes, one: Known) -> bool:
    """Remove a clustering that was served before; whether it was, and is not served."""
    with changes.held(one.name) as held:
        if one.timestamp >= number(held.cells, rebuilt(one.conf), -1):
            return False
        _mark(changes, [one])
    _remove(changes, [one])
    return True


def _mark(changes: Changes, clusterings: Iterable[Known]) -> None:
    """From now on nobody looks at them."""
    changes.tables.put(CLUSTERINGS, [(one.row, {DROPPED: b"1"}) for one in clusterings])


def _remove(changes: Changes, clusterings: Iterable[Known]) -> None:
    for one in clusterings:
        name, timestamp = one.name, one.timestamp
        confs = [level_conf(one.conf, level) for level in range(GRANULARITIES_MAX + 1)]
        for conf in (*confs, apart_conf(one.conf)):
            prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
            for table in (CLUSTERS, MEMBERS, ASSIGNMENTS, READINGS):
                changes.tables.clear(table, prefix)
        changes.tables.delete(CLUSTERINGS, [one.row])
