"""Documents people took out of themes, against where they are and whether they are there."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.collections.changing.curating.excluding import put_elsewhere
from fonds.collections.changing.redo import Writes, perform
from fonds.collections.changing.writing import Changes
from fonds.collections.checking.damage import Damage, Remedy
from fonds.collections.clusterings import is_served, known
from fonds.collections.names import Name
from fonds.collections.reading.curated import (
    AT_ONCE,
    barred_of,
    excluded_ids,
    there_are_exclusions,
)
from fonds.collections.tables import DOCUMENTS, EXCLUSIONS, Cells, Tables, text


def exclusions_of_all(changes: Changes, name: Name, cells: Cells) -> Iterator[Damage]:
    """What is wrong with the exclusions of a collection, whose row holds `cells`."""
    tables = changes.tables
    if gone := sum(len(some) for some in _gone(tables, name)):
        told = f"{gone:,} documents are kept out of themes, and are not there"
        yield Damage(Remedy.RELEASE, told)
    for one in known(tables, name):
        if is_served(one, cells) and (count := sum(map(len, excluded_ids(tables, one)))):
            told = f"{count:,} documents are in themes they were taken out of"
            yield Damage(Remedy.RELEASE, told, one.conf, one.timestamp)


def release(changes: Changes, name: Name) -> int:
    """Forget the exclusions of documents that are gone, and take the others out of where they may not be; how
    many documents."""
    count, tables = 0, changes.tables
    for some in list(_gone(tables, name)):
        with changes.held(name) as held:
            there = tables.rows(DOCUMENTS, some, ["main:id"])
            changes.claims.check(held.claim)
            tables.delete(EXCLUSIONS, [row for row in some if row not in there])
        count += len(some)
    for one in known(tables, name):
        for ids in list(excluded_ids(tables, one)):
            with changes.held(name) as held:
                if not is_served(one, held.cells):
                    break
                writes = Writes()
                put_elsewhere(changes, one, ids, barred_of(tables, one, ids), writes)
                perform(tables, name, held.cells, ids, writes, changes.claims, held.claim)
            count += len(ids)
    return count


def _gone(tables: Tables, name: Name) -> Iterator[list[bytes]]:
    """The rows of exclusions of documents there are not, some at a time."""
    if not there_are_exclusions(tables, name):
        return
    for page in tables.pages(EXCLUSIONS, name.row, ["main:id"], page_rows=AT_ONCE):
        rows = [name.document(text(cells, "main:id")) for _, cells in page]
        there = tables.rows(DOCUMENTS, rows, ["main:id"])
        if gone := [row for row in rows if row not in there]:
            yield gone
