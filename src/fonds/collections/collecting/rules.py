"""The rule of a collection: a search, and for a template the value that stands in each document's key.

    kind:story flood published:2026-11          any search; `published:` takes a year, month or day
    news/{month}                                a key with {month}, {year}, {language} or {kind}: one
                                                collection for each value

A document without a value goes where the value is `none`.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date

from fonds.collections.names import Name
from fonds.model.document import IndexDocument, SearchQuery
from fonds.model.names import no_such
from fonds.ports import Index

FIELDS = ("language", "month", "year", "kind")
NONE = "none"
_FIELD = re.compile(r"\{([^{}]*)\}")
_PUBLISHED = re.compile(r"(?<!\S)published:(\S*)")
_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")


@dataclass(frozen=True, slots=True)
class Rule:
    """What fills a collection, or the collections of a template; `name` has the template's own key."""

    name: Name
    query: str

    @property
    def is_template(self) -> bool:
        """Whether there is one collection for each value."""
        return is_template(self.name.key)

    def target(self, document: IndexDocument) -> Name:
        """The collection a document that matches goes to."""
        return replace(
            self.name,
            key=_FIELD.sub(lambda field: _value(field.group(1), document), self.name.key),
        )


def is_template(key: str) -> bool:
    """Whether a key has a field that stands for values."""
    return _FIELD.search(key) is not None


def search_of(query: str) -> SearchQuery:
    """The search a rule asks. Raises ValueError with a sentence for a date that is none, or dates that
    exclude each other."""
    first: date | None = None
    last: date | None = None
    for said in _PUBLISHED.findall(query):
        begin, end = _days(said)
        first = begin if first is None else max(first, begin)
        last = end if last is None else min(last, end)
    if first and last and first > last:
        raise ValueError("the dates of the rule exclude each other")
    text = " ".join(_PUBLISHED.sub(" ", query).split())
    return SearchQuery(text, date_from=first, date_to=last)


def checked_rule(rule: Rule, index: Index) -> int:
    """How many documents match it now. Raises ValueError with a sentence for a search or template that is
    none."""
    for field in _FIELD.findall(rule.name.key):
        if field not in FIELDS:
            raise ValueError(no_such("field of a template", field, FIELDS))
    if rule.is_template and not rule.query:
        raise ValueError("a template needs a query; '*' takes in everything")
    return index.search(replace(search_of(rule.query), count_max=0)).total


def _value(field: str, document: IndexDocument) -> str:
    day = document.publication_date
    if field == "language":
        return document.language or NONE
    if field == "kind":
        return str(document.kind)
    if day is None:
        return NONE
    return f"{day.year:04d}-{day.month:02d}" if field == "month" else f"{day.year:04d}"


def _days(said: str) -> tuple[date, date]:
    found = _DAY.fullmatch(said)
    try:
        if found is None:
            raise ValueError
        year, month, day = (int(part) if part else None for part in found.groups())
        year = year or 0
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            return date(year, month, 1), date(year, month, monthrange(year, month)[1])
        return date(year, month, day), date(year, month, day)
    except ValueError:
        raise ValueError(
            f"published:{said} names no year, month or day: write 2026, 2026-11 or 2026-11-22"
        ) from None
