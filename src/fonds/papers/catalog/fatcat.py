"""Parse works from fatcat: lines of a release export.

Source: fatcat guide, "Release" entities and bulk exports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fonds.papers.bibliography.identifiers import (
    find_pmcid,
    parse_arxiv_id,
    parse_doi,
    parse_number,
)
from fonds.papers.catalog.crossref import parse_issns
from fonds.papers.catalog.work import (
    AUTHORS_MAX,
    ID_MAX_CHARS,
    NAME_MAX_CHARS,
    TITLE_MAX_CHARS,
    Work,
    WorkAuthor,
    clean_text,
    parse_name,
    parse_year,
)

TYPES: Mapping[str, str] = {
    "article-journal": "journal-article",
    "paper-conference": "proceedings-article",
    "chapter": "book-chapter",
    "thesis": "dissertation",
    "article": "posted-content",
}
"""Crossref's name of each fatcat type. Types that are not listed have the same name in both."""
NO_WORKS = frozenset(("component", "stub", "abstract", "peer_review"))


def is_fatcat(record: Mapping[str, Any]) -> bool:
    """Return whether a record is from fatcat: it has `ident`, and `ext_ids` or `release_type`."""
    return "ident" in record and ("ext_ids" in record or "release_type" in record)


def parse_fatcat(record: Mapping[str, Any]) -> Work | None:
    """Parse a work from a fatcat release.

    Return None if the release is of a type that is no work, such as an abstract, or is deleted or
    redirected.

    Raises ValueError if the release has no `ident`.
    """
    kind = clean_text(record.get("release_type"))
    if kind in NO_WORKS or record.get("state") in ("deleted", "redirect"):
        return None
    ident = clean_text(record.get("ident"), ID_MAX_CHARS)
    if ident is None:
        raise ValueError("the ident is not valid")
    ids = _as_mapping(record.get("ext_ids"))
    id_texts = {name: clean_text(ids.get(name)) or "" for name in ("doi", "arxiv", "pmid", "pmcid")}
    doi, arxiv, pmid = (
        parse_doi(id_texts["doi"]),
        parse_arxiv_id(id_texts["arxiv"]),
        parse_number(id_texts["pmid"]),
    )
    container = _as_mapping(record.get("container"))
    issns = [container.get(name) for name in ("issnl", "issnp", "issne")]
    extra = _as_mapping(record.get("extra"))
    contribs = record.get("contribs")
    return Work(
        id=_choose_id(ident, doi, arxiv, pmid),
        source="fatcat",
        title=clean_text(record.get("title"), TITLE_MAX_CHARS),
        subtitle=clean_text(record.get("subtitle") or extra.get("subtitle"), TITLE_MAX_CHARS),
        authors=_parse_authors(contribs if isinstance(contribs, list) else ()),
        year=parse_year(record.get("release_year")) or parse_year(record.get("release_date")),
        container=clean_text(container.get("name")) or clean_text(extra.get("container_name")),
        issn=parse_issns(issns),
        volume=clean_text(record.get("volume")),
        issue=clean_text(record.get("issue")),
        pages=clean_text(record.get("pages")),
        type=TYPES.get(kind or "", kind),
        doi=doi,
        arxiv_id=arxiv,
        pmid=pmid,
        pmcid=find_pmcid(id_texts["pmcid"]),
    )


def _choose_id(ident: str, doi: str | None, arxiv: str | None, pmid: str | None) -> str:
    if doi:
        return f"doi:{doi}"
    if arxiv:
        return f"arxiv:{arxiv}"
    return f"pmid:{pmid}" if pmid else f"fatcat:{ident}"


def _parse_authors(values: Iterable[object]) -> tuple[WorkAuthor, ...]:
    authors: list[WorkAuthor] = []
    for value in values:
        if not isinstance(value, Mapping) or value.get("role") not in (None, "author"):
            continue
        surname = clean_text(value.get("surname"), NAME_MAX_CHARS)
        if surname:
            given_name = clean_text(value.get("given_name"), NAME_MAX_CHARS) or ""
            authors.append(WorkAuthor(surname, given_name))
        elif (name := parse_name(value.get("raw_name"))) is not None:
            authors.append(name)
        if len(authors) >= AUTHORS_MAX:
            break
    return tuple(authors)


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
