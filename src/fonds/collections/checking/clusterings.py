"""Clusterings against themselves: sizes against members, cells and assignments; near-duplicates; what dead
rebuilds left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from fonds.collections.building.models import read_model
from fonds.collections.changing.writing import Changes
from fonds.collections.checking.damage import Damage, Remedy
from fonds.collections.checking.duplicates import duplicates_of
from fonds.collections.clusterings import (
    DROPPED,
    Known,
    all_rows,
    configurations_of,
    is_served,
    rebuilt,
)
from fonds.collections.names import Name, claim_of_rebuild
from fonds.collections.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    MEMBERS,
    READINGS,
    Cells,
    Tables,
    number,
    text,
)
from fonds.formats.grouping.keys import clustering_prefix, parts_of_cluster
from fonds.model.errors import DamagedInputError


def clusterings_of(changes: Changes, name: Name, cells: Cells) -> Iterator[Damage]:
    """What is wrong with the clusterings of a collection, whose row holds `cells`; one that is being built
    is left alone."""
    rows = all_rows(changes.tables, name)
    there = {(one.conf, one.timestamp) for one in rows if DROPPED not in one.cells}
    for conf, timestamp in configurations_of(cells).items():
        if (conf, timestamp) not in there:
            told = f"the clustering {timestamp} by {conf}, which is served, is not there"
            yield Damage(Remedy.BUILD, told, conf, timestamp)
    for one in rows:
        if DROPPED in one.cells or one.timestamp > number(cells, rebuilt(one.conf), -1):
            if changes.claims.holder(claim_of_rebuild(name, one.conf)) is None:
                told = f"the clustering {one.timestamp} by {one.conf} was left by one that died"
                yield Damage(Remedy.SWEEP, told, one.conf, one.timestamp)
            continue
        remedy = Remedy.BUILD if is_served(one, cells) else Remedy.DROP
        for told in chain(_sizes(changes.tables, one), duplicates_of(changes.tables, one)):
            yield Damage(remedy, told, one.conf, one.timestamp)
        if is_served(one, cells) and (told := _model(changes, one)):
            yield Damage(remedy, told, one.conf, one.timestamp)
    yield from _readings(changes, name, rows)


def _sizes(tables: Tables, one: Known) -> Iterator[str]:
    """One sentence for each cluster of any level whose size is not what it holds."""
    for conf in one.level_confs():
        prefix = clustering_prefix(one.name.namespace, one.name.key, conf, one.timestamp)
        assigned = Counter(
            text(found, "main:label")
            for _, found in tables.scan(ASSIGNMENTS, prefix, ["main:label"])
        )
        for row, found in tables.scan(CLUSTERS, prefix, ["main:size"]):
            label, size = parts_of_cluster(row)[4], number(found, "main:size", -1)
            members = sum(1 for _ in tables.scan(MEMBERS, row, ["main:score"]))
            cells = len(tables.row(CLUSTERS, row, ["documents:"]) or {})
            if not size == members == cells == assigned[label]:
                yield (
                    f"{conf} {one.timestamp}, cluster {label!r}: its size is {size:,}; it has"
                    f" {members:,} members, {cells:,} scores and {assigned[label]:,} documents"
                )
            del assigned[label]
        for label, count in assigned.items():
            yield f"{conf} {one.timestamp}: {count:,} documents are in {label!r}, which is not there"


def _model(changes: Changes, one: Known) -> str:
    """What is wrong with the model later documents are placed by; '' for nothing."""
    try:
        found = read_model(changes.tables, one.name, one.conf, one.timestamp)
    except DamagedInputError as error:
        return f"the model of {one.conf} {one.timestamp} cannot be read: {error}"
    return "" if found is not None else f"the model of {one.conf} {one.timestamp} is gone"


def _readings(changes: Changes, name: Name, rows: list[Known]) -> Iterator[Damage]:
    """Pages an engine read for a clustering that nobody builds."""
    if not changes.tables.are_complete():
        return
    by_row = {one.row: one for one in rows}
    left: Counter[bytes] = Counter()
    for row, _ in changes.tables.scan(READINGS, name.row, ["main:slice"]):
        left[next((each for each in by_row if row.startswith(each)), b"")] += 1
    for head, count in left.items():
        built = by_row.get(head)
        if built is None or changes.claims.holder(claim_of_rebuild(name, built.conf)) is None:
            yield Damage(Remedy.SWEEP, f"{count:,} pages of documents were left by one that died")
