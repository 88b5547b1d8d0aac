"""Bibliography of one paper: its metadata, text and references, with one JSON format, and its
quality.

Source: seed document 000, table cells `grobid0:tei_json`, `grobid0:metadata` and `grobid0:quality`,
whose values the seed leaves to the writer. The field names are those that readers of GROBID's
results have used since 2018.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from fonds.model.bibliography import Author, Journal, PaperHead, PaperSummary
from fonds.model.encoding import prepare_type


class Funder(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Funder of a paper.

    - `name`: name of the funder.
    - `grants`: numbers of the grants for the paper.
    """

    name: str
    grants: tuple[str, ...] = ()


class Funding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Funding of a paper.

    - `funders`: funders with their grants.
    - `statement`: statement about funding as printed; None if there is none.
    """

    funders: tuple[Funder, ...] = ()
    statement: str | None = None


class Citation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One reference in the reference list of a paper. Unknown fields are None or empty.

    - `id`: identifier of the reference in the source document.
    - `index`: position in the reference list, from 0.
    - `date`: as precise as stated (`2011`, `2011-03`, `2011-03-28`).
    - `doi`, `pmid`, `pmcid`, `arxiv_id`, `issn`, `isbn`: normalised identifiers without a prefix
      such as `doi:`.
    - `unstructured`: reference as printed.
    """

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
    """Metadata, text and references of a paper.

    Unknown fields are None or empty, and not in the JSON.

    - `date`: as precise as stated (`2011`, `2011-03`, `2011-03-28`).
    - `doi`: in lower case.
    - `language_code`: two or three letters.
    - `grobid_version`: extractor version that read the paper (GROBID or Fonds).
    - `grobid_timestamp`: time of the extraction, as GROBID wrote it.
    - `fatcat_release`: only in older results of other software; Fonds never writes this field.
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
    """Convert a paper to its JSON object, which always has `authors` and `citations`."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(paper))
    return {"authors": [], "citations": []} | fields


def encode_paper(paper: Paper) -> bytes:
    """Encode a paper as JSON in UTF-8, always with `authors` and `citations`; equal papers give
    equal bytes.
    """
    return msgspec.json.encode(encode_object(paper), order="deterministic")


def decode_paper(data: bytes) -> Paper:
    """Decode a paper from JSON. Raises ValueError if the JSON is invalid or describes no paper."""
    try:
        return msgspec.json.decode(data, type=prepare_type(Paper))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a bibliography: {error}") from error


def strip_full_text(paper: Paper) -> Paper:
    """Return a copy of a paper without body and annex, for the table cell `grobid0:metadata`.

    The abstract stays (seed document 000).
    """
    return msgspec.structs.replace(paper, body=None, annex=None)


def summarize_paper(paper: Paper) -> PaperSummary:
    """Build the short form of a paper for its database row.

    It consists of title, authors, journal, date, identifiers, language and the number of
    references.
    """
    head = PaperHead(
        title=paper.title or None,
        authors=paper.authors,
        journal=paper.journal if paper.journal != Journal() else None,
        date=paper.date or None,
        doi=paper.doi or None,
        arxiv_id=paper.arxiv_id or None,
        pmid=paper.pmid or None,
        pmcid=paper.pmcid or None,
    )
    return PaperSummary(
        biblio=head,
        grobid_timestamp=paper.grobid_timestamp,
        language_code=paper.language_code,
        reference_count=len(paper.citations),
    )


CITATION_MAX_CHARS, NAMES_MAX = 600, 6


def format_citation(citation: Citation) -> str:
    """Format a reference on one line of up to 600 characters: as printed, or joined from its
    fields.
    """
    if citation.unstructured:
        return citation.unstructured[:CITATION_MAX_CHARS]
    names = [author.name for author in citation.authors]
    authors = ", ".join(names[:NAMES_MAX]) + (" et al" if len(names) > NAMES_MAX else "")
    container = citation.journal or citation.book_title or citation.publisher
    numbers = " ".join(
        filter(None, (citation.volume, citation.pages and f"pages {citation.pages}"))
    )
    doi = f"doi:{citation.doi}" if citation.doi else None
    parts = (authors, citation.date, citation.title, container, numbers, doi or citation.url)
    return ". ".join(part for part in parts if part)[:CITATION_MAX_CHARS]


TITLE_MIN_LETTERS, TEXT_WORDS_MIN = 4, 100


class Quality(StrEnum):
    """Quality of a bibliography that was read from a paper.

    - `good`: title, authors, text and references were found.
    - `bad`: there is no title, or nothing except a title.
    - `marginal`: everything between.
    """

    GOOD = "good"
    MARGINAL = "marginal"
    BAD = "bad"


def assess_quality(paper: Paper) -> Quality:
    """Rate the quality of a bibliography by four signs.

    The signs are a title of at least 4 letters, an author with a family name, at least 100 words of
    abstract and body, and a reference with a title or printed text. With all four, the quality is
    good. If the title or all three others are missing, it is bad. Otherwise it is marginal.
    """
    has_title = sum(map(str.isalpha, paper.title or "")) >= TITLE_MIN_LETTERS
    other_signs = (
        any(item.surname or " " in item.name for item in paper.authors),
        _count_words(paper.abstract) + _count_words(paper.body) >= TEXT_WORDS_MIN,
        any(item.title or item.unstructured for item in paper.citations),
    )
    if not has_title or not any(other_signs):
        return Quality.BAD
    return Quality.GOOD if all(other_signs) else Quality.MARGINAL


def _count_words(text: str | None) -> int:
    return len((text or "").split())
