"""Look up a work in the catalogue by identifier, title, or author and year, and rate the
candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fonds.model.paper import MatchStatus
from fonds.papers.catalog.match import Match, choose_match
from fonds.papers.catalog.match_query import MatchQuery
from fonds.papers.catalog.store import Catalog, WorkIds
from fonds.papers.catalog.work import Work

CANDIDATES_MAX = 300
SURE_STATUSES = (MatchStatus.EXACT, MatchStatus.STRONG, MatchStatus.AMBIGUOUS)


@dataclass(slots=True)
class _Candidates:
    """Works found so far for a query.

    - `catalog`: catalogue that is searched.
    - `works`: works by id.
    - `is_too_common`: whether a search found more works than can be compared.
    """

    catalog: Catalog
    works: dict[str, Work] = field(default_factory=dict)
    is_too_common: bool = False

    def add_found(self, work_ids: Iterable[WorkIds]) -> bool:
        """Add works that a search found, except those that were found before.

        They are loaded from the catalogue by id, up to the maximum number of candidates. Return
        whether any were added.
        """
        ids: dict[str, None] = {}
        for result in work_ids:
            self.is_too_common = self.is_too_common or result.has_more
            ids |= dict.fromkeys(id_ for id_ in result.ids if id_ not in self.works)
        remaining = max(0, CANDIDATES_MAX - len(self.works))
        new = self.catalog.load_works(list(ids)[:remaining])
        self.works |= new
        return bool(new)


def find(catalog: Catalog, query: MatchQuery) -> Match:
    """Find the work of the catalogue that a query describes.

    Searches by different fields run until one gives a sure match (exact, strong or ambiguous): by
    identifier, by title, by author, by parts of the title. Each search is a few short reads of the
    catalogue table. If an identifier leads to a work with another title, the other searches still
    run.
    """
    candidates = _Candidates(catalog)
    match = choose_match(query, ())
    for search in (_find_by_identifier, _find_by_title, _find_by_author, _find_by_title_part):
        if candidates.add_found(search(catalog, query)):
            match = choose_match(
                query, list(candidates.works.values()), common=candidates.is_too_common
            )
            if match.status in SURE_STATUSES:
                return match
    return choose_match(query, list(candidates.works.values()), common=candidates.is_too_common)


def _find_by_identifier(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    return (catalog.find_by_identifier(identifier) for identifier in query.ids)


def _find_by_title(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    return (catalog.find_by_title(title, query.surname) for title in query.titles)


def _find_by_title_part(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    """Search the catalogue for works whose title is a part of the query's title.

    The title of a query may have a series or author names before the real title, and other text
    after it.
    """
    return (catalog.find_by_title(title, query.surname) for title in query.parts_of_title)


def _find_by_author(catalog: Catalog, query: MatchQuery) -> Iterable[WorkIds]:
    """Search the catalogue by first author, year and volume, then without volume.

    Print and online years of a work may differ by one, and the reference has only one of them.
    Records of preprints and proceedings may lack a volume.
    """
    if not query.surname:
        return
    if query.year:
        for year in (query.year, query.year - 1, query.year + 1):
            for volume in query.volumes:
                yield catalog.find_by_author(query.surname, year, volume)
    yield catalog.find_by_author(query.surname, query.year)
