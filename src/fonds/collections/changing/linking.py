"""Near-duplicates in a clustering: each goes where the one it is a near-duplicate of is, and says so, as a
rebuild has it; where an original goes, one of its near-duplicates takes its part.

Bound: 5,000 near-duplicates of the documents of one change are linked anew; further ones keep saying what
they said until the next rebuild.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from fonds.collections.changing.moving import COPY, placements_of
from fonds.collections.changing.placement import EMPTY, OUTLIER, Placement
from fonds.collections.clusterings import Known
from fonds.collections.names import apart_conf
from fonds.collections.tables import ASSIGNMENTS, Tables, assignment_row

RELEASED_MAX = 5_000

Places = dict[str, list[Placement]]


def rearranged(
    tables: Tables,
    one: Known,
    changed: Sequence[str],
    placed: Mapping[str, list[Placement]],
    alike: Mapping[str, Sequence[str]],
    barred: Mapping[str, Collection[str]] | None = None,
) -> tuple[Places, Places]:
    """Where documents were in a clustering, and where they are to be.

    `changed`: documents that may be in it and come to another place or to none; `placed`: where documents
    belong by themselves; `alike`: their near-duplicates, the nearest first; `barred`: the labels of clusters
    of the first level that may not take a document, whatever it resembles.
    """
    before = placements_of(tables, one, changed)
    released = _released(tables, one, changed)
    before |= placements_of(tables, one, list(released))
    return before, released | _linked(tables, one, placed, alike, released, barred or {})


def _released(tables: Tables, one: Known, gone: Sequence[str]) -> Places:
    """Where the near-duplicates of originals that go are to be: the first of each by id is one by itself,
    and the others are its."""
    keys = [assignment_row(one.name, one.conf, one.timestamp, id_) for id_ in gone]
    rows = tables.rows(ASSIGNMENTS, keys)
    heirs: dict[str, str] = {}
    going = set(gone)
    for cells in rows.values():
        copies = sorted(
            column.removeprefix(COPY)
            for column in cells
            if column.startswith(COPY) and column.removeprefix(COPY) not in going
        )
        room = RELEASED_MAX - len(heirs)
        heirs |= dict.fromkeys(islice(copies, room), copies[0] if copies else "")
    return {
        id_: [replace(at, original="" if heirs[id_] == id_ else heirs[id_]) for at in places]
        for id_, places in placements_of(tables, one, list(heirs)).items()
    }


def _linked(
    tables: Tables,
    one: Known,
    placed: Mapping[str, list[Placement]],
    alike: Mapping[str, Sequence[str]],
    released: Places,
    barred: Mapping[str, Collection[str]],
) -> Places:
    """Where documents are to be, near-duplicates beside the first of theirs that is in the clustering."""
    others = {id_ for some in alike.values() for id_ in some} - placed.keys() - released.keys()
    there = placements_of(tables, one, sorted(others)) | released
    after: Places = {}
    for id_, own in placed.items():
        after[id_] = own
        if not _is_grouped(one, own):
            continue
        for other in alike.get(id_, ()):
            beside = after.get(other) or there.get(other, [])
            if _is_grouped(one, beside) and not _is_barred(one, beside, barred.get(id_, ())):
                after[id_] = [_copied(one, at, other) for at in beside]
                break
    return after


def _is_grouped(one: Known, places: Sequence[Placement]) -> bool:
    """Whether a document is in a clustering, or could be but for what it says."""
    apart = apart_conf(one.conf)
    return bool(places) and all(at.conf != apart or at.label in (EMPTY, OUTLIER) for at in places)


def _is_barred(one: Known, places: Sequence[Placement], labels: Collection[str]) -> bool:
    return any(at.conf == one.conf and at.label in labels for at in places)


def _copied(one: Known, at: Placement, of: str) -> Placement:
    """The place of a near-duplicate of a document at this place; outliers are not linked."""
    return replace(at, original="" if at.conf == apart_conf(one.conf) else at.original or of)
