"""Parse works from Crossref: objects of its REST API or its public data file.

Source: Crossref REST API, "Works" (format of the JSON).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fonds.papers.bibliography.identifiers import (
    find_issn,
    parse_doi,
)
from fonds.papers.catalog.work import (
    AUTHORS_MAX,
    NAME_MAX_CHARS,
    TITLE_MAX_CHARS,
    Work,
    WorkAuthor,
    clean_text,
    parse_name,
    parse_year,
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
"""Types of Crossref records that do not describe a work which people read or cite."""
_DATES = ("issued", "published-print", "published-online", "published", "created")


def is_crossref(record: Mapping[str, Any]) -> bool:
    """Return whether a record comes from Crossref: it has a field `DOI`."""
    return "DOI" in record


def parse_crossref(record: Mapping[str, Any]) -> Work | None:
    """Parse a work from a Crossref record. Return None for a record of another type, such as a
    journal.

    Raises ValueError if the record has no valid DOI.
    """
    kind = clean_text(record.get("type"))
    if kind in NO_WORKS:
        return None
    doi = parse_doi(record["DOI"]) if isinstance(record["DOI"], str) else None
    if doi is None:
        raise ValueError("the DOI is not valid")
    authors = record.get("author")
    issns = record.get("ISSN")
    return Work(
        id=f"doi:{doi}",
        source="crossref",
        title=clean_text(record.get("title"), TITLE_MAX_CHARS),
        subtitle=clean_text(record.get("subtitle"), TITLE_MAX_CHARS),
        authors=_parse_authors(authors if isinstance(authors, list) else ()),
        year=_parse_year(record),
        container=clean_text(record.get("container-title")),
        container_short=clean_text(record.get("short-container-title")),
        issn=parse_issns(issns if isinstance(issns, list) else ()),
        volume=clean_text(record.get("volume")),
        issue=clean_text(record.get("issue")),
        pages=clean_text(record.get("page")) or clean_text(record.get("article-number")),
        type=kind,
        doi=doi,
    )


def parse_issns(values: Iterable[object]) -> tuple[str, ...]:
    """Return the ISSNs in `values` that have a correct check digit: each once, and at most four."""
    issns = (find_issn(value) for value in values if isinstance(value, str))
    return tuple(dict.fromkeys(issn for issn in issns if issn))[:4]


def _parse_authors(values: Iterable[object]) -> tuple[WorkAuthor, ...]:
    authors: list[WorkAuthor] = []
    for value in values:
        if not isinstance(value, Mapping):
            continue
        family = clean_text(value.get("family"), NAME_MAX_CHARS)
        if family:
            authors.append(WorkAuthor(family, clean_text(value.get("given"), NAME_MAX_CHARS) or ""))
        elif (name := parse_name(value.get("name"))) is not None:
            authors.append(name)
        if len(authors) >= AUTHORS_MAX:
            break
    return tuple(authors)


def _parse_year(record: Mapping[str, Any]) -> int | None:
    for name in _DATES:
        date = record.get(name)
        parts = date.get("date-parts") if isinstance(date, Mapping) else None
        first = parts[0] if isinstance(parts, list) and parts else None
        year = parse_year(first[0]) if isinstance(first, list) and first else None
        if year is not None:
            return year
    return None
