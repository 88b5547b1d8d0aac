"""Changes of themes since the previous clustering: new and rising themes, and which others grew,
split, merged or are gone.
"""

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
"""A theme is rising if its share of the documents is at least this multiple of its previous share.
"""

RISING_DOCUMENTS_MIN = 3
LISTED_MAX = 20
TURNS = ("split", "merged")
KINDS = ("new", "grown", "split", "merged", "gone", "kept")


@dataclass(frozen=True, slots=True)
class ThemeChangeLine:
    """One change of themes between two clusterings, such as a merger: the themes before and after
    the change.
    """

    before: Sequence[ThemeRefLink]
    after: Sequence[ThemeRefLink]


@dataclass(frozen=True, slots=True)
class ChangesOfKind:
    """All changes of themes of one kind, such as `split`. At most 20 are listed, those with the
    most documents first.
    """

    change: str
    total: int
    listed: Sequence[ThemeChangeLine]


def load_previous_sizes(tables: Tables, selection: Selection) -> Mapping[str, int] | None:
    """Return the number of documents of each theme in the previous clustering, by theme id.

    Return None if no previous clustering is stored.
    """
    if selection.previous is None:
        return None
    level_view = load_clusters(
        tables, selection.name, selection.conf, selection.previous.timestamp, top=0
    )
    return (
        None
        if level_view is None
        else {cluster.id: cluster.size for cluster in level_view.clusters}
    )


def mark_changes(
    clusters: Iterable[ClusterView], previous_sizes: Mapping[str, int] | None
) -> dict[str, str]:
    """Return the mark of each theme that is `new` or `rising` since the previous clustering, by
    theme id.

    Without a previous clustering no theme is marked.
    """
    if not previous_sizes:
        return {}
    themes = list(clusters)
    total, total_before = (
        max(1, sum(theme.size for theme in themes)),
        max(1, sum(previous_sizes.values())),
    )
    marks = {}
    for theme in themes:
        previous_size = previous_sizes.get(theme.id)
        if previous_size is None:
            marks[theme.id] = "new"
        elif (
            theme.size - previous_size >= RISING_DOCUMENTS_MIN
            and theme.size * total_before >= RISING_MIN * previous_size * total
        ):
            marks[theme.id] = "rising"
    return marks


def load_changes(tables: Tables, selection: Selection) -> Sequence[ClusterChange]:
    """Return the changes of all themes since the previous clustering.

    The list is empty if no previous clustering is stored.
    """
    clustering, previous_clustering = selection.clustering, selection.previous
    if clustering is None or previous_clustering is None:
        return ()
    return list_recorded_changes(
        tables, selection.name, selection.conf, clustering.timestamp, previous_clustering.timestamp
    )


def find_splits_and_mergers(changes: Iterable[ClusterChange]) -> dict[str, ClusterChange]:
    """Return the split or merger from which each theme came, by theme id. Other themes are missing.

    If a theme came from several of them, the last one counts; mergers follow splits.
    """
    turns = [change for change in changes if change.change in TURNS]
    return {side.id: change for change in turns for side in change.after}


def group_by_kind(selection: Selection, changes: Sequence[ClusterChange]) -> list[ChangesOfKind]:
    """Group the changes of themes by kind of change, and add links to the themes."""
    return [
        _build_kind(selection, kind, changes)
        for kind in KINDS
        if any(c.change == kind for c in changes)
    ]


def _build_kind(selection: Selection, kind: str, changes: Sequence[ClusterChange]) -> ChangesOfKind:
    kind_changes = [change for change in changes if change.change == kind]
    kind_changes.sort(
        key=lambda change: -sum(side.size for side in (*change.after, *change.before))
    )
    return ChangesOfKind(
        kind,
        len(kind_changes),
        [link_change(selection, kind_change) for kind_change in kind_changes[:LISTED_MAX]],
    )


def link_change(selection: Selection, change: ClusterChange) -> ThemeChangeLine:
    """Build one change of themes for a page, with links to the themes.

    Themes before the change link to the previous clustering, themes after it to the current one.
    """
    previous_timestamp = selection.previous.timestamp if selection.previous else None
    return ThemeChangeLine(
        [_link_side(selection, side, previous_timestamp) for side in change.before[:LISTED_MAX]],
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
