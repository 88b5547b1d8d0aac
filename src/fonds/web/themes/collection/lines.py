"""A theme as a line of the list: its size and share, what became of it, its nearest documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fonds.collections.reading.clusters import Cluster, Member
from fonds.collections.reading.lineage import Change
from fonds.web.charts import share
from fonds.web.rendering import link
from fonds.web.themes.addresses import placed_href, theme_href
from fonds.web.themes.asking import Asked
from fonds.web.themes.changes import changed
from fonds.web.themes.listing import Linked
from fonds.web.themes.times.courses import Course

TERMS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Titled:
    """A document by its title, and the page that says why it is there."""

    title: str
    href: str


@dataclass(frozen=True, slots=True)
class ThemeLine:
    """A theme in the list. `name` is what a curator called it, '' where nobody did, and `pinned` whether one
    put it before the others. `mark` is `new`, `rising` or empty; `turn` is `split` or `merged` where it came
    of a split or a merger since the clustering before, else empty, and `came_of` the themes there;
    `size_before` its size in that clustering, None where it was not there or none is kept. `titles` are of
    its nearest documents. Of its documents looked at, `trend` counts those of each period, `undated` those
    without a date, and `cohesion` is their mean cosine to its middle, None where none was looked at."""

    id: str
    label: str
    name: str
    pinned: bool
    href: str
    size: int
    share: str
    mark: str
    turn: str
    came_of: Sequence[Linked]
    size_before: int | None
    terms: Sequence[str]
    titles: Sequence[Titled]
    trend: Sequence[int]
    undated: int
    undated_href: str
    cohesion: float | None


@dataclass(frozen=True, slots=True)
class Since:
    """What became of themes since the clustering before, by their ids."""

    marks: Mapping[str, str]
    sizes: Mapping[str, int]
    turns: Mapping[str, Change]


def theme_line(
    there: Asked, one: Cluster, grouped: int, since: Since, course: Course | None
) -> ThemeLine:
    """The line of a theme; `grouped` counts the documents of all themes."""
    turn = since.turns.get(one.id)
    return ThemeLine(
        id=one.id,
        label=one.label,
        name=one.name,
        pinned=one.pinned,
        href=theme_href(there.name, one.id, **there.params()),
        size=one.size,
        share=share(one.size, grouped),
        mark=since.marks.get(one.id, ""),
        turn=turn.change if turn else "",
        came_of=changed(there, turn).before if turn else (),
        size_before=since.sizes.get(one.id),
        terms=[term for term, _ in one.terms[:TERMS_SHOWN]],
        titles=[_titled(there, member) for member in one.top],
        trend=course.counts if course else (),
        undated=course.undated if course else 0,
        undated_href=_documents(there, one.id, undated="true"),
        cohesion=course.cohesion if course else None,
    )


def _titled(there: Asked, member: Member) -> Titled:
    href = placed_href(there.name, member.id, conf=there.params()["conf"])
    return Titled(" ".join(member.title.split()) or member.url or member.id, href)


def _documents(there: Asked, theme_id: str, **params: Any) -> str:
    return link(f"{theme_href(there.name, theme_id)}/documents", **there.params(), **params)
