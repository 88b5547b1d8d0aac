"""Links between near-duplicates that are altered past all ports are named, and made right by a rebuild."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fonds.grouping.changes.cells import COPY, ORIGINAL
from fonds.grouping.checks import clusterings
from fonds.grouping.checks.check import find_damages, repair_collection
from fonds.grouping.checks.damage import Remedy
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.document import Document
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    DISTINCT,
    build_assignment_row,
    decode_int,
    decode_text,
)
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import list_placements
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents

TWINS = 6
Act = Callable[[CollectionStore, int], None]


@pytest.fixture
def grouped(kept: CollectionStore, monkeypatch: pytest.MonkeyPatch) -> tuple[CollectionStore, int]:
    """Themes of which six texts came twice with the others, and once more later; two levels."""
    monkeypatch.setattr(clusterings, "BATCH_SIZE", 7)
    save_configuration(
        kept.tables, "news", "DEFAULT", build_configuration({"clusters": 4, "granularities": [2]})
    )
    texts = themed_documents(60, themes=4)
    twins = [Document(f"twin{at}", one.text) for at, one in enumerate(texts[:TWINS])]
    kept.changes.put(NEWS, [*texts, *twins])
    made = rebuild(kept.changes, NEWS, threads=1)
    kept.changes.put(
        NEWS, [Document(f"later{at}", one.text) for at, one in enumerate(texts[:TWINS])]
    )
    kept.changes.delete(NEWS, ["d0", "twin1", "later2"])
    assert find_damages(kept.changes, NEWS) == []
    return kept, made.timestamp


def row(timestamp: int, id_: str, conf: str = "DEFAULT") -> bytes:
    return build_assignment_row(NEWS, conf, timestamp, id_)


def pair(kept: CollectionStore, number_: int = 3) -> tuple[str, str]:
    """A near-duplicate, and its original."""
    for id_ in (f"d{number_}", f"twin{number_}", f"later{number_}"):
        if original := list_placements(kept.tables, NEWS, id_)[0].original:
            return id_, original
    raise AssertionError("none is linked")


def linked_to(other: Callable[[CollectionStore, int], str], conf: str = "DEFAULT") -> Act:
    """A near-duplicate names another document."""

    def act(kept: CollectionStore, timestamp: int) -> None:
        cells = {ORIGINAL: other(kept, timestamp).encode()}
        kept.tables.put(ASSIGNMENTS, [(row(timestamp, pair(kept)[0], conf), cells)])

    return act


def beside(kept: CollectionStore, timestamp: int) -> str:
    """A document of the same clusters that is a near-duplicate of none."""
    wanted = [
        (placement.level, placement.label)
        for placement in list_placements(kept.tables, NEWS, pair(kept)[0])
    ]
    for at in range(TWINS, 60):
        theirs = list_placements(kept.tables, NEWS, f"d{at}")
        if [(their.level, their.label) for their in theirs] == wanted and not theirs[0].original:
            return f"d{at}"
    raise AssertionError("there is none")


def elsewhere(kept: CollectionStore, timestamp: int) -> str:
    """A document of another cluster."""
    mine = list_placements(kept.tables, NEWS, pair(kept)[0])[0].label
    every = (f"d{at}" for at in range(TWINS, 60))
    return next(
        id_ for id_ in every if list_placements(kept.tables, NEWS, id_)[0].label not in (mine, None)
    )


def unlinked(kept: CollectionStore, timestamp: int) -> None:
    kept.tables.delete(ASSIGNMENTS, [row(timestamp, pair(kept)[0])], [ORIGINAL])


def untold(kept: CollectionStore, timestamp: int) -> None:
    id_, original = pair(kept)
    kept.tables.delete(ASSIGNMENTS, [row(timestamp, original)], [f"{COPY}{id_}"])


def told_of_another(kept: CollectionStore, timestamp: int) -> None:
    kept.tables.put(ASSIGNMENTS, [(row(timestamp, "d30"), {f"{COPY}d31": b"1"})])


def counted(change: int | None, conf: str = "DEFAULT") -> Act:
    """A cluster counts other than it has, or does not count."""

    def act(kept: CollectionStore, timestamp: int) -> None:
        prefix = build_clustering_prefix("news", "2026-11", conf, timestamp)
        key, cells = kept.tables.get_page(CLUSTERS, prefix, count_max=1)[0]
        if change is None:
            kept.tables.delete(CLUSTERS, [key], [DISTINCT])
        else:
            changed = str(decode_int(cells, DISTINCT) + change).encode()
            kept.tables.put(CLUSTERS, [(key, {DISTINCT: changed})])

    return act


DAMAGES: dict[str, tuple[Act, str]] = {
    "distinct-more": (counted(1), "its distinct count is"),
    "distinct-less": (counted(-1), "its distinct count is"),
    "distinct-gone": (counted(None), "its distinct count is -1"),
    "distinct-of-a-level": (counted(1, "DEFAULT@1"), "DEFAULT@1"),
    "of-one-there-is-not": (linked_to(lambda kept, at: "gone"), clusterings.LINKED),
    "of-itself": (linked_to(lambda kept, at: pair(kept)[0]), clusterings.LINKED),
    "of-another-cluster": (linked_to(elsewhere), clusterings.LINKED),
    "of-another": (linked_to(beside), clusterings.COPIES),
    "of-another-on-a-level": (linked_to(beside, "DEFAULT@1"), clusterings.LEVELS),
    "of-none": (unlinked, "its distinct count is"),
    "of-none-but-told": (unlinked, clusterings.NOT_DUPLICATES_MESSAGE),
    "untold": (untold, clusterings.COPIES),
    "told-of-another": (told_of_another, clusterings.NOT_DUPLICATES_MESSAGE),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_link_or_count_is_named_and_mended(
    grouped: tuple[CollectionStore, int], name: str
) -> None:
    (kept, timestamp), (act, told) = grouped, DAMAGES[name]
    act(kept, timestamp)
    damages = find_damages(kept.changes, NEWS)
    assert any(told in one.message for one in damages), damages
    assert {(one.remedy, one.conf, one.timestamp) for one in damages} == {
        (Remedy.BUILD, "DEFAULT", timestamp)
    }
    assert list(repair_collection(kept.changes, NEWS, threads=1)) != []
    assert find_damages(kept.changes, NEWS) == []
    assert find_faults(kept.tables, NEWS) == []


def test_what_is_linked_is_counted_once_and_not_told_as_a_damage(
    grouped: tuple[CollectionStore, int],
) -> None:
    kept, timestamp = grouped
    served = load_clusters(kept.tables, NEWS)
    assert served is not None
    prefix = build_clustering_prefix("news", "2026-11", "DEFAULT", timestamp)
    cells = [cells for _, cells in kept.tables.iter_rows(ASSIGNMENTS, prefix, ["main:"])]
    links = sum(1 for cell in cells if decode_text(cell, ORIGINAL))
    assert links == sum(cluster.size - cluster.distinct for cluster in served.clusters) >= TWINS
    assert links == sum(column.startswith(COPY) for cell in cells for column in cell)
