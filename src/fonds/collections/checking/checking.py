"""All that can be said against a collection, and made right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fonds.collections.building.rebuilding import rebuild
from fonds.collections.building.settling import settle
from fonds.collections.building.sweeping import drop, drop_leavings
from fonds.collections.changing.writing import Changes
from fonds.collections.checking.clusterings import clusterings_of
from fonds.collections.checking.damage import Damage, Remedy
from fonds.collections.checking.documents import documents_of
from fonds.collections.checking.encodings import forget_wrong
from fonds.collections.checking.exclusions import exclusions_of_all, release
from fonds.collections.claims import TakenError
from fonds.collections.clusterings import all_rows, is_served, known
from fonds.collections.names import Name, claim_of_rebuild
from fonds.collections.tables import (
    COLLECTION_SIZE,
    COLLECTIONS,
    DOCUMENTS,
    READINGS,
    Cells,
    Tables,
    is_there,
    utf8,
)

DAMAGES_MAX = 100
"""So many damages of one collection are told."""


def damages(changes: Changes, name: Name) -> list[Damage]:
    """What is wrong with a collection; nothing of one that was changed while it was looked at."""
    before = _cells(changes.tables, name)
    if not is_there(before):
        return []
    found = list(islice(_every(changes, name, before), DAMAGES_MAX))
    return found if _cells(changes.tables, name) == before else []


def mend(changes: Changes, name: Name, *, threads: int | None = None) -> Iterator[str]:
    """Make right what can be, and tell each act. Raises TakenError while others change or build it."""
    found = damages(changes, name)
    wanted = {remedy: [one for one in found if one.remedy is remedy] for remedy in Remedy}
    if wanted[Remedy.COUNT]:
        yield f"{name}: {_count(changes, name):,} documents were counted"
    if wanted[Remedy.FORGET]:
        count = forget_wrong(changes, name)
        yield f"{name}: vectors that were not of the text of {count:,} documents were removed"
    if wanted[Remedy.SWEEP]:
        yield f"{name}: {_sweep(changes, name):,} leavings were removed"
    built = sorted({one.conf for one in wanted[Remedy.BUILD]})
    for conf in built:
        made = rebuild(changes, name, conf, threads=threads)
        yield f"{name} was built anew by {conf}: {made.documents:,} documents"
    # What was served until now would be kept beside the new one as it is.
    old = {(one.conf, one.timestamp) for one in wanted[Remedy.DROP] + wanted[Remedy.BUILD]}
    for one in all_rows(changes.tables, name):
        if (one.conf, one.timestamp) in old and drop(changes, one):
            yield f"{name}: the clustering {one.timestamp} by {one.conf} was removed"
    if wanted[Remedy.RELEASE]:
        yield f"{name}: {release(changes, name):,} documents are no longer where they may not be"
    if wanted[Remedy.SETTLE] and not built:
        yield from _settle(changes, name, {one.conf for one in wanted[Remedy.SETTLE]})


def _every(changes: Changes, name: Name, cells: Cells) -> Iterator[Damage]:
    yield from clusterings_of(changes, name, cells)
    yield from documents_of(changes, name, cells)
    yield from exclusions_of_all(changes, name, cells)


def _cells(tables: Tables, name: Name) -> Cells:
    return tables.row(COLLECTIONS, name.row, ["main:"]) or {}


def _count(changes: Changes, name: Name) -> int:
    with changes.held(name, long=True) as held:
        rows = changes.tables.scan(DOCUMENTS, name.row, ["main:id"])
        count = sum(1 for _ in rows)
        changes.claims.check(held.claim)
        changes.tables.put(COLLECTIONS, [(name.row, {COLLECTION_SIZE: utf8(count)})])
    return count


def _sweep(changes: Changes, name: Name) -> int:
    confs = {one.conf for one in all_rows(changes.tables, name)}
    count = 0
    for conf in sorted(confs):
        with changes.claims.renewed(claim_of_rebuild(name, conf)):
            count += drop_leavings(changes, name, conf)
    if not any(changes.claims.holder(claim_of_rebuild(name, conf)) for conf in confs):
        changes.tables.clear(READINGS, name.row)
    return count


def _settle(changes: Changes, name: Name, confs: set[str]) -> Iterator[str]:
    """Write documents' places, vectors, dictionary and index again, those of the last built at the end."""
    cells = _cells(changes.tables, name)
    served = [one for one in known(changes.tables, name) if is_served(one, cells)]
    for one in sorted(served, key=lambda each: each.timestamp):
        if one.conf in confs:
            with changes.claims.renewed(claim_of_rebuild(name, one.conf)):
                if not settle(changes, one):
                    raise TakenError(f"{name} by {one.conf} was built anew meanwhile")
            yield f"{name}: places and vectors by {one.conf} were written again"
