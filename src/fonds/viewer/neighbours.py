"""Find documents of the same domain that are dated within three days of another document.

Cost: two index queries for six documents each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from fonds.model.document import DateKind, DateOf, IndexDocument
from fonds.model.search import SearchQuery
from fonds.ports import Index

NEIGHBOURS_MAX = 5
WINDOW_DAYS = 3


@dataclass(frozen=True, slots=True)
class AroundDay:
    """Other documents of the same domain within 3 days of a document's date.

    - `domain`: the domain.
    - `dates`: the kind of date that is compared: publication or capture.
    - `date_kind`: whether the document's date is its publication or the creation of the file; None
      if unknown, and for dates of capture.
    - `day`: date of the document: date of publication, or of capture if that is unknown.
    - `first`, `last`: first and last day of the range of 3 days before and after the date.
    - `total`: number of all documents in the range.
    - `documents`: the up to five documents nearest in time.
    """

    domain: str
    dates: DateOf
    date_kind: DateKind | None
    day: date
    first: date
    last: date
    total: int
    documents: Sequence[IndexDocument]


def find_around_day(index: Index, document: IndexDocument) -> AroundDay | None:
    """Find documents of the same domain within 3 days of a document's date; None if the document
    has no domain or no date.
    """
    dates = DateOf.PUBLISHED if document.publication_date else DateOf.CAPTURED
    day = document.get_day(dates)
    if day is None or not document.canonical_domain:
        return None
    first, next_day, last = (_shift_day(day, n) for n in (-WINDOW_DAYS, 1, WINDOW_DAYS))
    until = _build_query(document, dates, first, day, "newest")
    since = _build_query(document, dates, next_day, last, "oldest")
    results = [
        index.search(query) for query in (until, since) if query.date_from != day or query is until
    ]
    neighbours = [
        hit.document for result in results for hit in result.hits if hit.document.id != document.id
    ]
    return AroundDay(
        domain=document.canonical_domain,
        dates=dates,
        date_kind=document.date_kind if dates is DateOf.PUBLISHED else None,
        day=day,
        first=first,
        last=last,
        total=max(sum(result.total for result in results) - 1, len(neighbours)),
        documents=sorted(neighbours, key=lambda query: _distance_key(query, dates, day))[
            :NEIGHBOURS_MAX
        ],
    )


def _build_query(
    document: IndexDocument, dates: DateOf, first: date, last: date, sort: str
) -> SearchQuery:
    return SearchQuery(
        domains=[document.canonical_domain],
        date_from=first,
        date_to=last,
        dates=dates,
        sort=sort,
        count_max=NEIGHBOURS_MAX + 1,
        facet_values_max=0,
        with_snippets=False,
        with_notes=False,
    )


def _distance_key(document: IndexDocument, dates: DateOf, day: date) -> tuple[int, str]:
    """Return a sort key for documents: distance from `day` in days, then id.

    `dates` is the kind of date that is compared. A document without this date has the distance 0.
    """
    document_day = document.get_day(dates) or day
    return abs(document_day.toordinal() - day.toordinal()), document.id


def _shift_day(day: date, days: int) -> date:
    """Return the date that is `days` days after `day`.

    Past the dates that the type `date` can represent, the first or last of them is returned.
    """
    ordinal = min(max(day.toordinal() + days, 1), date.max.toordinal())
    return date.fromordinal(ordinal)
