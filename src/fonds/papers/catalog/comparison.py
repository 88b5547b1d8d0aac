"""Compare a work of the catalogue with a query, field by field.

Limits: names and texts are cut when they are parsed. Titles are compared by trigrams of letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from fonds.papers.catalog.match_query import AUTHORS_COMPARED, MatchQuery
from fonds.papers.catalog.slugs import (
    build_slug,
    normalize_number,
    parse_first_page,
    split_slug_words,
)
from fonds.papers.catalog.work import Work

CONTAINED_SCORE, BEGINNING_SCORE, OTHER_WORK_SCORE_MAX, HEAD_SCORE, CONTAINED_MIN = (
    0.95,
    0.95,
    0.7,
    0.8,
    0.75,
)
CONTAINED_MIN_LETTERS, BEGINS_MIN_LETTERS, HEAD_MIN_LETTERS = 20, 20, 10
OTHER_WORK_WORDS = (
    "erratum",
    "errata",
    "corrigendum",
    "correction",
    "addendum",
    "retraction",
    "retracted",
    "withdrawn",
    "reply",
    "replies",
    "response",
    "comment",
    "commentary",
    "comments",
    "rejoinder",
    "erreur",
    "antwort",
)
"""Words that mark the title of a publication about another work, such as an erratum or a reply."""
ALIKE_MAX = 0.94
"""Maximum score of titles that are only similar. Equal titles, and titles one of which contains the
other, score higher.
"""
NEAR_YEAR = 0.5
_SMALL_WORDS = frozenset(
    ("of", "the", "and", "in", "for", "on", "de", "la", "du", "der", "und", "et", "a")
)
_CACHE_SIZE = 1_024


class Agreement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Agreement of a query and a work per field, from 0 (different) to 1 (equal).

    A field is None if the query or the work lacks it.
    - `doi`: 1 or 0.
    - `identifier`: 1 if the arXiv id, PubMed number or PubMed Central id is equal, otherwise 0.
    - `title`: agreement of the titles, or how much of one title is contained in the other.
    - `author`: share of names that agree.
    - `year`: 0.5 for a difference of one year, as between online and print publication.
    - `volume`, `issue`, `page`: agreement of the numbers.
    - `container`: agreement of the names of journal, book or proceedings.
    """

    doi: float | None = None
    identifier: float | None = None
    title: float | None = None
    author: float | None = None
    year: float | None = None
    volume: float | None = None
    issue: float | None = None
    page: float | None = None
    container: float | None = None

    @property
    def agreeing_numbers(self) -> int:
        """Number of fields with an agreement of at least 0.5, among year, volume, page, and journal
        or book.
        """
        values = (self.year, self.volume, self.page, self.container)
        return sum(value is not None and value >= NEAR_YEAR for value in values)

    @property
    def score(self) -> float:
        """Sum of the agreement of all known fields, to rank candidates. A field with agreement 0
        counts -1.
        """
        fields: list[float | None] = [getattr(self, name) for name in self.__struct_fields__]
        return round(sum(value - (value == 0) for value in fields if value is not None), 4)


def compare(query: MatchQuery, work: Work) -> Agreement:
    """Compare every field of a query with the same field of a work."""
    printed_words = set(split_slug_words(query.printed)) if query.printed else set[str]()
    id_scores = [
        1.0 if query_id == work_id else 0.0
        for query_id, work_id in (
            (query.arxiv_id, work.arxiv_id),
            (query.pmid, work.pmid),
            (query.pmcid, work.pmcid),
        )
        if query_id and work_id
    ]
    return Agreement(
        doi=_compare_equal(query.doi, work.doi),
        identifier=max(id_scores) if id_scores else None,
        title=_compare_titles(query, work),
        author=_compare_authors(query, work, printed_words),
        year=1.0 if str(work.year) in printed_words else _compare_years(query.year, work.year),
        volume=_compare_numbers(
            normalize_number(query.volume), normalize_number(work.volume), printed_words
        ),
        issue=_compare_numbers(normalize_number(query.issue), normalize_number(work.issue), set()),
        page=_compare_numbers(
            parse_first_page(query.pages), parse_first_page(work.pages), printed_words
        ),
        container=_compare_containers(query, work),
    )


