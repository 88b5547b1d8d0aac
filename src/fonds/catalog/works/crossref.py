"""Works out of Crossref: one object of its REST API or its public data file.

Source: Crossref REST API, "Works" (format of the JSON).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fonds.bibliography.identifiers import issn_in
from fonds.bibliography.identifiers.doi import doi_alone
from fonds.catalog.works.work import (
    AUTHORS_MAX,
    NAME_MAX_CHARS,
    TITLE_MAX_CHARS,
    Work,
    WorkAuthor,
    name_of,
    text_of,
    year_of,
)

NO_WORKS = frozenset(
    (
        "component",
        "grant",
        "journal",
        "journal-issue",
        "journal-volume",
        "book-series",
        "book-set",
        "report-series",
        "proceedings-series",
        "peer-review",
    )
)
"""Types of records that are about no work anybody reads or cites as one."""
_DATES = ("issued", "published-print", "published-online", "published", "created")


def is_crossref(record: Mapping[str, Any]) -> bool:
    """Whether a record has this form."""
    return "DOI" in record


def from_crossref(record: Mapping[str, Any]) -> Work | None:
    """The work; None where the record is about none. Raises ValueError for one without a DOI."""
    kind = text_of(record.get("type"))
    if kind in NO_WORKS:
        return None
    doi = doi_alone(record["DOI"]) if isinstance(record["DOI"], str) else None
    if doi is None:
        raise ValueError("its DOI is none")
    authors = record.get("author")
    issns = record.get("ISSN")
    return Work(
        id=f"doi:{doi}",
        source="crossref",
        title=text_of(record.get("title"), TITLE_MAX_CHARS),
        subtitle=text_of(record.get("subtitle"), TITLE_MAX_CHARS),
        authors=_authors(authors if isinstance(authors, list) else ()),
        year=_year(record),
        container=text_of(record.get("container-title")),
        container_short=text_of(record.get("short-container-title")),
        issn=issns_of(issns if isinstance(issns, list) else ()),
        volume=text_of(record.get("volume")),
        issue=text_of(record.get("issue")),
        pages=text_of(record.get("page")) or text_of(record.get("article-number")),
        type=kind,
        doi=doi,
    )


def issns_of(values: Iterable[object]) -> tuple[str, ...]:
    """The ISSNs whose check digit is right, four at most."""
    found = (issn_in(value) for value in values if isinstance(value, str))
    return tuple(dict.fromkeys(one for one in found if one))[:4]


def _authors(values: Iterable[object]) -> tuple[WorkAuthor, ...]:
    found: list[WorkAuthor] = []
    for value in values:
        if not isinstance(value, Mapping):
            continue
        family = text_of(value.get("family"), NAME_MAX_CHARS)
        if family:
            found.append(WorkAuthor(family, text_of(value.get("given"), NAME_MAX_CHARS) or ""))
        elif (name := name_of(value.get("name"))) is not None:
            found.append(name)
        if len(found) >= AUTHORS_MAX:
            break
    return tuple(found)


def _year(record: Mapping[str, Any]) -> int | None:
    for name in _DATES:
        date = record.get(name)
        parts = date.get("date-parts") if isinstance(date, Mapping) else None
        first = parts[0] if isinstance(parts, list) and parts else None
        year = year_of(first[0]) if isinstance(first, list) and first else None
        if year is not None:
            return year
    return None
