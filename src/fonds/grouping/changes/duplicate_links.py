"""Links from near-duplicates to their originals in a clustering.

Each near-duplicate is in the cluster of its original and names the original, as after a rebuild.
When an original leaves, one of its near-duplicates becomes the new original.
Limits: one change relinks at most 5,000 near-duplicates; others keep their links until the next
rebuild.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from fonds.grouping.changes.cells import load_placements
from fonds.grouping.clustering import EMPTY, OUTLIER, Placement, StoredClustering
from fonds.grouping.columns import Column
from fonds.grouping.names import build_unclustered_conf
from fonds.grouping.tables import (
    ASSIGNMENTS,
    Tables,
    build_assignment_row,
)


def relink_duplicates(
    tables: Tables,
    clustering: StoredClustering,
    changed_ids: Sequence[str],
    placements: Mapping[str, list[Placement]],
    duplicates: Mapping[str, Sequence[str]],
    excluded_labels: Mapping[str, Collection[str]] | None = None,
) -> tuple[PlacementsById, PlacementsById]:
    """Return the previous and the new placements of changed documents and of their near-duplicates.

    `changed_ids`: ids of documents that may be in the clustering and move or leave.
    `placements`: placement of each document as if it had no near-duplicates, by document id.
    `duplicates`: ids of the near-duplicates of each document, nearest first.
    `excluded_labels`: labels of first-level clusters that must not receive a document, even as a
        near-duplicate, by document id.
    """
    placements_before = load_placements(tables, clustering, changed_ids)
    released_placements = _release_duplicates(tables, clustering, changed_ids)
    placements_before |= load_placements(tables, clustering, list(released_placements))
    return placements_before, released_placements | _link_duplicates(
        tables, clustering, placements, duplicates, released_placements, excluded_labels or {}
    )


def _release_duplicates(
    tables: Tables, clustering: StoredClustering, removed_ids: Sequence[str]
) -> PlacementsById:
    """Return the new placements of the near-duplicates of originals that leave, by document id.

    Of an original's near-duplicates, the one whose id sorts first becomes an original. The others
    become near-duplicates of this new original.
    """
    keys = [
        build_assignment_row(clustering.name, clustering.conf, clustering.timestamp, id_)
        for id_ in removed_ids
    ]
    rows = tables.get_rows(ASSIGNMENTS, keys)
    heirs: dict[str, str] = {}
    leaving = set(removed_ids)
    for cells in rows.values():
        copies = sorted(
            column.removeprefix(Column.COPY_PREFIX)
            for column in cells
            if column.startswith(Column.COPY_PREFIX)
            and column.removeprefix(Column.COPY_PREFIX) not in leaving
        )
        capacity = RELEASED_MAX - len(heirs)
        heirs |= dict.fromkeys(islice(copies, capacity), copies[0] if copies else "")
    return {
        id_: [
            replace(placement, original="" if heirs[id_] == id_ else heirs[id_])
            for placement in places
        ]
        for id_, places in load_placements(tables, clustering, list(heirs)).items()
    }


def _link_duplicates(
    tables: Tables,
    clustering: StoredClustering,
    placements: Mapping[str, list[Placement]],
    duplicates: Mapping[str, Sequence[str]],
    released_placements: PlacementsById,
    excluded_labels: Mapping[str, Collection[str]],
) -> PlacementsById:
    """Put each near-duplicate in the cluster of its original; return the new placements by id.

    The original of a document is the nearest of its near-duplicates that the clustering groups and
    whose cluster may receive the document.
    `placements`: placements of the documents as if they had no near-duplicates, by document id.
    `duplicates`: ids of the near-duplicates of each document, nearest first.
    `released_placements`: new placements of documents whose original leaves, by document id.
    `excluded_labels`: labels of first-level clusters that must not receive a document, by document
        id.
    """
    other_ids = (
        {id_ for ids in duplicates.values() for id_ in ids}
        - placements.keys()
        - released_placements.keys()
    )
    other_placements = load_placements(tables, clustering, sorted(other_ids)) | released_placements
    placements_after: PlacementsById = {}
    for id_, own_placements in placements.items():
        placements_after[id_] = own_placements
        if not _is_grouped(clustering, own_placements):
            continue
        for duplicate_id in duplicates.get(id_, ()):
            placements_beside = placements_after.get(duplicate_id) or other_placements.get(
                duplicate_id, []
            )
            if _is_grouped(clustering, placements_beside) and not _is_excluded(
                clustering, placements_beside, excluded_labels.get(id_, ())
            ):
                placements_after[id_] = [
                    _copy_placement(clustering, placement, duplicate_id)
                    for placement in placements_beside
                ]
                break
    return placements_after


def _is_grouped(clustering: StoredClustering, places: Sequence[Placement]) -> bool:
    """Return whether a clustering groups a document, even if it found no cluster for it.

    True if the document is in a cluster, or unclustered for the reason `empty` or `outlier`. False
    if it is unclustered for another reason, or has no placements.
    """
    unclustered_conf = build_unclustered_conf(clustering.conf)
    return bool(places) and all(
        placement.conf != unclustered_conf or placement.label in (EMPTY, OUTLIER)
        for placement in places
    )


def _is_excluded(
    clustering: StoredClustering, places: Sequence[Placement], labels: Collection[str]
) -> bool:
    return any(
        placement.conf == clustering.conf and placement.label in labels for placement in places
    )


def _copy_placement(
    clustering: StoredClustering, placement: Placement, original_id: str
) -> Placement:
    """Return the placement of a near-duplicate: that of its original, with a link to the original.

    `original_id`, `placement`: id and placement of the document that is nearly duplicated. If that
        document is a near-duplicate itself, the link names its original instead. If that document
        is unclustered, there is no link.
    """
    return replace(
        placement,
        original=""
        if placement.conf == build_unclustered_conf(clustering.conf)
        else placement.original or original_id,
    )


RELEASED_MAX = 5_000


PlacementsById = dict[str, list[Placement]]
