"""How far a work of a catalogue agrees with what is looked for, field by field.

Bound: names and texts are cut where they are read; titles are compared by their letters in threes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from fonds.catalog.matching.sought import AUTHORS_COMPARED, Sought
from fonds.catalog.works.slugs import bare_number, first_page, slug, slug_words
from fonds.catalog.works.work import Work

CONTAINED, BEGINS, ABOUT_MAX, HEAD, HELD_MIN = 0.95, 0.95, 0.7, 0.8, 0.75
CONTAINED_MIN_LETTERS, BEGINS_MIN_LETTERS, HEAD_MIN_LETTERS = 20, 20, 10
ABOUT_ANOTHER = (
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
    def numbers(self) -> int:
        """How many of year, volume, page and container agree."""
        found = (self.year, self.volume, self.page, self.container)
        return sum(one is not None and one >= NEAR_YEAR for one in found)

    @property
    def total(self) -> float:
        """All of it together, to tell candidates apart."""
        fields: list[float | None] = [getattr(self, name) for name in self.__struct_fields__]
        return round(sum(one - (one == 0) for one in fields if one is not None), 4)


def compare(sought: Sought, work: Work) -> Agreement:
    """Every field."""
    printed = set(slug_words(sought.printed)) if sought.printed else set[str]()
    others = [
        1.0 if one == other else 0.0
        for one, other in (
            (sought.arxiv_id, work.arxiv_id),
            (sought.pmid, work.pmid),
            (sought.pmcid, work.pmcid),
        )
        if one and other
    ]
    return Agreement(
        doi=_same(sought.doi, work.doi),
        identifier=max(others) if others else None,
        title=_titles(sought, work),
        author=_authors(sought, work, printed),
        year=1.0 if str(work.year) in printed else _years(sought.year, work.year),
        volume=_numbers(bare_number(sought.volume), bare_number(work.volume), printed),
        issue=_numbers(bare_number(sought.issue), bare_number(work.issue), set()),
        page=_numbers(first_page(sought.pages), first_page(work.pages), printed),
        container=_containers(sought, work),
    )


def _same(one: str | None, other: str | None) -> float | None:
    return None if not one or not other else float(one == other)


def _titles(sought: Sought, work: Work) -> float | None:
    """The best of the title and the title with its subtitle; what was printed may hold it whole."""
    known = {one: None for one in (work.title, work.whole_title) if one and slug(one)}
    if not known:
        return None
    scores = [_title(sought.title, one) for one in known if slug(sought.title)]
    if sought.printed:
        whole = slug(sought.printed)
        held = [_held(slug(one), whole) for one in known if len(slug(one)) >= CONTAINED_MIN_LETTERS]
        scores += [one for one in held if one]
    if scores and _is_of_another(sought, work):
        return min(ABOUT_MAX, max(scores))
    return round(max(scores), 3) if scores else None


def _held(title: str, printed: str) -> float:
    """Whether a title stands in a reference, some misspelt letters aside; 0 for less than three quarters."""
    if title in printed:
        return CONTAINED
    runs = _threes(title)
    share = len(runs & _threes(printed)) / len(runs)
    return min(ALIKE_MAX, share) if share >= HELD_MIN else 0.0


def _is_of_another(sought: Sought, work: Work) -> bool:
    """Whether one is an erratum, a reply or a comment, and the other does not have the word."""
    told = {*slug_words(sought.title or ""), *slug_words(sought.printed or "")}
    known = {*slug_words(work.title or ""), *slug_words(work.subtitle or "")}
    return bool(about_another(work.title or "") - told or about_another(sought.title or "") - known)


def about_another(title: str) -> set[str]:
    """The words a title begins or ends with by which it is about another work."""
    parts = slug_words(title)
    return {one for one in (*parts[:2], *parts[-2:]) if one in ABOUT_ANOTHER}


def _title(told: str | None, known: str) -> float:
    """A title that was read may have more before and behind it; one in a catalogue has not."""
    one, other = slug(told), slug(known)
    if one == other:
        return 1.0
    if len(other) >= CONTAINED_MIN_LETTERS and other in one:
        return CONTAINED
    if len(one) >= BEGINS_MIN_LETTERS and other.startswith(one):
        return BEGINS
    heads = slug((told or "").partition(":")[0]), slug(known.partition(":")[0])
    is_head = other == heads[0] or one == heads[1]
    best = HEAD if is_head and min(len(one), len(other)) >= HEAD_MIN_LETTERS else 0.0
    return max(best, _alike(one, other))


def _alike(one: str, other: str) -> float:
    first, second = _threes(one), _threes(other)
    shared = len(first & second)
    return min(ALIKE_MAX, 2 * shared / (len(first) + len(second))) if shared else 0.0


@lru_cache(_REMEMBERED)
def _threes(text: str) -> frozenset[str]:
    edged = f"^{text}$"
    return frozenset(edged[place : place + 3] for place in range(len(edged) - 2))


def _authors(sought: Sought, work: Work, printed: set[str]) -> float | None:
    """Which share of the names of the shorter list is in the other, at least half where the first is.

    A name agrees where the words of the family name stand in the other name: given names are shortened and
    turned round. A reference that was not taken apart agrees where the first family names stand in it.
    """
    surnames = [slug_words(one.surname) for one in work.authors[:AUTHORS_COMPARED]]
    surnames = [one for one in surnames if one]
    if not surnames:
        return None
    names = [slug_words(one) for one in sought.authors]
    names = [one for one in names if one]
    scores = []
    if names:
        found = sum(any(_bears(name, surname) for name in names) for surname in surnames)
        share = min(1.0, found / min(len(names), len(surnames)))
        first = _bears(names[0], surnames[0])
        scores.append(max(share, 0.5) if first else min(share, 0.75))
    if printed:
        first = _bears(tuple(printed), surnames[0])
        scores.append(0.8 if first else 0.0)
    return round(max(scores), 3) if scores else None


def _bears(name: Sequence[str], surname: Sequence[str]) -> bool:
    """Whether a name has this family name, a letter of a long one aside."""
    if set(surname) <= set(name):
        return True
    last = surname[-1]
    if len(surname) > 1 and "".join(surname) in name:
        return True
    return len(last) >= 5 and any(_one_apart(last, one) for one in name)


def _one_apart(one: str, other: str) -> bool:
    """Whether one letter was exchanged, lost or added."""
    if abs(len(one) - len(other)) > 1 or len(other) < 4:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    rest, beside = one[start:], other[start:]
    return rest[1:] == beside[1:] or rest[1:] == beside or rest == beside[1:]


def _years(one: int | None, other: int | None) -> float | None:
    if one is None or other is None:
        return None
    apart = abs(one - other)
    return 1.0 if not apart else NEAR_YEAR if apart == 1 else 0.0


def _numbers(one: str, other: str, printed: set[str]) -> float | None:
    """Numbers that were read and are the same, or stand in what was printed."""
    if not other:
        return None
    if one == other or other in printed:
        return 1.0
    return 0.0 if one else None


def _containers(sought: Sought, work: Work) -> float | None:
    known = [one for one in (work.container, work.container_short) if one]
    if not known:
        return None
    if sought.container:
        return max(_container(sought.container, one) for one in known)
    whole = slug(sought.printed)
    return (
        1.0 if whole and any(len(slug(one)) >= 8 and slug(one) in whole for one in known) else None
    )


def _container(one: str, other: str) -> float:
    first, second = slug(one), slug(other)
    if not first or not second:
        return 0.0
    if first == second or _abbreviates(one, other) or _abbreviates(other, one):
        return 1.0
    if min(len(first), len(second)) >= 10 and (first in second or second in first):
        return 0.9
    return round(_alike(first, second), 3)


def _abbreviates(short: str, long: str) -> bool:
    """Whether the words of one begin those of the other in their order, or are its first letters."""
    parts = [one for one in slug_words(short) if one not in _SMALL]
    whole = [one for one in slug_words(long) if one not in _SMALL]
    if len(parts) == 1 and len(whole) > 1 and parts[0] == "".join(one[0] for one in whole):
        return True
    return len(parts) == len(whole) and all(
        one[0] == other[0] and (other.startswith(one) or one[-1] in other)
        for one, other in zip(parts, whole, strict=True)
    )
