"""Works out of fatcat: one line of a release export.

Source: fatcat guide, "Release" entities and bulk exports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fonds.bibliography.identifiers import arxiv_id_of, number_of, pmcid_in
from fonds.bibliography.identifiers.doi import doi_alone
from fonds.catalog.works.crossref import issns_of
from fonds.catalog.works.work import (
    AUTHORS_MAX,
    ID_MAX_CHARS,
    NAME_MAX_CHARS,
    TITLE_MAX_CHARS,
    Work,
    WorkAuthor,
    name_of,
    text_of,
    year_of,
)

TYPES: Mapping[str, str] = {
    "article-journal": "journal-article",
    "paper-conference": "proceedings-article",
    "chapter": "book-chapter",
    "thesis": "dissertation",
    "article": "posted-content",
}
"""fatcat's words by Crossref's; others stay as they are."""
NO_WORKS = frozenset(("component", "stub", "abstract", "peer_review"))


def is_fatcat(record: Mapping[str, Any]) -> bool:
    """Whether a record has this form."""
    return "ident" in record and ("ext_ids" in record or "release_type" in record)


def from_fatcat(record: Mapping[str, Any]) -> Work | None:
    """The work; None where the release is about none, or is not in the catalogue any more.

    Raises ValueError for one without a name of its own.
    """
    kind = text_of(record.get("release_type"))
    if kind in NO_WORKS or record.get("state") in ("deleted", "redirect"):
        return None
    ident = text_of(record.get("ident"), ID_MAX_CHARS)
    if ident is None:
        raise ValueError("its ident is none")
    ids = _object(record.get("ext_ids"))
    told = {name: text_of(ids.get(name)) or "" for name in ("doi", "arxiv", "pmid", "pmcid")}
    doi, arxiv, pmid = doi_alone(told["doi"]), arxiv_id_of(told["arxiv"]), number_of(told["pmid"])
    container = _object(record.get("container"))
    issns = [container.get(name) for name in ("issnl", "issnp", "issne")]
    extra = _object(record.get("extra"))
    contribs = record.get("contribs")
    return Work(
        id=_id(ident, doi, arxiv, pmid),
        source="fatcat",
        title=text_of(record.get("title"), TITLE_MAX_CHARS),
        subtitle=text_of(record.get("subtitle") or extra.get("subtitle"), TITLE_MAX_CHARS),
        authors=_authors(contribs if isinstance(contribs, list) else ()),
        year=year_of(record.get("release_year")) or year_of(record.get("release_date")),
        container=text_of(container.get("name")) or text_of(extra.get("container_name")),
        issn=issns_of(issns),
        volume=text_of(record.get("volume")),
        issue=text_of(record.get("issue")),
        pages=text_of(record.get("pages")),
        type=TYPES.get(kind or "", kind),
        doi=doi,
        arxiv_id=arxiv,
        pmid=pmid,
        pmcid=pmcid_in(told["pmcid"]),
    )


def _id(ident: str, doi: str | None, arxiv: str | None, pmid: str | None) -> str:
    if doi:
        return f"doi:{doi}"
    if arxiv:
        return f"arxiv:{arxiv}"
    return f"pmid:{pmid}" if pmid else f"fatcat:{ident}"


def _authors(values: Iterable[object]) -> tuple[WorkAuthor, ...]:
    found: list[WorkAuthor] = []
    for value in values:
        if not isinstance(value, Mapping) or value.get("role") not in (None, "author"):
            continue
        surname = text_of(value.get("surname"), NAME_MAX_CHARS)
        if surname:
            given = text_of(value.get("given_name"), NAME_MAX_CHARS) or ""
            found.append(WorkAuthor(surname, given))
        elif (name := name_of(value.get("raw_name"))) is not None:
            found.append(name)
        if len(found) >= AUTHORS_MAX:
            break
    return tuple(found)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
