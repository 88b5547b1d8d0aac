"""The collections that were grouped anew since somebody looked last."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.collections.names import DEFAULT
from fonds.collections.reading.clusterings import Collection, Served
from fonds.web.rendering import instant
from fonds.web.themes.addresses import collection_href
from fonds.wiring.recurring.collections import CollectionService

COLLECTIONS_MAX, SHOWN = 1_000, 5


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A collection and the clustering of it that is served; `changes_href` opens what became of its themes
    since the one before."""

    namespace: str
    key: str
    conf: str
    rebuilt: dt.datetime | None
    href: str
    changes_href: str


@dataclass(frozen=True, slots=True)
class RebuiltSince:
    """The last five of `total` clusterings that are served and were built since a day; where `complete` is
    false only the first 1,000 collections were looked at."""

    total: int
    complete: bool
    last: Sequence[Rebuilt]


def rebuilt_since(themes: CollectionService, since: dt.date | None) -> RebuiltSince | None:
    """The clusterings built since the beginning of this day in UTC, the newest first; None without a day."""
    if since is None:
        return None
    begins = dt.datetime.combine(since, dt.time(), dt.UTC).timestamp()
    some = list(islice(themes.every(), COLLECTIONS_MAX + 1))
    found = [
        (served.rebuilt, one, served)
        for one in some[:COLLECTIONS_MAX]
        for served in one.served
        if served.rebuilt >= begins
    ]
    found.sort(key=lambda each: (-each[0], each[1].name.row))
    last = [_line(one, served) for _, one, served in found[:SHOWN]]
    return RebuiltSince(len(found), len(some) <= COLLECTIONS_MAX, last)


def _line(one: Collection, served: Served) -> Rebuilt:
    conf = served.conf if served.conf != DEFAULT else None
    href = collection_href(one.name, conf=conf)
    return Rebuilt(
        one.name.namespace,
        one.name.key,
        served.conf,
        instant(served.rebuilt),
        href,
        f"{href}#changes",
    )
