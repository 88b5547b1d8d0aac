"""The bibliography of one paper: one value, and one JSON, wherever it was read.

Source: seed 000, `grobid0:tei_json` and `grobid0:metadata`; the names are those readers of GROBID's
results have used since 2018.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from fonds.model.encoding import prepare_type


class Address(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    rename={"line": "addrLine", "postcode": "postCode"},
):
    """Where an affiliation is; as much of it as is told. In the JSON the names are TEI's."""

    line: str | None = None
    postcode: str | None = None
    settlement: str | None = None
    region: str | None = None
    country: str | None = None


class Affiliation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where an author works. `unstructured` is it as printed, where its parts are not known."""

    institution: str | None = None
    department: str | None = None
    laboratory: str | None = None
    address: Address | None = None
    unstructured: str | None = None


class Author(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One author or editor. `name` is all of it in the order it is read; `given_name` the first of the given
    ones, `middle_name` the others. `affiliations` are those beyond the first. `orcid` is bare."""

    name: str
    given_name: str | None = None
    middle_name: str | None = None
    surname: str | None = None
    email: str | None = None
    orcid: str | None = None
    affiliation: Affiliation | None = None
    affiliations: tuple[Affiliation, ...] = ()


class Journal(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where the paper itself appeared."""

    name: str | None = None
    abbreviation: str | None = None
    publisher: str | None = None
    issn: str | None = None
    eissn: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None


class Funder(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who paid, and by which grants."""

    name: str
    grants: tuple[str, ...] = ()


class Funding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who paid for it. `statement` is what the paper says of it, as printed."""

    funders: tuple[Funder, ...] = ()
    statement: str | None = None


class Citation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One entry of the list of references. `index` counts from 0, `id` is the source's own name of it;
    `date` is as exact as told (`2011`, `2011-03`, `2011-03-28`); identifiers are bare and normalised;
    `unstructured` is the entry as printed."""

    id: str
    index: int
    authors: tuple[Author, ...]
    title: str | None = None
    journal: str | None = None
    book_title: str | None = None
    series_title: str | None = None
    editors: tuple[Author, ...] = ()
    publisher: str | None = None
    institution: str | None = None
    date: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    url: str | None = None
    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    arxiv_id: str | None = None
    issn: str | None = None
    isbn: str | None = None
    unstructured: str | None = None


class Paper(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that a paper says of itself and cites; what it does not say is None or empty, and not in the JSON.

    `date` is as in a Citation, `doi` in lower case, `language_code` of two or three letters where it is
    known. `grobid_version` names the program that read it and `grobid_timestamp` when, as that
    program wrote it. `fatcat_release` is what older results of others may hold; nothing here writes it.
    """

    grobid_version: str
    authors: tuple[Author, ...] = ()
    citations: tuple[Citation, ...] = ()
    title: str | None = None
    journal: Journal | None = None
    date: str | None = None
    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    arxiv_id: str | None = None
    isbn: str | None = None
    keywords: tuple[str, ...] = ()
    abstract: str | None = None
    body: str | None = None
    acknowledgement: str | None = None
    annex: str | None = None
    funding: Funding | None = None
    language_code: str | None = None
    grobid_timestamp: str | None = None
    fatcat_release: str | None = None


def encode_object(paper: Paper) -> dict[str, Any]:
    """The JSON object of a paper; `authors` and `citations` are always in it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(paper))
    return {"authors": [], "citations": []} | found


def encode_paper(paper: Paper) -> bytes:
    """`encode_object` as JSON in UTF-8, the same bytes for the same paper."""
    return msgspec.json.encode(encode_object(paper), order="deterministic")


def decode_paper(data: bytes) -> Paper:
    """The paper again. Raises ValueError for what is none."""
    try:
        return msgspec.json.decode(data, type=prepare_type(Paper))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no bibliography: {error}") from error


def strip_full_text(paper: Paper) -> Paper:
    """The paper without its full text: `grobid0:metadata`. The abstract stays, as seed 000 has it."""
    return msgspec.structs.replace(paper, body=None, annex=None)


def summarize_paper(paper: Paper) -> dict[str, Any]:
    """The few fields a row holds: `summarize_paper` of the SQL table's `strip_full_text`, with how many
    references."""
    kept = ("title", "authors", "journal", "date", "doi", "arxiv_id", "pmid", "pmcid")
    whole = encode_object(paper)
    found: dict[str, Any] = {"biblio": {name: whole[name] for name in kept if whole.get(name)}}
    for name in ("grobid_timestamp", "language_code"):
        if name in whole:
            found[name] = whole[name]
    return found | {"reference_count": len(paper.citations)}


# A citation as people read it: as it was printed, else put together from its fields.


CITATION_MAX_CHARS, NAMES_MAX = 600, 6


def format_citation(citation: Citation) -> str:
    """One line, at most 600 characters long."""
    if citation.unstructured:
        return citation.unstructured[:CITATION_MAX_CHARS]
    names = [one.name for one in citation.authors]
    authors = ", ".join(names[:NAMES_MAX]) + (" et al" if len(names) > NAMES_MAX else "")
    where = citation.journal or citation.book_title or citation.publisher
    numbers = " ".join(
        filter(None, (citation.volume, citation.pages and f"pages {citation.pages}"))
    )
    doi = f"doi:{citation.doi}" if citation.doi else None
    parts = (authors, citation.date, citation.title, where, numbers, doi or citation.url)
    return ". ".join(part for part in parts if part)[:CITATION_MAX_CHARS]


# How good a reading of a paper is: `grobid0:quality`.
#
# Source: seed 000, which leaves the meaning to the writer.


TITLE_MIN_LETTERS, TEXT_WORDS_MIN = 4, 100


class Quality(StrEnum):
    """Good: title, authors, text and references were found. Bad: no title, or nothing beside one.
    Marginal: what lies between."""

    GOOD = "good"
    MARGINAL = "marginal"
    BAD = "bad"


def assess_quality(paper: Paper) -> Quality:
    """By four signs: a title of 4 letters, an author with a family name, 100 words of abstract and body, and
    a reference with a title or as printed. All four are good; no title, or none of the others, is bad."""
    has_title = sum(map(str.isalpha, paper.title or "")) >= TITLE_MIN_LETTERS
    others = (
        any(one.surname or " " in one.name for one in paper.authors),
        _count_words(paper.abstract) + _count_words(paper.body) >= TEXT_WORDS_MIN,
        any(one.title or one.unstructured for one in paper.citations),
    )
    if not has_title or not any(others):
        return Quality.BAD
    return Quality.GOOD if all(others) else Quality.MARGINAL


def _count_words(text: str | None) -> int:
    return len((text or "").split())