def _compare_equal(query_value: str | None, work_value: str | None) -> float | None:
    return None if not query_value or not work_value else float(query_value == work_value)


def _compare_titles(query: MatchQuery, work: Work) -> float | None:
    """Return how well a work's title, with or without its subtitle, agrees with a query: 0 to 1.

    The better of the two titles counts. If the query has a printed reference, the title may also be
    in the reference. Returns None if the query or the work has no title.
    """
    titles = {title: None for title in (work.title, work.full_title) if title and build_slug(title)}
    if not titles:
        return None
    scores = [_compare_title(query.title, title) for title in titles if build_slug(query.title)]
    if query.printed:
        printed_slug = build_slug(query.printed)
        contained_scores = [
            _score_contained(build_slug(title), printed_slug)
            for title in titles
            if len(build_slug(title)) >= CONTAINED_MIN_LETTERS
        ]
        scores += [title for title in contained_scores if title]
    if scores and _is_about_other_work(query, work):
        return min(OTHER_WORK_SCORE_MAX, max(scores))
    return round(max(scores), 3) if scores else None


def _score_contained(title: str, text: str) -> float:
    """Return how well a printed reference contains a title. Misspelt letters are tolerated.

    Returns 0 if fewer than three quarters of the title's trigrams occur in the text.
    """
    if title in text:
        return CONTAINED_SCORE
    trigrams = _split_trigrams(title)
    share = len(trigrams & _split_trigrams(text)) / len(trigrams)
    return min(ALIKE_MAX, share) if share >= CONTAINED_MIN else 0.0


def _is_about_other_work(query: MatchQuery, work: Work) -> bool:
    """Return whether only one of query and work is an erratum, reply or comment on another work."""
    query_words = {*split_slug_words(query.title or ""), *split_slug_words(query.printed or "")}
    work_words = {*split_slug_words(work.title or ""), *split_slug_words(work.subtitle or "")}
    return bool(
        find_other_work_words(work.title or "") - query_words
        or find_other_work_words(query.title or "") - work_words
    )


def find_other_work_words(title: str) -> set[str]:
    """Return the words that mark a title as that of an erratum, reply or comment.

    Only the first two and last two words of the title are examined.
    """
    parts = split_slug_words(title)
    return {word for word in (*parts[:2], *parts[-2:]) if word in OTHER_WORK_WORDS}


def _compare_title(read_title: str | None, catalog_title: str) -> float:
    """Return how similar two titles are.

    The title from a paper or reference may have extra text before and after it. The title from the
    catalogue has none.
    """
    slug, catalog_slug = build_slug(read_title), build_slug(catalog_title)
    if slug == catalog_slug:
        return 1.0
    if len(catalog_slug) >= CONTAINED_MIN_LETTERS and catalog_slug in slug:
        return CONTAINED_SCORE
    if len(slug) >= BEGINS_MIN_LETTERS and catalog_slug.startswith(slug):
        return BEGINNING_SCORE
    heads = (
        build_slug((read_title or "").partition(":")[0]),
        build_slug(catalog_title.partition(":")[0]),
    )
    is_head = catalog_slug == heads[0] or slug == heads[1]
    best = HEAD_SCORE if is_head and min(len(slug), len(catalog_slug)) >= HEAD_MIN_LETTERS else 0.0
    return max(best, _score_similarity(slug, catalog_slug))


def _score_similarity(query_text: str, work_text: str) -> float:
    first, second = _split_trigrams(query_text), _split_trigrams(work_text)
    shared_count = len(first & second)
    return min(ALIKE_MAX, 2 * shared_count / (len(first) + len(second))) if shared_count else 0.0


@lru_cache(_CACHE_SIZE)
def _split_trigrams(text: str) -> frozenset[str]:
    edged_text = f"^{text}$"
    return frozenset(edged_text[place : place + 3] for place in range(len(edged_text) - 2))


