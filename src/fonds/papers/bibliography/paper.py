"""Bibliography of one paper: its JSON, its short form, its references as lines, and its quality.

Source: seed 000, `grobid0:tei_json`, `grobid0:metadata` and `grobid0:quality`, whose values the
seed leaves to the writer. The field names are those that readers of GROBID's results have used
since 2018.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from fonds.model.bibliography import Citation, Journal, Paper, PaperHead, PaperSummary
from fonds.model.encoding import prepare_type

VERSION = "fonds-bibliography/3"
"""Version of the extractor of bibliographies from PDF text. If its results change, change this
version and that of the PDF extractor.
"""


def encode_paper(paper: Paper) -> bytes:
    """Encode a paper as JSON in UTF-8, with sorted keys; equal papers give equal bytes."""
    return msgspec.json.encode(paper, order="sorted")


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
