"""Themes that may be one, as a suggestion: what is done about it is a person's choice."""

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
    """Two themes that may be one: the cosine of their middles, and the terms both are told by."""

    first: Linked
    second: Linked
    cosine: float
    shared: Sequence[str]


def merges(
    themes: CollectionService, there: Asked, level: Clusters | None
) -> tuple[list[MergeLine], int]:
    """Those suggested, the nearest five, and how many there are; what a person gave one name is settled."""
    if level is None:
        return [], 0
    known = {one.id: one for one in level.clusters}
    pairs = themes.alike.of(themes.tables, level)
    found: list[MergeLine] = []
    settled = 0
    for one in pairs.nearest:
        first, second = known.get(one.first), known.get(one.second)
        if first is None or second is None or (first.name and first.name == second.name):
            settled += 1
        elif len(found) < LISTED_MAX:
            sides = _linked(there, first), _linked(there, second)
            found.append(MergeLine(*sides, round(one.cosine, 2), one.shared))
    return found, pairs.total - settled


def _linked(there: Asked, one: Cluster) -> Linked:
    href = theme_href(there.name, one.id, **there.params())
    return Linked(one.label, one.size, href, one.name)
