"""What is looked for in a catalogue: a paper by what it says of itself, or a reference by what it says."""

from __future__ import annotations

import re

import msgspec

from fonds.papers.bibliography.paper import Author, Citation, Paper
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
    """What is known of the work that is looked for. `authors` are whole names; `printed` is a reference as it
    was printed, where that is known."""

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
        """The identifiers, as catalogues have them."""
        named = (
            ("doi", self.doi),
            ("arxiv", self.arxiv_id),
            ("pmid", self.pmid),
            ("pmcid", self.pmcid),
        )
        return tuple(f"{name}:{value}" for name, value in named if value)

    @property
    def titles(self) -> tuple[str, ...]:
        """What its title may be, the likeliest first: as read, up to a colon, stretches as printed."""
        found = [self.title] if self.title else []
        if (
            self.title
            and len(build_slug(head := _HEAD.split(self.title, maxsplit=1)[0])) >= HEAD_MIN_LETTERS
        ):
            found.append(head)
        if self.printed:
            found += _split_segments(self.printed)
        return tuple(dict.fromkeys(found))

    @property
    def volumes(self) -> tuple[str, ...]:
        """What its volume may be: as read, else numbers of the reference."""
        if self.volume or not self.printed:
            return (self.volume,) if self.volume else ()
        numbers = (one for one in _NUMBER.findall(self.printed) if parse_year(one) != self.year)
        return tuple(dict.fromkeys(numbers))[:VOLUMES_MAX]

    @property
    def parts_of_title(self) -> tuple[str, ...]:
        """The title without its first words, one less each time, and the first words of it that are too few
        for a key of their own."""
        parts = split_slug_words(self.title) if self.title else ()
        count = len(parts) - TAIL_WORDS_MIN
        found = [" ".join(parts[place:]) for place in range(1, min(ENDS_MAX, count) + 1)]
        begun = (" ".join(parts[:-place]) for place in range(1, count + 1))
        found += [one for one in begun if len(build_slug(one)) < SLUG_LETTERS_MAX][:ENDS_MAX]
        return tuple(one for one in found if len(one.replace(" ", "")) >= END_MIN_LETTERS)


def build_paper_query(paper: Paper) -> MatchQuery:
    """What a paper says of itself."""
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
    """What a reference says of the work it names. One that is no article goes by the title of its book."""
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
    return tuple(one.name for one in authors[:AUTHORS_COMPARED] if one.name)


def _find_surname(authors: tuple[Author, ...]) -> str | None:
    """The family name of the first author, or of what stands for it."""
    if not authors:
        return None
    first = authors[0]
    return first.surname or (first.name.split()[-1] if first.name.split() else None)


def _find_last_year(text: str) -> int | None:
    """The year nearest to the end of a reference, where styles without titles have it."""
    found = _YEAR.findall(text[:TEXT_MAX_CHARS])
    return parse_year(found[-1]) if found else None


def _split_segments(printed_text: str) -> list[str]:
    """The longest sentences of a reference, and the longest stretches without a comma or colon: one of them
    is its title or how that begins, however it was read."""
    text = printed_text[:TEXT_MAX_CHARS]
    return [*_choose_longest(_ENDS.split(text)), *_choose_longest(_MARKS.split(text))]


def _choose_longest(parts: list[str]) -> list[str]:
    wordy = [
        part.strip(" ,;")
        for part in parts
        if len(split_slug_words(part)) >= SEGMENT_WORDS_MIN
        and len(build_slug(part)) >= SEGMENT_MIN_LETTERS
    ]
    return sorted(wordy, key=len, reverse=True)[:SEGMENTS_MAX]
