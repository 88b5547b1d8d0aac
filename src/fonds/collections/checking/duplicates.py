"""Near-duplicates of a clustering: each linked to a document that is where it is, and counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fonds.collections.changing.moving import COPY, ORIGINAL
from fonds.collections.changing.redo import chunks
from fonds.collections.clusterings import Known
from fonds.collections.names import apart_conf
from fonds.collections.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    DISTINCT,
    SIZE,
    Cells,
    Tables,
    assignment_row,
    number,
    text,
)
from fonds.formats.grouping.keys import clustering_prefix, parts_of_cluster
from fonds.ports.walking import Page

AT_ONCE = 200
_LABEL = "main:label"

LINKED = (
    "near-duplicates name a document that is not in their cluster, or is a near-duplicate itself"
)
LEVELS = "documents are near-duplicates of others on one level than on the first"
COPIES = "near-duplicates are not told of by the documents they name"
MORE = "documents are told to be near-duplicates, and are not"


def duplicates_of(tables: Tables, one: Known) -> Iterator[str]:
    """One sentence for each way links and counts of a clustering's near-duplicates do not agree, on each
    level. Reads the assignments page by page."""
    apart = apart_conf(one.conf)
    for conf in one.level_confs():
        if conf != apart:
            yield from _of_level(tables, one, conf)


def _of_level(tables: Tables, one: Known, conf: str) -> Iterator[str]:
    prefix = clustering_prefix(one.name.namespace, one.name.key, conf, one.timestamp)
    distinct: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for page in tables.pages(ASSIGNMENTS, prefix, ["main:"], page_rows=AT_ONCE):
        distinct.update(text(cells, _LABEL) for _, cells in page if ORIGINAL not in cells)
        wrong.update(_of_page(tables, one, conf, page))
    for told, count in wrong.items():
        yield f"{conf} {one.timestamp}: {count:,} {told}"
    for row, cells in tables.scan(CLUSTERS, prefix, [SIZE, DISTINCT]):
        label, counted = parts_of_cluster(row)[4], number(cells, DISTINCT, -1)
        if counted != distinct[label]:
            yield (
                f"{conf} {one.timestamp}, cluster {label!r}: it counts {counted:,} distinct documents;"
                f" {distinct[label]:,} of its documents are near-duplicates of none"
            )


def _of_page(tables: Tables, one: Known, conf: str, page: Page) -> Iterator[str]:
    ids = [parts_of_cluster(row)[4] for row, _ in page]
    linked = [(id_, cells) for id_, (_, cells) in zip(ids, page, strict=True) if ORIGINAL in cells]
    columns = [_LABEL, ORIGINAL, *(f"{COPY}{id_}" for id_, _ in linked)]
    originals = [text(cells, ORIGINAL) for _, cells in linked]
    theirs = _assignments(tables, one, conf, originals, columns)
    for _, cells in linked:
        original = theirs.get(text(cells, ORIGINAL), {})
        if ORIGINAL in original or original.get(_LABEL) != cells.get(_LABEL):
            yield LINKED
    if conf == one.conf:
        yield from _copies(tables, one, page, ids, theirs)
        return
    firsts = _assignments(tables, one, one.conf, ids, [_LABEL, ORIGINAL])
    for id_, (_, cells) in zip(ids, page, strict=True):
        if id_ in firsts and text(firsts[id_], ORIGINAL) != text(cells, ORIGINAL):
            yield LEVELS


def _copies(
    tables: Tables, one: Known, page: Page, ids: Sequence[str], theirs: Mapping[str, Cells]
) -> Iterator[str]:
    """What originals say of their near-duplicates, both ways; said on the first level alone."""
    told = []
    for id_, (_, cells) in zip(ids, page, strict=True):
        original = text(cells, ORIGINAL)
        if original and f"{COPY}{id_}" not in theirs.get(original, {}):
            yield COPIES
        told += [(id_, name.removeprefix(COPY)) for name in cells if name.startswith(COPY)]
    for some in chunks(told, AT_ONCE):
        found = _assignments(tables, one, one.conf, [copy for _, copy in some], [ORIGINAL])
        for id_, copy in some:
            if text(found.get(copy), ORIGINAL) != id_:
                yield MORE


def _assignments(
    tables: Tables, one: Known, conf: str, ids: Sequence[str], columns: Sequence[str]
) -> dict[str, Mapping[str, bytes]]:
    """The assignments of documents on a level, by id."""
    rows = {assignment_row(one.name, conf, one.timestamp, id_): id_ for id_ in ids}
    return {
        rows[row]: cells for row, cells in tables.rows(ASSIGNMENTS, list(rows), columns).items()
    }
