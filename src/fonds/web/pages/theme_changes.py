"""What changed since the clustering before: which themes are new or rising, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fonds.grouping.tables import Tables
from fonds.grouping.views.clusters import ClusterView, load_clusters
from fonds.grouping.views.lineage import ChangeSide, ClusterChange, list_recorded_changes
from fonds.web.pages.collections import ThemeRefLink
from fonds.web.pages.theme_links import link_to_theme
from fonds.web.pages.theme_selection import Selection

RISING_MIN = 1.25
"""A theme is rising when its share of the documents is so many times what it was."""

RISING_DOCUMENTS_MIN = 3
LISTED_MAX = 20
TURNS = ("split", "merged")
KINDS = ("new", "grown", "split", "merged", "gone", "kept")


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change: the themes it began with and those it led to."""

    before: Sequence[ThemeRefLink]
    after: Sequence[ThemeRefLink]


@dataclass(frozen=True, slots=True)
class ChangesOfKind:
    """All changes of one kind, of which at most 20 are listed, those of the most documents first."""

    change: str
    total: int
    listed: Sequence[ChangeLine]


def load_previous_sizes(tables: Tables, selection: Selection) -> Mapping[str, int] | None:
    """The size of each theme in the clustering before, by its id; None where none is kept."""
    if selection.previous is None:
        return None
    found = load_clusters(
        tables, selection.name, selection.conf, selection.previous.timestamp, top=0
    )
    return None if found is None else {one.id: one.size for one in found.clusters}


def mark_changes(
    now: Iterable[ClusterView], previous_sizes: Mapping[str, int] | None
) -> dict[str, str]:
    """`new` or `rising` for each theme that is, by its id; none where there is nothing to compare with."""
    if not previous_sizes:
        return {}
    there = list(now)
    total, total_before = (
        max(1, sum(one.size for one in there)),
        max(1, sum(previous_sizes.values())),
    )
    found = {}
    for one in there:
        was = previous_sizes.get(one.id)
        if was is None:
            found[one.id] = "new"
        elif (
            one.size - was >= RISING_DOCUMENTS_MIN
            and one.size * total_before >= RISING_MIN * was * total
        ):
            found[one.id] = "rising"
    return found


def load_changes(tables: Tables, selection: Selection) -> Sequence[ClusterChange]:
    """What became of every theme since the clustering before; nothing where none is kept."""
    at, before = selection.clustering, selection.previous
    if at is None or before is None:
        return ()
    return list_recorded_changes(
        tables, selection.name, selection.conf, at.timestamp, before.timestamp
    )


def find_splits_and_mergers(changes: Iterable[ClusterChange]) -> dict[str, ClusterChange]:
    """The split or merger each theme came of, by its id; of several the one told last, mergers behind
    splits."""
    some = [one for one in changes if one.change in TURNS]
    return {side.id: one for one in some for side in one.after}


def group_by_kind(selection: Selection, changes: Sequence[ClusterChange]) -> list[ChangesOfKind]:
    """The changes with their links, those of one kind together."""
    return [
        _build_kind(selection, kind, changes)
        for kind in KINDS
        if any(c.change == kind for c in changes)
    ]


def _build_kind(selection: Selection, kind: str, changes: Sequence[ClusterChange]) -> ChangesOfKind:
    some = [one for one in changes if one.change == kind]
    some.sort(key=lambda one: -sum(side.size for side in (*one.after, *one.before)))
    return ChangesOfKind(
        kind, len(some), [link_change(selection, one) for one in some[:LISTED_MAX]]
    )


def link_change(selection: Selection, change: ClusterChange) -> ChangeLine:
    """A change with its links: to the clustering before on one side, to this one on the other."""
    before = selection.previous.timestamp if selection.previous else None
    return ChangeLine(
        [_link_side(selection, side, before) for side in change.before[:LISTED_MAX]],
        [_link_side(selection, side, None) for side in change.after[:LISTED_MAX]],
    )


def _link_side(selection: Selection, side: ChangeSide, timestamp: int | None) -> ThemeRefLink:
    params = (
        selection.build_params()
        if timestamp is None
        else {**selection.build_params(), "at": timestamp}
    )
    return ThemeRefLink(
        side.label, side.size, link_to_theme(selection.name, side.id, **params), side.name
    )
