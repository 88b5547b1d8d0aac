"""What is to be written when documents come into a clustering, change their place in it, or leave it.

All sizes are read and written by whoever holds the collection's claim, or builds the clustering.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fonds.collections.changing.placement import Placement
from fonds.collections.changing.redo import Writes
from fonds.collections.clusterings import Known
from fonds.collections.names import Name, apart_conf
from fonds.collections.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    DISTINCT,
    MEMBERS,
    SIZE,
    Tables,
    assignment_row,
    member_row,
    number,
    text,
    utf8,
)
from fonds.formats.grouping.keys import cluster_row

ORIGINAL = "main:original"
COPY = "main:copy:"
"""In the first level's assignment of a document there is a column for each near-duplicate of it."""

_LABEL, _SCORE = "main:label", "main:score"
_PLACED = (_LABEL, _SCORE, ORIGINAL)


def placements_of(tables: Tables, one: Known, ids: Sequence[str]) -> dict[str, list[Placement]]:
    """Where documents are in a clustering now, on every level; absent where they are not in it."""
    found: dict[str, list[Placement]] = {}
    for conf in one.level_confs():
        rows = {assignment_row(one.name, conf, one.timestamp, id_): id_ for id_ in ids}
        for row, cells in tables.rows(ASSIGNMENTS, list(rows), _PLACED).items():
            if _LABEL not in cells:
                continue
            original = text(cells, ORIGINAL)
            placement = Placement(conf, text(cells, _LABEL), cells.get(_SCORE, b"0"), original)
            found.setdefault(rows[row], []).append(placement)
    return found


def move(
    tables: Tables,
    one: Known,
    before: Mapping[str, Sequence[Placement]],
    after: Mapping[str, Sequence[Placement]],
    writes: Writes,
) -> Counter[str]:
    """Add to `writes` what brings the documents from where they were to where they are to be.

    Sizes come out right for whatever clusters are touched. How many came less how many left, by label, of
    those apart.
    """
    sizes: Counter[tuple[str, str]] = Counter()
    distinct: Counter[tuple[str, str]] = Counter()
    for id_ in {**before, **after}:
        left, joined = set(before.get(id_, ())), set(after.get(id_, ()))
        for placement in left - joined:
            _leave(one, id_, placement, writes)
            sizes[placement.conf, placement.label] -= 1
            distinct[placement.conf, placement.label] -= not placement.original
        for placement in joined - left:
            _join(one, id_, placement, writes)
            sizes[placement.conf, placement.label] += 1
            distinct[placement.conf, placement.label] += not placement.original
        _forget_levels(one, id_, left, joined, writes)
    apart = apart_conf(one.conf)
    _size(tables, one, SIZE, sizes, writes)
    grouped = Counter({key: count for key, count in distinct.items() if key[0] != apart})
    _size(tables, one, DISTINCT, grouped, writes)
    return Counter({label: count for (conf, label), count in sizes.items() if conf == apart})


def join_cells(
    one: Known, id_: str, placement: Placement
) -> Iterator[tuple[str, bytes, dict[str, bytes]]]:
    """The cells a document has in a cluster: table, row, cells."""
    name, conf, timestamp = one.name, placement.conf, one.timestamp
    label, score = placement.label, placement.score
    row = cluster_row(name.namespace, name.key, conf, timestamp, label)
    yield CLUSTERS, row, {document_cell(id_): score}
    at = assignment_row(name, conf, timestamp, id_)
    cells = {_LABEL: utf8(label), _SCORE: score}
    if placement.original:
        cells[ORIGINAL] = utf8(placement.original)
        if conf == one.conf:
            yield _copy(one, id_, placement)
    yield ASSIGNMENTS, at, cells
    rank = member_row(name, conf, timestamp, label, score, id_)
    yield MEMBERS, rank, {"main:id": utf8(id_), _SCORE: score}


def _copy(one: Known, id_: str, placement: Placement) -> tuple[str, bytes, dict[str, bytes]]:
    """What an original's assignment says of a near-duplicate."""
    row = assignment_row(one.name, one.conf, one.timestamp, placement.original)
    return ASSIGNMENTS, row, {f"{COPY}{id_}": b"1"}


def document_cell(id_: str) -> str:
    """The column of a document in its cluster's row."""
    return f"documents:{id_}"


def cluster_key(name: Name, conf: str, timestamp: int, label: str) -> bytes:
    """f2 of a named collection."""
    return cluster_row(name.namespace, name.key, conf, timestamp, label)


def _join(one: Known, id_: str, placement: Placement, writes: Writes) -> None:
    for table, row, cells in join_cells(one, id_, placement):
        writes.put(table, row, cells)


def _leave(one: Known, id_: str, placement: Placement, writes: Writes) -> None:
    name, conf, timestamp = one.name, placement.conf, one.timestamp
    row = cluster_key(name, conf, timestamp, placement.label)
    writes.remove_cell(CLUSTERS, row, document_cell(id_))
    rank = member_row(name, conf, timestamp, placement.label, placement.score, id_)
    writes.remove(MEMBERS, rank)
    if placement.original:
        writes.remove_cell(ASSIGNMENTS, assignment_row(name, conf, timestamp, id_), ORIGINAL)
        if conf == one.conf:
            _, at, cells = _copy(one, id_, placement)
            for column in cells:
                writes.remove_cell(ASSIGNMENTS, at, column)


def _forget_levels(
    one: Known, id_: str, left: set[Placement], joined: set[Placement], writes: Writes
) -> None:
    """A document that is on a level no longer has no row of assignment there."""
    for conf in {gone.conf for gone in left} - {come.conf for come in joined}:
        writes.remove(ASSIGNMENTS, assignment_row(one.name, conf, one.timestamp, id_))


def _size(
    tables: Tables, one: Known, column: str, sizes: Counter[tuple[str, str]], writes: Writes
) -> None:
    changed = {
        cluster_key(one.name, conf, one.timestamp, label): count
        for (conf, label), count in sizes.items()
        if count
    }
    found = tables.rows(CLUSTERS, list(changed), [column])
    for row, count in changed.items():
        size = number(found.get(row), column) + count
        writes.put(CLUSTERS, row, {column: utf8(max(size, 0))})
