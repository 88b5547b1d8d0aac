"""What came to be found by a search in the last days."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from fonds.model.document import DateOf
from fonds.ports import Index
from fonds.web.pages.searching.form import QUERY_MAX_CHARS, SearchForm
from fonds.web.rendering import link

DAYS = 7


@dataclass(frozen=True, slots=True)
class Lately:
    """So many of a result came to be found since a day; `href` lists them, the last first."""

    count: int
    since: date
    href: str


def lately(index: Index, form: SearchForm, today: date) -> Lately | None:
    """How many came in the seven days until `today`, in UTC; None where these dates are asked for already, or
    the words leave no room for them."""
    since = today - timedelta(days=DAYS - 1)
    words = form.q.strip()
    held = f"({words})" if " OR " in words else words
    query = f"{held} added:>={since.isoformat()}".strip()
    if len(query) > QUERY_MAX_CHARS or form.dates is DateOf.ADDED or "added:" in words:
        return None
    asked = replace(
        form.query(),
        text=query,
        after=None,
        sort="score",
        offset=0,
        count_max=0,
        facet_values_max=0,
    )
    href = link("/search", **form.params({"q": query, "sort": "added"}))
    return Lately(index.search(asked).total, since, href)
