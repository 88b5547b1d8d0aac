"""Query for the catalogue, built from a paper's own metadata or from a reference it cites."""

from __future__ import annotations

import re

import msgspec

from fonds.model.bibliography import Author, Citation, Paper
from fonds.papers.catalog.slugs import (
    SLUG_LETTERS_MAX,
    TEXT_MAX_CHARS,
    build_slug,
    split_slug_words,
)
from fonds.papers.catalog.work import parse_year

AUTHORS_COMPARED = 20
SEGMENTS_MAX, SEGMENT_MIN_LETTERS, SEGMENT_WORDS_MIN = 3, 16, 2
HEAD_MIN_LETTERS, VOLUMES_MAX = 12, 4
ENDS_MAX, TAIL_WORDS_MIN, END_MIN_LETTERS = 16, 2, 20
_ENDS = re.compile(
    r"[.?!]\s+|[\u201c\u201d\"\u00ab\u00bb\u201e]|,\u2019|\u2018|(?<=\d\d\d\d)\)[.,:]?\s+"
)
_YEAR = re.compile(r"(?<![\d.:/\u2013-])(?:1[5-9]|20)\d\d(?![\d/\u2013-])")
_NUMBER = re.compile(r"(?<![\w./-])[A-Za-z]?\d{1,4}(?![\w/-])")
_MARKS = re.compile(r"[,:;.?!]\s+|[\u201c\u201d\"]")
_HEAD = re.compile(r"\s*[:\u2013\u2014]\s+|\s+-\s+|[.?!]\s+")


class MatchQuery(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Known metadata of a work to find in the catalogue. Unknown fields are None or empty.

    - `authors`: full names.
    - `container`: name of the journal, book or proceedings.
    - `printed`: the whole reference as printed, if the work is cited.
    - `surname`: family name of the first author.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    year: int | None = None
    container: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    doi: str | None = None
    arxiv_id: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    printed: str | None = None
    surname: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Identifiers of the work in the form that the catalogue uses, such as `doi:10.1000/1`."""
        identifiers = (
            ("doi", self.doi),
            ("arxiv", self.arxiv_id),
            ("pmid", self.pmid),
            ("pmcid", self.pmcid),
        )
        return tuple(f"{name}:{value}" for name, value in identifiers if value)

    @property
    def titles(self) -> tuple[str, ...]:
        """Possible titles of the work, most likely first.

        They are the title, its part before a colon, and the longest segments of the printed
        reference.
        """
        titles = [self.title] if self.title else []
        if (
            self.title
            and len(build_slug(head := _HEAD.split(self.title, maxsplit=1)[0])) >= HEAD_MIN_LETTERS
        ):
            titles.append(head)
        if self.printed:
            titles += _split_segments(self.printed)
        return tuple(dict.fromkeys(titles))

    @property
    def volumes(self) -> tuple[str, ...]:
        """Possible volumes of the work.

        The volume if it is known; otherwise all numbers in the printed reference except the year.
        """
        if self.volume or not self.printed:
            return (self.volume,) if self.volume else ()
        numbers = (
            number for number in _NUMBER.findall(self.printed) if parse_year(number) != self.year
        )
        return tuple(dict.fromkeys(numbers))[:VOLUMES_MAX]

    @property
    def parts_of_title(self) -> tuple[str, ...]:
        """Parts of the query's title that may be the title in the catalogue.

        They are the title without its first word, first two words and so on, then the title without
        its last words. Parts without the last words are included only if they are too short to fill
        a lookup key, which has 40 letters.
        """
        parts = split_slug_words(self.title) if self.title else ()
        count = len(parts) - TAIL_WORDS_MIN
        candidates = [" ".join(parts[place:]) for place in range(1, min(ENDS_MAX, count) + 1)]
        beginnings = (" ".join(parts[:-place]) for place in range(1, count + 1))
        candidates += [part for part in beginnings if len(build_slug(part)) < SLUG_LETTERS_MAX][
            :ENDS_MAX
        ]
        return tuple(part for part in candidates if len(part.replace(" ", "")) >= END_MIN_LETTERS)


def build_paper_query(paper: Paper) -> MatchQuery:
    """Build the query for a paper from its own metadata."""
    journal = paper.journal
    return MatchQuery(
        title=paper.title,
        authors=_list_names(paper.authors),
        surname=_find_surname(paper.authors),
        year=parse_year(paper.date),
        container=journal.name or journal.abbreviation if journal else None,
        volume=journal.volume if journal else None,
        issue=journal.issue if journal else None,
        pages=journal.pages if journal else None,
        doi=paper.doi,
        arxiv_id=paper.arxiv_id,
        pmid=paper.pmid,
        pmcid=paper.pmcid,
    )


def build_citation_query(citation: Citation) -> MatchQuery:
    """Build the query for a work that a paper cites.

    If the reference has no title, the title of its book is used.
    """
    title = citation.title or citation.book_title
    return MatchQuery(
        title=title,
        authors=_list_names(citation.authors),
        surname=_find_surname(citation.authors),
        year=parse_year(citation.date) or _find_last_year(citation.unstructured or ""),
        container=citation.journal or (citation.book_title if citation.title else None),
        volume=citation.volume,
        issue=citation.issue,
        pages=citation.pages,
        doi=citation.doi,
        arxiv_id=citation.arxiv_id,
        pmid=citation.pmid,
        pmcid=citation.pmcid,
        printed=citation.unstructured[:TEXT_MAX_CHARS] if citation.unstructured else None,
    )


def _list_names(authors: tuple[Author, ...]) -> tuple[str, ...]:
    return tuple(author.name for author in authors[:AUTHORS_COMPARED] if author.name)


def _find_surname(authors: tuple[Author, ...]) -> str | None:
    """Return the family name of the first author; if it is unknown, the last word of the author's
    name.
    """
    if not authors:
        return None
    first = authors[0]
    return first.surname or (first.name.split()[-1] if first.name.split() else None)


def _find_last_year(text: str) -> int | None:
    """Return the last year in a printed reference.

    Citation styles that omit titles put the year at the end. Returns None if there is no year.
    """
    years = _YEAR.findall(text[:TEXT_MAX_CHARS])
    return parse_year(years[-1]) if years else None


def _split_segments(printed_text: str) -> list[str]:
    """Return the longest sentences of a printed reference, and its longest parts without comma or
    colon.

    One of these is usually the title or its beginning, even if the reference was parsed wrongly.
    """
    text = printed_text[:TEXT_MAX_CHARS]
    return [*_choose_longest(_ENDS.split(text)), *_choose_longest(_MARKS.split(text))]


def _choose_longest(parts: list[str]) -> list[str]:
    long_parts = [
        part.strip(" ,;")
        for part in parts
        if len(split_slug_words(part)) >= SEGMENT_WORDS_MIN
        and len(build_slug(part)) >= SEGMENT_MIN_LETTERS
    ]
    return sorted(long_parts, key=len, reverse=True)[:SEGMENTS_MAX]
