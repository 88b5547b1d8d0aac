"""Parts of the map: a quarter of it, or a quarter of a quarter, drawn as large as the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.collections.reading.clusters import Cluster
from fonds.web.themes.addresses import collection_href
from fonds.web.themes.asking import Asked

QUARTERS = {"1": "top left", "2": "top right", "3": "bottom left", "4": "bottom right"}
DEPTH_MAX = 2
PART = f"^[1-4]{{0,{DEPTH_MAX}}}$"


@dataclass(frozen=True, slots=True)
class PartLink:
    """A part of the map in words, how many themes lie in it, and the page of it."""

    label: str
    themes: int
    href: str


def within(position: tuple[float, float] | None, part: str) -> tuple[float, float] | None:
    """Where a place of the map lies in a part, both between -1 and 1; None where it lies outside, or is
    none. `part`: a digit of QUARTERS for each time a quarter is taken."""
    if position is None:
        return None
    x, y = (min(1.0, max(-1.0, one)) for one in position)
    for digit in part:
        right, top = x >= 0, y >= 0
        if digit != _digit(right, top):
            return None
        x, y = 2 * x - (1 if right else -1), 2 * y - (1 if top else -1)
    return x, y


def _digit(right: bool, top: bool) -> str:
    return str(1 + right + 2 * (not top))


def themes_in(themes: Sequence[Cluster], part: str) -> Sequence[Cluster]:
    """The themes that lie in a part of the map; all there are, on the map or not, for the whole."""
    return [one for one in themes if within(one.position, part)] if part else themes


def named(part: str) -> str:
    """A part in words, as `top left of the bottom right`."""
    return " of the ".join(QUARTERS[digit] for digit in reversed(part))


def quarters(there: Asked, themes: Sequence[Cluster], part: str) -> list[PartLink]:
    """The quarters of a part that themes lie in; none of the smallest parts."""
    if len(part) >= DEPTH_MAX:
        return []
    places = [place for one in themes if (place := within(one.position, part)) is not None]
    counts = Counter(_digit(x >= 0, y >= 0) for x, y in places)
    return [
        PartLink(label, counts[digit], part_href(there, part + digit))
        for digit, label in QUARTERS.items()
        if counts[digit]
    ]


def part_href(there: Asked, part: str) -> str:
    """The page of a part of the map."""
    return f"{collection_href(there.name, **there.params(), part=part or None)}#map"
