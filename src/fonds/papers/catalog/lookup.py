"""A work looked for in the catalogue: by identifier, then title, then author and year, and judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fonds.model.paper import MatchStatus
from fonds.papers.catalog.match import Match, choose_match
from fonds.papers.catalog.match_query import MatchQuery
from fonds.papers.catalog.store import Catalog, WorkIds
from fonds.papers.catalog.work import Work

CANDIDATES_MAX = 300
SURE = (MatchStatus.EXACT, MatchStatus.STRONG, MatchStatus.AMBIGUOUS)


@dataclass(slots=True)
class _Candidates:
    """What was found so far; `is_too_common` where some of it was too much to be looked at."""

    catalog: Catalog
    works: dict[str, Work] = field(default_factory=dict)
    is_too_common: bool = False

    def add_found(self, work_ids: Iterable[WorkIds]) -> bool:
        """Whether anything came that was not there."""
        ids: dict[str, None] = {}
        for one in work_ids:
            self.is_too_common = self.is_too_common or one.has_more
            ids |= dict.fromkeys(id_ for id_ in one.ids if id_ not in self.works)
        room = max(0, CANDIDATES_MAX - len(self.works))
        new = self.catalog.load_works(list(ids)[:room])
        self.works |= new
        return bool(new)


def find(catalog: Catalog, query: MatchQuery) -> Match:
    """What it is, by the first way that tells; every way is a few short reads of the table.

    An identifier whose work has another title does not end the search: the others are looked for too.
    """
    looked = _Candidates(catalog)
    found = choose_match(query, ())
    for way in (_find_by_identifier, _find_by_title, _find_by_author, _find_by_title_part):
        if looked.add_found(way(catalog, query)):
            found = choose_match(query, list(looked.works.values()), common=looked.is_too_common)
            if found.status in SURE:
                return found
    return choose_match(query, list(looked.works.values()), common=looked.is_too_common)


def _find_by_identifier(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    return (catalog.find_by_identifier(one) for one in query.ids)


def _find_by_title(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    return (catalog.find_by_title(one, query.surname) for one in query.titles)


def _find_by_title_part(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    """What is read as a title may have a series or names of authors before it, and anything behind it."""
    return (catalog.find_by_title(one, query.surname) for one in query.parts_of_title)


def _find_by_author(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    """In print and online a work may bear two years, of which the reference has one; in records of preprints
    and proceedings there may be no volume."""
    if not query.surname:
        return
    if query.year:
        for year in (query.year, query.year - 1, query.year + 1):
            for volume in query.volumes:
                yield catalog.find_by_author(query.surname, year, volume)
    yield catalog.find_by_author(query.surname, query.year)
