"""The course of a theme: its documents by month, and its size from clustering to clustering."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.collections.reading.clusters import MEMBERS_MAX, cluster, members
from fonds.collections.reading.lineage import changes_told
from fonds.collections.tables import Tables
from fonds.web.charts import Bucket
from fonds.web.pages.periods import periods
from fonds.web.rendering import instant
from fonds.web.themes.addresses import theme_href
from fonds.web.themes.asking import Asked
from fonds.web.themes.changes import Changed, changed

DATED_MAX = 2 * MEMBERS_MAX
"""The dates of so many documents are looked at, those nearest to the theme's middle."""

STAGES_MAX = 12


@dataclass(frozen=True, slots=True)
class Months:
    """Documents by YYYY-MM; `undated` of the `looked_at` have no date."""

    months: Sequence[tuple[str, int]]
    undated: int
    looked_at: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The theme in one clustering: its label and size there."""

    at: dt.datetime | None
    label: str
    size: int
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A split or merger the theme took part in: `change` says which."""

    change: str
    what: Changed


def months(tables: Tables, there: Asked, theme: str) -> Months:
    """When the documents of a theme are dated."""
    counts: Counter[str] = Counter()
    undated, looked_at = 0, 0
    after: bytes | None = None
    at = there.clustering
    while at is not None and looked_at < DATED_MAX:
        found = members(
            tables, there.name, theme, there.conf, at.timestamp,
            level=there.level, after=after, count_max=MEMBERS_MAX,
        )  # fmt: skip
        for one in found.members if found else ():
            looked_at += 1
            day = instant(one.time)
            if day is None:
                undated += 1
            else:
                counts[f"{day:%Y-%m}"] += 1
        after = found.after if found else None
        if after is None:
            break
    return Months(sorted(counts.items()), undated, looked_at)


def bars(found: Months) -> list[Bucket]:
    """The same as bars, which open nothing."""
    return [Bucket(one.label, one.count, "") for one in periods(found.months)]


def stages(tables: Tables, there: Asked, theme_id: str) -> list[Stage]:
    """The theme in every clustering kept that has it, the newest twelve at most, the oldest first."""
    if there.level:
        return []
    found = []
    for one in there.clusterings[:STAGES_MAX]:
        then = cluster(tables, there.name, theme_id, there.conf, one.timestamp, top=0)
        if then is not None:
            params = {**there.params(), "at": None if one.is_served else one.timestamp}
            href = theme_href(there.name, theme_id, **params)
            chosen = one == there.clustering
            found.append(Stage(instant(one.timestamp), then.label, then.size, href, chosen))
    return found[::-1]


def turns(tables: Tables, there: Asked, theme_id: str) -> list[Turn]:
    """The splits and mergers since the clustering before that the theme came of or led to."""
    at, before = there.clustering, there.before
    if at is None or before is None:
        return []
    told = changes_told(tables, there.name, there.conf, at.timestamp, before.timestamp)
    return [
        Turn(one.change, changed(there, one))
        for one in told
        if one.change in ("split", "merged")
        and theme_id in {side.id for side in (*one.before, *one.after)}
    ]
