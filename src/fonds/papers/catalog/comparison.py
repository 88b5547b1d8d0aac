"""How far a work of a catalogue agrees with what is looked for, field by field.

Bound: names and texts are cut where they are read; titles are compared by their letters in threes.
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

CONTAINED, BEGINS, ABOUT_MAX, HEAD, CONTAINED_MIN = 0.95, 0.95, 0.7, 0.8, 0.75
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
"""Words that make of a title the title of something written about that work."""
ALIKE_MAX = 0.94
"""What is only alike stays below what is the same or contained."""
NEAR_YEAR = 0.5
_SMALL = frozenset(
    ("of", "the", "and", "in", "for", "on", "de", "la", "du", "der", "und", "et", "a")
)
_REMEMBERED = 1_024


class Agreement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How far each field agrees, from 0 (contradicts) to 1 (the same); None where one side does not tell.

    `title` also says how much of one stands in the other; `year` is one half where they are one year
    apart, as online and print are; `doi` is 1 or 0.
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
        """How many of year, volume, page and container agree."""
        found = (self.year, self.volume, self.page, self.container)
        return sum(one is not None and one >= NEAR_YEAR for one in found)

    @property
    def score(self) -> float:
        """All of it together, to tell candidates apart."""
        fields: list[float | None] = [getattr(self, name) for name in self.__struct_fields__]
        return round(sum(one - (one == 0) for one in fields if one is not None), 4)


def compare(query: MatchQuery, work: Work) -> Agreement:
    """Every field."""
    printed = set(split_slug_words(query.printed)) if query.printed else set[str]()
    others = [
        1.0 if one == other else 0.0
        for one, other in (
            (query.arxiv_id, work.arxiv_id),
            (query.pmid, work.pmid),
            (query.pmcid, work.pmcid),
        )
        if one and other
    ]
    return Agreement(
        doi=_compare_equal(query.doi, work.doi),
        identifier=max(others) if others else None,
        title=_compare_titles(query, work),
        author=_compare_authors(query, work, printed),
        year=1.0 if str(work.year) in printed else _compare_years(query.year, work.year),
        volume=_compare_numbers(
            normalize_number(query.volume), normalize_number(work.volume), printed
        ),
        issue=_compare_numbers(normalize_number(query.issue), normalize_number(work.issue), set()),
        page=_compare_numbers(parse_first_page(query.pages), parse_first_page(work.pages), printed),
        container=_compare_containers(query, work),
    )


def _compare_equal(first: str | None, other: str | None) -> float | None:
    return None if not first or not other else float(first == other)


def _compare_titles(query: MatchQuery, work: Work) -> float | None:
    """The best of the title and the title with its subtitle; what was printed may hold it whole."""
    known = {one: None for one in (work.title, work.full_title) if one and build_slug(one)}
    if not known:
        return None
    scores = [_compare_title(query.title, one) for one in known if build_slug(query.title)]
    if query.printed:
        whole = build_slug(query.printed)
        held = [
            _score_contained(build_slug(one), whole)
            for one in known
            if len(build_slug(one)) >= CONTAINED_MIN_LETTERS
        ]
        scores += [one for one in held if one]
    if scores and _is_about_other_work(query, work):
        return min(ABOUT_MAX, max(scores))
    return round(max(scores), 3) if scores else None


def _score_contained(title: str, text: str) -> float:
    """Whether a title stands in a reference, some misspelt letters aside; 0 for less than three quarters."""
    if title in text:
        return CONTAINED
    runs = _split_trigrams(title)
    share = len(runs & _split_trigrams(text)) / len(runs)
    return min(ALIKE_MAX, share) if share >= CONTAINED_MIN else 0.0


def _is_about_other_work(query: MatchQuery, work: Work) -> bool:
    """Whether one is an erratum, a reply or a comment, and the other does not have the word."""
    told = {*split_slug_words(query.title or ""), *split_slug_words(query.printed or "")}
    known = {*split_slug_words(work.title or ""), *split_slug_words(work.subtitle or "")}
    return bool(
        find_other_work_words(work.title or "") - told
        or find_other_work_words(query.title or "") - known
    )


def find_other_work_words(title: str) -> set[str]:
    """The words a title begins or ends with by which it is about another work."""
    parts = split_slug_words(title)
    return {one for one in (*parts[:2], *parts[-2:]) if one in OTHER_WORK_WORDS}


def _compare_title(read_title: str | None, catalog_title: str) -> float:
    """A title that was read may have more before and behind it; one in a catalogue has not."""
    one, other = build_slug(read_title), build_slug(catalog_title)
    if one == other:
        return 1.0
    if len(other) >= CONTAINED_MIN_LETTERS and other in one:
        return CONTAINED
    if len(one) >= BEGINS_MIN_LETTERS and other.startswith(one):
        return BEGINS
    heads = (
        build_slug((read_title or "").partition(":")[0]),
        build_slug(catalog_title.partition(":")[0]),
    )
    is_head = other == heads[0] or one == heads[1]
    best = HEAD if is_head and min(len(one), len(other)) >= HEAD_MIN_LETTERS else 0.0
    return max(best, _score_similarity(one, other))


def _score_similarity(left_text: str, other: str) -> float:
    first, second = _split_trigrams(left_text), _split_trigrams(other)
    shared = len(first & second)
    return min(ALIKE_MAX, 2 * shared / (len(first) + len(second))) if shared else 0.0


@lru_cache(_REMEMBERED)
def _split_trigrams(text: str) -> frozenset[str]:
    edged = f"^{text}$"
    return frozenset(edged[place : place + 3] for place in range(len(edged) - 2))


def _compare_authors(query: MatchQuery, work: Work, printed_words: set[str]) -> float | None:
    """Which share of the names of the shorter list is in the other, at least half where the first is.

    A name agrees where the words of the family name stand in the other name: given names are shortened and
    turned round. A reference that was not taken apart agrees where the first family names stand in it.
    """
    surnames = [split_slug_words(one.surname) for one in work.authors[:AUTHORS_COMPARED]]
    surnames = [one for one in surnames if one]
    if not surnames:
        return None
    names = [split_slug_words(one) for one in query.authors]
    names = [one for one in names if one]
    scores = []
    if names:
        found = sum(any(_has_surname(name, surname) for name in names) for surname in surnames)
        share = min(1.0, found / min(len(names), len(surnames)))
        first = _has_surname(names[0], surnames[0])
        scores.append(max(share, 0.5) if first else min(share, 0.75))
    if printed_words:
        first = _has_surname(tuple(printed_words), surnames[0])
        scores.append(0.8 if first else 0.0)
    return round(max(scores), 3) if scores else None


def _has_surname(name: Sequence[str], surname: Sequence[str]) -> bool:
    """Whether a name has this family name, a letter of a long one aside."""
    if set(surname) <= set(name):
        return True
    last = surname[-1]
    if len(surname) > 1 and "".join(surname) in name:
        return True
    return len(last) >= 5 and any(_is_one_edit_apart(last, one) for one in name)


def _is_one_edit_apart(first: str, other: str) -> bool:
    """Whether one letter was exchanged, lost or added."""
    if abs(len(first) - len(other)) > 1 or len(other) < 4:
        return False
    start = 0
    while start < min(len(first), len(other)) and first[start] == other[start]:
        start += 1
    rest, beside = first[start:], other[start:]
    return rest[1:] == beside[1:] or rest[1:] == beside or rest == beside[1:]


def _compare_years(first: int | None, other: int | None) -> float | None:
    if first is None or other is None:
        return None
    apart = abs(first - other)
    return 1.0 if not apart else NEAR_YEAR if apart == 1 else 0.0


def _compare_numbers(first: str, other: str, printed_words: set[str]) -> float | None:
    """Numbers that were read and are the same, or stand in what was printed."""
    if not other:
        return None
    if first == other or other in printed_words:
        return 1.0
    return 0.0 if first else None


def _compare_containers(query: MatchQuery, work: Work) -> float | None:
    known = [one for one in (work.container, work.container_short) if one]
    if not known:
        return None
    if query.container:
        return max(_score_container(query.container, one) for one in known)
    whole = build_slug(query.printed)
    return (
        1.0
        if whole and any(len(build_slug(one)) >= 8 and build_slug(one) in whole for one in known)
        else None
    )


def _score_container(left_text: str, other: str) -> float:
    first, second = build_slug(left_text), build_slug(other)
    if not first or not second:
        return 0.0
    if first == second or _is_abbreviation(left_text, other) or _is_abbreviation(other, left_text):
        return 1.0
    if min(len(first), len(second)) >= 10 and (first in second or second in first):
        return 0.9
    return round(_score_similarity(first, second), 3)


def _is_abbreviation(short: str, long: str) -> bool:
    """Whether the words of one begin those of the other in their order, or are its first letters."""
    parts = [one for one in split_slug_words(short) if one not in _SMALL]
    whole = [one for one in split_slug_words(long) if one not in _SMALL]
    if len(parts) == 1 and len(whole) > 1 and parts[0] == "".join(one[0] for one in whole):
        return True
    return len(parts) == len(whole) and all(
        one[0] == other[0] and (other.startswith(one) or one[-1] in other)
        for one, other in zip(parts, whole, strict=True)
    )
