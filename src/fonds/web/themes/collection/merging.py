"""Suggested mergers: pairs of similar themes on a collection's page. Only a person merges them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fonds.collections.reading.clusters import Cluster, Clusters
from fonds.web.themes.addresses import theme_href
from fonds.web.themes.asking import Asked
from fonds.web.themes.listing import Linked
from fonds.wiring.recurring.collections import CollectionService

LISTED_MAX = 5


@dataclass(frozen=True, slots=True)
class MergeLine:
    """Two similar themes, the cosine of their centroids, and the terms that both have."""

    first: Linked
    second: Linked
    cosine: float
    shared: Sequence[str]


def suggested_mergers(
    themes: CollectionService, there: Asked, level: Clusters | None
) -> tuple[list[MergeLine], int]:
    """Return the five nearest pairs and the number of all pairs.

    Leave out pairs that a curator has given one name, and pairs with a theme that no longer exists.
    """
    if level is None:
        return [], 0
    theme_by_id = {one.id: one for one in level.clusters}
    pairs = themes.similar_pairs.get(themes.tables, level)
    lines: list[MergeLine] = []
    n_left_out = 0
    for pair in pairs.nearest:
        first, second = theme_by_id.get(pair.first), theme_by_id.get(pair.second)
        if first is None or second is None or (first.name and first.name == second.name):
            n_left_out += 1
        elif len(lines) < LISTED_MAX:
            sides = _linked(there, first), _linked(there, second)
            lines.append(MergeLine(*sides, round(pair.cosine, 2), pair.shared_terms))
    return lines, pairs.total - n_left_out


def _linked(there: Asked, theme: Cluster) -> Linked:
    href = theme_href(there.name, theme.id, **there.params())
    return Linked(theme.label, theme.size, href, theme.name)
