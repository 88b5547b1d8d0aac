"""What changed since the clustering before: which themes are new or rising, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fonds.collections.reading.clusters import Cluster, clusters
from fonds.collections.reading.lineage import Change, Side, changes_told
from fonds.collections.tables import Tables
from fonds.web.themes.addresses import theme_href
from fonds.web.themes.asking import Asked
from fonds.web.themes.listing import Linked

RISING_MIN = 1.25
"""A theme is rising when its share of the documents is so many times what it was."""

RISING_DOCUMENTS_MIN = 3
LISTED_MAX = 20
TURNS = ("split", "merged")
KINDS = ("new", "grown", "split", "merged", "gone", "kept")


@dataclass(frozen=True, slots=True)
class Changed:
    """One change: the themes it began with and those it led to."""

    before: Sequence[Linked]
    after: Sequence[Linked]


@dataclass(frozen=True, slots=True)
class ChangesOfKind:
    """All changes of one kind, of which at most 20 are listed, those of the most documents first."""

    change: str
    total: int
    listed: Sequence[Changed]


def sizes_before(tables: Tables, asked: Asked) -> Mapping[str, int] | None:
    """The size of each theme in the clustering before, by its id; None where none is kept."""
    if asked.before is None:
        return None
    found = clusters(tables, asked.name, asked.conf, asked.before.timestamp, top=0)
    return None if found is None else {one.id: one.size for one in found.clusters}


def marks(now: Iterable[Cluster], before: Mapping[str, int] | None) -> dict[str, str]:
    """`new` or `rising` for each theme that is, by its id; none where there is nothing to compare with."""
    if not before:
        return {}
    there = list(now)
    total, total_before = max(1, sum(one.size for one in there)), max(1, sum(before.values()))
    found = {}
    for one in there:
        was = before.get(one.id)
        if was is None:
            found[one.id] = "new"
        elif (
            one.size - was >= RISING_DOCUMENTS_MIN
            and one.size * total_before >= RISING_MIN * was * total
        ):
            found[one.id] = "rising"
    return found


def told_of(tables: Tables, asked: Asked) -> Sequence[Change]:
    """What became of every theme since the clustering before; nothing where none is kept."""
    at, before = asked.clustering, asked.before
    if at is None or before is None:
        return ()
    return changes_told(tables, asked.name, asked.conf, at.timestamp, before.timestamp)


def turns_of(told: Iterable[Change]) -> dict[str, Change]:
    """The split or merger each theme came of, by its id; of several the one told last, mergers behind
    splits."""
    some = [one for one in told if one.change in TURNS]
    return {side.id: one for one in some for side in one.after}


def by_kind(asked: Asked, told: Sequence[Change]) -> list[ChangesOfKind]:
    """The changes with their links, those of one kind together."""
    return [_of_kind(asked, kind, told) for kind in KINDS if any(c.change == kind for c in told)]


def _of_kind(asked: Asked, kind: str, told: Sequence[Change]) -> ChangesOfKind:
    some = [one for one in told if one.change == kind]
    some.sort(key=lambda one: -sum(side.size for side in (*one.after, *one.before)))
    return ChangesOfKind(kind, len(some), [changed(asked, one) for one in some[:LISTED_MAX]])


def changed(asked: Asked, one: Change) -> Changed:
    """A change with its links: to the clustering before on one side, to this one on the other."""
    before = asked.before.timestamp if asked.before else None
    return Changed(
        [_linked(asked, side, before) for side in one.before[:LISTED_MAX]],
        [_linked(asked, side, None) for side in one.after[:LISTED_MAX]],
    )


def _linked(asked: Asked, side: Side, at: int | None) -> Linked:
    params = asked.params() if at is None else {**asked.params(), "at": at}
    return Linked(side.label, side.size, theme_href(asked.name, side.id, **params), side.name)
