"""Parse works from OpenAlex: lines of its snapshot or objects of its API.

Source: OpenAlex documentation, "Work object".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fonds.papers.bibliography.identifiers import (
    find_pmcid,
    parse_doi,
    parse_number,
)
from fonds.papers.catalog.crossref import parse_issns
from fonds.papers.catalog.work import (
    TITLE_MAX_CHARS,
    Work,
    clean_text,
    parse_names,
    parse_year,
)

TYPES: Mapping[str, str] = {"article": "journal-article", "preprint": "posted-content"}
NO_WORKS = frozenset(("paratext", "grant", "peer-review", "supplementary-materials"))
_ADDRESS = "https://openalex.org/"


def is_openalex(record: Mapping[str, Any]) -> bool:
    """Return whether a record comes from OpenAlex: its `id` is the URL of a work there."""
    id_ = record.get("id")
    return isinstance(id_, str) and id_.startswith(f"{_ADDRESS}W")


def parse_openalex(record: Mapping[str, Any]) -> Work | None:
    """Parse a work from an OpenAlex record. Return None for a record of another type, such as a
    grant.
    """
    kind = clean_text(record.get("type"))
    if kind in NO_WORKS:
        return None
    ids = _as_mapping(record.get("ids"))
    doi = parse_doi(clean_text(record.get("doi")) or clean_text(ids.get("doi")) or "")
    source = _as_mapping(_as_mapping(record.get("primary_location")).get("source"))
    source = source or _as_mapping(record.get("host_venue"))
    issns = source.get("issn")
    authorships = record.get("authorships")
    numbers = _as_mapping(record.get("biblio"))
    pmid_text = (clean_text(ids.get("pmid")) or "").rstrip("/").rpartition("/")[2]
    own_id = str(record["id"]).removeprefix(_ADDRESS)[:40]
    return Work(
        id=f"doi:{doi}" if doi else f"openalex:{own_id}",
        source="openalex",
        title=clean_text(record.get("title") or record.get("display_name"), TITLE_MAX_CHARS),
        authors=parse_names(
            _as_mapping(_as_mapping(authorship).get("author")).get("display_name")
            for authorship in (authorships if isinstance(authorships, list) else ())
        ),
        year=parse_year(record.get("publication_year"))
        or parse_year(record.get("publication_date")),
        container=clean_text(source.get("display_name")),
        issn=parse_issns(issns if isinstance(issns, list) else ()),
        volume=clean_text(numbers.get("volume")),
        issue=clean_text(numbers.get("issue")),
        pages=clean_text(numbers.get("first_page")),
        type=TYPES.get(kind or "", kind),
        doi=doi,
        pmid=parse_number(pmid_text),
        pmcid=find_pmcid(f"PMC{_extract_digits(ids.get('pmcid'))}"),
    )


def _extract_digits(value: object) -> str:
    return "".join(filter(str.isdigit, clean_text(value) or ""))


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
