"""The dates of a result day by day, where all of them lie close together."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from fonds.model.document import DAYS_COUNTED_MAX, SearchQuery, SearchResults
from fonds.ports import Index


def dates_counted(
    index: Index, query: SearchQuery, found: SearchResults
) -> Sequence[tuple[str, int]]:
    """How many documents a result has by `YYYY-MM-DD`, where the months they are of are 72 days at most,
    else by `YYYY-MM` as they were counted. Costs one more search where nothing limited them to these days.
    """
    if query.is_by_day or not found.dates:
        return found.dates
    first = date.fromisoformat(f"{found.dates[0][0]}-01")
    last = date.fromisoformat(f"{found.dates[-1][0]}-01")
    last = last.replace(day=monthrange(last.year, last.month)[1])
    if (last - first).days >= DAYS_COUNTED_MAX:
        return found.dates
    within = replace(
        query,
        date_from=max(first, query.date_from or first),
        date_to=min(last, query.date_to or last),
        offset=0,
        after=None,
        count_max=1,
        facet_values_max=1,
        with_snippets=False,
        with_notes=False,
    )
    return index.search(within).dates
