"""The hue and hatching of each theme on the map: by its id, which it keeps over rebuilds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

HUES, HATCHINGS = 8, 8
_LOOKS = HUES * HATCHINGS
_STEP = 9
"""To the next look that is free: another hue and another hatching, and all are come by."""


@dataclass(frozen=True, slots=True)
class Look:
    """`hue` and `hatching` by number, 0 to 7; hatching 0 is none."""

    hue: int
    hatching: int


def looks(ids: Iterable[str]) -> dict[str, Look]:
    """The look of each theme by its id. Of up to 64 themes no two share one: who is newer takes the next that
    is free, so that no theme changes its look because another came. Behind 64 it begins again."""
    found: dict[str, Look] = {}
    taken: set[int] = set()
    for id_ in sorted(ids, key=_age):
        if len(taken) == _LOOKS:
            taken.clear()
        look = int.from_bytes(hashlib.sha256(id_.encode()).digest()[:2], "big") % _LOOKS
        while look in taken:
            look = (look + _STEP) % _LOOKS
        taken.add(look)
        found[id_] = Look(look % HUES, look // HUES)
    return found


def _age(id_: str) -> tuple[int, str, int, str]:
    """Ids are a version in hexadecimal and a number: the order they were given in."""
    version, _, number = id_.partition("-")
    return len(version), version, len(number), number
