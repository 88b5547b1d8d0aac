"""A work looked for in the catalogue: by identifier, then title, then author and year, and judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fonds.catalog.matching.judging import Match, judge
from fonds.catalog.matching.sought import Sought
from fonds.catalog.store import Catalog, Found
from fonds.catalog.works.work import Work
from fonds.model.paper import MatchStatus

CANDIDATES_MAX = 300
SURE = (MatchStatus.EXACT, MatchStatus.STRONG, MatchStatus.AMBIGUOUS)


@dataclass(slots=True)
class _Looked:
    """What was found so far; `common` where some of it was too much to be looked at."""

    catalog: Catalog
    works: dict[str, Work] = field(default_factory=dict)
    common: bool = False

    def take(self, found: Iterable[Found]) -> bool:
        """Whether anything came that was not there."""
        ids: dict[str, None] = {}
        for one in found:
            self.common = self.common or one.more
            ids |= dict.fromkeys(id_ for id_ in one.ids if id_ not in self.works)
        room = max(0, CANDIDATES_MAX - len(self.works))
        new = self.catalog.works(list(ids)[:room])
        self.works |= new
        return bool(new)


def find(catalog: Catalog, sought: Sought) -> Match:
    """What it is, by the first way that tells; every way is a few short reads of the table.

    An identifier whose work has another title does not end the search: the others are looked for too.
    """
    looked = _Looked(catalog)
    found = judge(sought, ())
    for way in (_by_identifier, _by_title, _by_author, _by_part_of_title):
        if looked.take(way(catalog, sought)):
            found = judge(sought, list(looked.works.values()), common=looked.common)
            if found.status in SURE:
                return found
    return judge(sought, list(looked.works.values()), common=looked.common)


def _by_identifier(catalog: Catalog, sought: Sought) -> Iterable[Found]:
    return (catalog.by_identifier(one) for one in sought.ids)


def _by_title(catalog: Catalog, sought: Sought) -> Iterable[Found]:
    return (catalog.by_title(one, sought.surname) for one in sought.titles)


def _by_part_of_title(catalog: Catalog, sought: Sought) -> Iterable[Found]:
    """What is read as a title may have a series or names of authors before it, and anything behind it."""
    return (catalog.by_title(one, sought.surname) for one in sought.parts_of_title)


def _by_author(catalog: Catalog, sought: Sought) -> Iterable[Found]:
    """In print and online a work may bear two years, of which the reference has one; in records of preprints
    and proceedings there may be no volume."""
    if not sought.surname:
        return
    if sought.year:
        for year in (sought.year, sought.year - 1, sought.year + 1):
            for volume in sought.volumes:
                yield catalog.by_author(sought.surname, year, volume)
    yield catalog.by_author(sought.surname, sought.year)
