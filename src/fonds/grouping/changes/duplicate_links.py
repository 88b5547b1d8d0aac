"""Near-duplicates in a clustering: each is in the cluster of its original, and names it, as a rebuild does.

When an original leaves, one of its near-duplicates takes its place.

Bound: 5,000 near-duplicates of the documents of one change are linked again; further ones keep their links
until the next rebuild.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from fonds.grouping.changes.cells import COPY, load_placements
from fonds.grouping.clustering import EMPTY, OUTLIER, Placement, StoredClustering
from fonds.grouping.names import build_unclustered_conf
from fonds.grouping.tables import (
    ASSIGNMENTS,
    Tables,
    build_assignment_row,
)


def relink_duplicates(
    tables: Tables,
    clustering: StoredClustering,
    changed: Sequence[str],
    placements: Mapping[str, list[Placement]],
    duplicates: Mapping[str, Sequence[str]],
    excluded: Mapping[str, Collection[str]] | None = None,
) -> tuple[PlacementsById, PlacementsById]:
    """Where documents were in a clustering, and where they are to be.

    `changed`: documents that may be in it and come to another place or to none; `placements`: where
    documents belong by themselves; `duplicates`: their near-duplicates, the nearest first; `excluded`:
    the labels of clusters of the first level that may not take a document, whatever it resembles."""
    before = load_placements(tables, clustering, changed)
    released = _release_duplicates(tables, clustering, changed)
    before |= load_placements(tables, clustering, list(released))
    return before, released | _link_duplicates(
        tables, clustering, placements, duplicates, released, excluded or {}
    )


def _release_duplicates(
    tables: Tables, clustering: StoredClustering, removed_ids: Sequence[str]
) -> PlacementsById:
    """Where the near-duplicates of originals that go are to be: the first of each by id is one by itself,
    and the others are its."""
    keys = [
        build_assignment_row(clustering.name, clustering.conf, clustering.timestamp, id_)
        for id_ in removed_ids
    ]
    rows = tables.get_rows(ASSIGNMENTS, keys)
    heirs: dict[str, str] = {}
    going = set(removed_ids)
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
        for id_, places in load_placements(tables, clustering, list(heirs)).items()
    }


def _link_duplicates(
    tables: Tables,
    clustering: StoredClustering,
    placements: Mapping[str, list[Placement]],
    duplicates: Mapping[str, Sequence[str]],
    released_placements: PlacementsById,
    excluded: Mapping[str, Collection[str]],
) -> PlacementsById:
    """Where documents are to be, near-duplicates beside the first of theirs that is in the clustering."""
    others = (
        {id_ for some in duplicates.values() for id_ in some}
        - placements.keys()
        - released_placements.keys()
    )
    there = load_placements(tables, clustering, sorted(others)) | released_placements
    after: PlacementsById = {}
    for id_, own in placements.items():
        after[id_] = own
        if not _is_grouped(clustering, own):
            continue
        for other in duplicates.get(id_, ()):
            beside = after.get(other) or there.get(other, [])
            if _is_grouped(clustering, beside) and not _is_excluded(
                clustering, beside, excluded.get(id_, ())
            ):
                after[id_] = [_copy_placement(clustering, at, other) for at in beside]
                break
    return after


def _is_grouped(clustering: StoredClustering, places: Sequence[Placement]) -> bool:
    """Whether a document is in a clustering, or could be but for what it says."""
    apart = build_unclustered_conf(clustering.conf)
    return bool(places) and all(at.conf != apart or at.label in (EMPTY, OUTLIER) for at in places)


def _is_excluded(
    clustering: StoredClustering, places: Sequence[Placement], labels: Collection[str]
) -> bool:
    return any(at.conf == clustering.conf and at.label in labels for at in places)


def _copy_placement(
    clustering: StoredClustering, placement: Placement, original_id: str
) -> Placement:
    """The place of a near-duplicate of a document at this place; outliers are not linked."""
    return replace(
        placement,
        original=""
        if placement.conf == build_unclustered_conf(clustering.conf)
        else placement.original or original_id,
    )


RELEASED_MAX = 5_000


PlacementsById = dict[str, list[Placement]]
