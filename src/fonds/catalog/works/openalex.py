"""Works out of OpenAlex: one line of its snapshot, or one object of its API.

Source: OpenAlex documentation, "Work object".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fonds.bibliography.identifiers import number_of, pmcid_in
from fonds.bibliography.identifiers.doi import doi_alone
from fonds.catalog.works.crossref import issns_of
from fonds.catalog.works.work import TITLE_MAX_CHARS, Work, names_of, text_of, year_of

TYPES: Mapping[str, str] = {"article": "journal-article", "preprint": "posted-content"}
NO_WORKS = frozenset(("paratext", "grant", "peer-review", "supplementary-materials"))
_ADDRESS = "https://openalex.org/"


def is_openalex(record: Mapping[str, Any]) -> bool:
    """Whether a record has this form."""
    id_ = record.get("id")
    return isinstance(id_, str) and id_.startswith(f"{_ADDRESS}W")


def from_openalex(record: Mapping[str, Any]) -> Work | None:
    """The work; None where the record is about none."""
    kind = text_of(record.get("type"))
    if kind in NO_WORKS:
        return None
    ids = _object(record.get("ids"))
    doi = doi_alone(text_of(record.get("doi")) or text_of(ids.get("doi")) or "")
    source = _object(_object(record.get("primary_location")).get("source"))
    source = source or _object(record.get("host_venue"))
    issns = source.get("issn")
    named = record.get("authorships")
    numbers = _object(record.get("biblio"))
    pmid_text = (text_of(ids.get("pmid")) or "").rstrip("/").rpartition("/")[2]
    own = str(record["id"]).removeprefix(_ADDRESS)[:40]
    return Work(
        id=f"doi:{doi}" if doi else f"openalex:{own}",
        source="openalex",
        title=text_of(record.get("title") or record.get("display_name"), TITLE_MAX_CHARS),
        authors=names_of(
            _object(_object(one).get("author")).get("display_name")
            for one in (named if isinstance(named, list) else ())
        ),
        year=year_of(record.get("publication_year")) or year_of(record.get("publication_date")),
        container=text_of(source.get("display_name")),
        issn=issns_of(issns if isinstance(issns, list) else ()),
        volume=text_of(numbers.get("volume")),
        issue=text_of(numbers.get("issue")),
        pages=text_of(numbers.get("first_page")),
        type=TYPES.get(kind or "", kind),
        doi=doi,
        pmid=number_of(pmid_text),
        pmcid=pmcid_in(f"PMC{_digits(ids.get('pmcid'))}"),
    )


def _digits(value: object) -> str:
    return "".join(filter(str.isdigit, text_of(value) or ""))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
