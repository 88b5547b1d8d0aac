"""Names and pins whose theme a rebuild left out: nothing a person decided disappears unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fonds.collections.reading.clusters import Cluster
from fonds.collections.reading.curated import curated
from fonds.collections.reading.lineage import Change
from fonds.web.themes.asking import Asked
from fonds.web.themes.changes import changed
from fonds.web.themes.listing import Linked
from fonds.wiring.recurring.collections import CollectionService

LISTED_MAX = 20


@dataclass(frozen=True, slots=True)
class Lost:
    """A theme that was named or pinned and is there no more: its id, the label it had then, its name, ''
    where it was pinned alone. `change` is `merged`, `split` or `gone`, and `became` the themes it led to, as
    far as the last rebuild tells; '' and none of one that went before."""

    id: str
    label: str
    name: str
    change: str
    became: Sequence[Linked]


def lost_themes(
    themes: CollectionService, there: Asked, now: Sequence[Cluster], told: Sequence[Change]
) -> list[Lost]:
    """All of them, by name; nothing for a level whose ids do not stay, or of the past."""
    at = there.clustering
    if there.level or at is None or not at.is_served:
        return []
    known = {one.id for one in now}
    left = [
        one
        for one in curated(themes.tables, there.name, there.conf).values()
        if one.id not in known
    ]
    return [
        Lost(one.id, one.label, one.name, *_became(there, one.id, told))
        for one in sorted(left, key=lambda one: (one.name or one.label, one.id))
    ]


def _became(there: Asked, theme: str, told: Sequence[Change]) -> tuple[str, Sequence[Linked]]:
    for one in told:
        if theme in {side.id for side in one.before}:
            return one.change, changed(there, one).after
    return "", ()
