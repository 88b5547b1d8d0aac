"""Read a paper's bibliography from the text of its PDF, without a GROBID server.

Limits: linear in the text. The front is searched in 12,000 characters and references in 300,000.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.model.bibliography import Author, Citation, Journal, Paper
from fonds.papers.bibliography.affiliations import add_affiliations
from fonds.papers.bibliography.paper import VERSION
from fonds.papers.bibliography.reference_containers import YEAR, parse_numbers
from fonds.papers.bibliography.reference_list import split_entries
from fonds.papers.bibliography.reference_names import parse_names
from fonds.papers.bibliography.reference_parser import parse_reference

FRONT_MAX_CHARS, ABSTRACT_MAX_CHARS = 12_000, 6_000
_ABSTRACT = re.compile(
    r"^[ \t]*(?:a[ \t]?b[ \t]?s[ \t]?t[ \t]?r[ \t]?a[ \t]?c[ \t]?t|summary|r\u00e9sum\u00e9"
    r"|zusammenfassung|resumen|resumo)\b"
    r"[ \t]*[.:\u2013\u2014-]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_ABSTRACT_END = re.compile(
    r"^[ \t]*(?:(?:additional )?key[ -]?words\b|index terms|statement of need|categories and subject"
    r"|general terms|ccs concepts|jel class"
    r"|(?:\d{1,2}|I)?[.)]?[ \t]*introduction[ \t.:]*$|contents[ \t]*$|pacs\b|msc\b|\u00a9"
    r"|copyright\b|permission to make|\d[.)]?[ \t]+[A-Z][a-z]+[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_PUBLISHED = re.compile(
    r"\b(?:published(?: online)?|date of publication|publication date)\b[^\n]{0,40}?(?P<year>(?:19|20)\d\d)",
    re.IGNORECASE,
)
_COPYRIGHT = re.compile(
    r"(?:\u00a9|\(c\)|copyright)[^\n]{0,60}?(?P<year>(?:19|20)\d\d)", re.IGNORECASE
)
_MEETING = re.compile(
    r"(?:Proceedings|Conference|Workshop|Symposium|Meeting|Journal|Transactions|Letters|Review|ACL|EMNLP|NAACL|SIGMOD|VLDB|arXiv)[^\n]{0,120}?\b(?P<year>(?:19|20)\d\d)\b"
)
_ARXIV_DATE = re.compile(r"arXiv:\S+\s+\[[\w.-]+\]\s+\d{1,2} [A-Z][a-z]{2} (?P<year>(?:19|20)\d\d)")
_JOURNAL = re.compile(
    r"^(?P<name>(?:The )?(?:[A-Z][\w&.-]* ){0,5}(?:Journal|Transactions|Letters|Annals|Bulletin"
    r"|Archives|Reviews?|Magazine|Proceedings)\b(?: (?:of|on|in|for|and|the|[A-Z][\w&-]*)){0,10})",
    re.MULTILINE,
)
_SELF_MAX_CHARS = 700


@dataclass(frozen=True, slots=True)
class KnownFields:
    """Metadata of a paper that was found before its text is read; None or empty if unknown."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    doi: str | None = None
    arxiv_id: str | None = None


def read_paper_text(text: str | None, known: KnownFields, language: str | None) -> Paper | None:
    """Read the bibliography of a paper from its text, without the full text.

    Returns None if there is no text.
    """
    if not text:
        return None
    entries = split_entries(text)
    front = text[:FRONT_MAX_CHARS]
    first_page = front.partition("\f")[0]
    journal, date = _find_publication(first_page, known)
    return Paper(
        grobid_version=VERSION,
        title=known.title,
        authors=_parse_authors(known.authors, first_page),
        journal=journal,
        date=date,
        doi=known.doi,
        arxiv_id=known.arxiv_id,
        citations=tuple(parse_reference(entry, index) for index, entry in enumerate(entries)),
        abstract=_find_abstract(front),
        language_code=language,
    )


def _parse_authors(names: Sequence[str], first_page: str) -> tuple[Author, ...]:
    return add_affiliations(
        [_parse_author(author_name) for author_name in names],
        _ABSTRACT.split(first_page, maxsplit=1)[0],
    )


def _parse_author(name: str) -> Author:
    authors = parse_names(name)
    if len(authors) == 1 and authors[0].surname:
        return authors[0]
    parts = name.split()
    if len(parts) < 2:
        return Author(name=name)
    return Author(
        name=name, given_name=parts[0], middle_name=" ".join(parts[1:-1]) or None, surname=parts[-1]
    )


def _find_abstract(front: str) -> str | None:
    begin = _ABSTRACT.search(front)
    if begin is None:
        return None
    end = _ABSTRACT_END.search(front, begin.end() + 50)
    if end is None and begin.start() > FRONT_MAX_CHARS / 2:
        return None
    text = front[begin.end() : end.start() if end else begin.end() + 2_000]
    joined_text = re.sub(r"(?<=[a-z])-\s*\n\s*(?=[a-z])", "", text)
    plain_text = " ".join(joined_text.split())[:ABSTRACT_MAX_CHARS]
    return plain_text if len(plain_text.split()) >= 10 else None


def _find_publication(first_page: str, known: KnownFields) -> tuple[Journal | None, str | None]:
    """Return the journal and date of a paper.

    They come from the citation of the paper that its first page prints, otherwise from other text
    of the first page.
    """
    citation = _find_self_citation(first_page, known)
    if citation is None or not (citation.journal or citation.date):
        return _find_journal(first_page), _find_year(first_page)
    journal = Journal(
        name=citation.journal,
        volume=citation.volume,
        issue=citation.issue,
        pages=citation.pages,
    )
    return journal if citation.journal else None, citation.date or _find_year(first_page)


def _find_self_citation(first_page: str, known: KnownFields) -> Citation | None:
    """Return the citation of the paper itself that many journals print at the foot of its first
    page; None if there is none.
    """
    if not known.doi or not known.title:
        return None
    lines = [line.strip() for line in first_page.split("\n") if line.strip()]
    for number, line in enumerate(lines):
        if YEAR.search(line) and re.search(r"\(\d{4}\)", line):
            block = " ".join(lines[number : number + 3])[:_SELF_MAX_CHARS]
            reference = parse_reference(block)
            is_same_doi = reference.doi == known.doi
            if is_same_doi and reference.title and _is_same_title(reference.title, known.title):
                return reference
    return None


def _is_same_title(title: str, other_title: str) -> bool:
    letters, other_letters = (re.sub(r"\W", "", text).lower()[:25] for text in (title, other_title))
    return letters == other_letters


def _find_year(first_page: str) -> str | None:
    head = first_page[:4_000]
    for pattern, search_text in (
        (_PUBLISHED, first_page),
        (_ARXIV_DATE, first_page),
        (_COPYRIGHT, first_page),
        (_MEETING, head),
    ):
        match = pattern.search(search_text)
        if match:
            return match["year"]
    return None


def _find_journal(first_page: str) -> Journal | None:
    lines = [line.strip() for line in first_page.split("\n") if line.strip()]
    for line in (*lines[:6], *lines[-8:]):
        match = _JOURNAL.match(line)
        if match and len(match["name"].split()) >= 2 and len(line) < 160:
            numbers = parse_numbers(line[match.end() :])
            return Journal(
                name=match["name"].strip(" ,"),
                volume=numbers.volume,
                issue=numbers.issue,
                pages=numbers.pages,
            )
    return None