def _compare_authors(query: MatchQuery, work: Work, printed_words: set[str]) -> float | None:
    """Return the share of names in the shorter list of authors that occur in the longer list.

    The share is at least 0.5 if the first author matches, and at most 0.75 if not. A name matches
    if the words of the family name occur in the other name, because given names are abbreviated and
    reordered. A printed reference without parsed authors scores 0.8 if it contains the first
    author's family name.
    """
    surnames = [
        split_slug_words(author_words.surname) for author_words in work.authors[:AUTHORS_COMPARED]
    ]
    surnames = [author_words for author_words in surnames if author_words]
    if not surnames:
        return None
    names = [split_slug_words(author_words) for author_words in query.authors]
    names = [author_words for author_words in names if author_words]
    scores = []
    if names:
        match_count = sum(
            any(_has_surname(name, surname) for name in names) for surname in surnames
        )
        share = min(1.0, match_count / min(len(names), len(surnames)))
        first = _has_surname(names[0], surnames[0])
        scores.append(max(share, 0.5) if first else min(share, 0.75))
    if printed_words:
        first = _has_surname(tuple(printed_words), surnames[0])
        scores.append(0.8 if first else 0.0)
    return round(max(scores), 3) if scores else None


def _has_surname(name: Sequence[str], surname: Sequence[str]) -> bool:
    """Return whether a name contains a family name. A long family name may differ by one letter."""
    if set(surname) <= set(name):
        return True
    last = surname[-1]
    if len(surname) > 1 and "".join(surname) in name:
        return True
    return len(last) >= 5 and any(_is_one_edit_apart(last, word) for word in name)


def _is_one_edit_apart(word: str, other_word: str) -> bool:
    """Return whether two words differ by one letter that was replaced, removed or added."""
    if abs(len(word) - len(other_word)) > 1 or len(other_word) < 4:
        return False
    start = 0
    while start < min(len(word), len(other_word)) and word[start] == other_word[start]:
        start += 1
    word_rest, other_rest = word[start:], other_word[start:]
    return (
        word_rest[1:] == other_rest[1:]
        or word_rest[1:] == other_rest
        or word_rest == other_rest[1:]
    )


def _compare_years(query_year: int | None, work_year: int | None) -> float | None:
    if query_year is None or work_year is None:
        return None
    difference = abs(query_year - work_year)
    return 1.0 if not difference else NEAR_YEAR if difference == 1 else 0.0


def _compare_numbers(query_number: str, work_number: str, printed_words: set[str]) -> float | None:
    """Compare a number, such as a volume, of a query with that of a work.

    Returns 1 if they are equal or the printed reference contains the number of the work, 0 if they
    differ, and None if one is unknown.
    """
    if not work_number:
        return None
    if query_number == work_number or work_number in printed_words:
        return 1.0
    return 0.0 if query_number else None


def _compare_containers(query: MatchQuery, work: Work) -> float | None:
    names = [name for name in (work.container, work.container_short) if name]
    if not names:
        return None
    if query.container:
        return max(_score_container(query.container, name) for name in names)
    printed_slug = build_slug(query.printed)
    return (
        1.0
        if printed_slug
        and any(len(build_slug(name)) >= 8 and build_slug(name) in printed_slug for name in names)
        else None
    )


def _score_container(query_name: str, work_name: str) -> float:
    query_slug, work_slug = build_slug(query_name), build_slug(work_name)
    if not query_slug or not work_slug:
        return 0.0
    if (
        query_slug == work_slug
        or _is_abbreviation(query_name, work_name)
        or _is_abbreviation(work_name, query_name)
    ):
        return 1.0
    if min(len(query_slug), len(work_slug)) >= 10 and (
        query_slug in work_slug or work_slug in query_slug
    ):
        return 0.9
    return round(_score_similarity(query_slug, work_slug), 3)


def _is_abbreviation(short: str, long: str) -> bool:
    """Return whether `short` abbreviates `long`, word by word in order, or as an acronym."""
    short_words = [word for word in split_slug_words(short) if word not in _SMALL_WORDS]
    long_words = [word for word in split_slug_words(long) if word not in _SMALL_WORDS]
    if (
        len(short_words) == 1
        and len(long_words) > 1
        and short_words[0] == "".join(word[0] for word in long_words)
    ):
        return True
    return len(short_words) == len(long_words) and all(
        word[0] == long_word[0] and (long_word.startswith(word) or word[-1] in long_word)
        for word, long_word in zip(short_words, long_words, strict=True)
    )
