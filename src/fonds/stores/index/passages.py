"""Picks the passage of a text to show under a hit, and marks in it what was looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import accumulate, pairwise, takewhile

from fonds.model.document import Hit, IndexDocument, Snippet
from fonds.sentences import sentence_ends
from fonds.stores.index.query.parsing import parse
from fonds.stores.index.query.tree import Node, Term, wanted_terms
from fonds.word_forms import CHANGE_BEGINNINGS, stems, stems_of, words_written
from fonds.words import SCANNED_CHARACTERS_MAX, composed, fold, folded_length, words

PASSAGE_CHARACTERS = 240
LEAD_CHARACTERS = 60
STRETCH_CHARACTERS = 60
"""So much further a passage goes at either end for the sake of a whole sentence."""
WINDOW_CHARACTERS = 20_000
MARKS_MAX = 500
PASSAGES_MAX, WINDOWS_MORE = 3, 1
TERMS_LOOKED_MAX = 20
PAGE_SEPARATOR = "\f"

_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def hit(
    document: IndexDocument, text: str, score: float, tree: Node, *, with_snippets: bool
) -> Hit:
    """A found document with what is shown of it."""
    if not with_snippets:
        return Hit(document, score)
    language = document.language
    return Hit(
        document,
        score,
        passages(text, wanted_terms(tree), language),
        title_marks(document.article_title or "", wanted_terms(tree, "article_title"), language),
    )


def passages(text: str, terms: Sequence[Term], language: str | None = None) -> tuple[Snippet, ...]:
    """Up to three stretches of `text` where most of `terms` stand together, the densest first; or its
    beginning without marks. Words are found in the forms they have in `language`.

    Runs of blanks and control characters become one space. Only the first 2,000,000 characters are
    looked through, and no further than 20,000 behind the first match.
    """
    wanted = _Wanted(terms, language)
    shown: list[tuple[int, Snippet]] = []
    at = more = 0
    whole = composed(text[:SCANNED_CHARACTERS_MAX])
    for window in _windows(whole) if terms else ():
        found = wanted.found(window)
        while found and len(shown) < PASSAGES_MAX:
            start, end, marked, snippet = _cut(window, found)
            shown.append((at + marked, snippet))
            found = [one for one in found if one[1] <= start or one[0] >= end]
        more += bool(shown)
        if more > WINDOWS_MORE or len(shown) == PASSAGES_MAX:
            break
        at += len(window)
    if not shown:
        return (_beginning(text),)
    return tuple(_with_page(whole, place, one) for place, one in shown)


def passage(text: str, terms: Sequence[Term], language: str | None = None) -> Snippet:
    """The first of the passages."""
    return passages(text, terms, language)[0]


def title_marks(
    title: str, terms: Sequence[Term], language: str | None
) -> tuple[tuple[int, int], ...]:
    """(start, end) of the words of `terms` in a title as it is kept; none where accents stand apart in it."""
    if not terms or composed(title) != title:
        return ()
    return tuple((start, end) for start, end, _ in _Wanted(terms, language).found(title))


def marking(query: str, language: str | None) -> Callable[[str], list[tuple[int, int]]]:
    """What gives (start, end) of all that a query looks for in a text whose accents are composed, as words of
    it in `language`; of every 20,000 characters the first 500, and none behind the first 2,000,000.

    Raises QueryError for a query that cannot be understood.
    """
    terms = wanted_terms(parse(query))

    def marks(text: str) -> list[tuple[int, int]]:
        wanted, found, at = _Wanted(terms, language), [], 0
        for window in _windows(text[:SCANNED_CHARACTERS_MAX]) if terms else ():
            found += [(at + start, at + end) for start, end, _ in wanted.found(window)]
            at += len(window)
        return found

    return marks


def terms_in(terms: Sequence[Term], title: str, text: str, language: str | None) -> int:
    """How many of the first 20 `terms` stand in a title or text, in the forms they have in `language`; of the
    text the first 2,000,000 characters are looked through."""
    left = [_Wanted([term], language) for term in terms[:TERMS_LOOKED_MAX]]
    count = len(left)
    for window in (title, *_windows(composed(text[:SCANNED_CHARACTERS_MAX]))):
        left = [one for one in left if not one.found(window)]
        if not left:
            break
    return count - len(left)


def _with_page(text: str, start: int, snippet: Snippet) -> Snippet:
    if PAGE_SEPARATOR not in text:
        return snippet
    return replace(snippet, page=text.count(PAGE_SEPARATOR, 0, start) + 1)


class _Wanted:
    """What is looked for: words as they are written, and the stems of those that may have any form."""

    def __init__(self, terms: Sequence[Term], language: str | None) -> None:
        self._written = {(tuple(words(term.text)), term.prefix) for term in terms}
        free = [term.text for term in terms if not (term.exact or term.prefix)]
        self._stems = {stem for text in free for stem in stems_of(text, language)}
        self._language = language or ""
        self._beginnings = {stem[0] for stem in self._stems}
        self._any_beginning = self._language in CHANGE_BEGINNINGS

    def found(self, window: str) -> list[tuple[int, int, str]]:
        """(start, end, folded words) of what was found, in characters of the window."""
        pattern = _pattern(self._written | {((form,), False) for form in self._forms(window)})
        return _found(window, pattern) if pattern else []

    def _forms(self, window: str) -> set[str]:
        if not self._stems:
            return set()
        return {
            folded
            for written, folded in set(words_written(window))
            if (self._any_beginning or folded[0] in self._beginnings)
            and not self._stems.isdisjoint(stems(written, folded, self._language))
        }


def _pattern(wanted: Set[tuple[tuple[str, ...], bool]]) -> re.Pattern[str] | None:
    """Matches any of these words in folded text between spaces; the longest first."""
    alternatives = [
        " +".join(map(re.escape, parts)) + ("[^ ]*" if prefix else "")
        for parts, prefix in sorted(wanted, key=lambda item: (-len(item[0]), item))
        if parts
    ]
    return re.compile(rf"(?<= )(?:{'|'.join(alternatives)})(?= )") if alternatives else None


def _windows(text: str) -> Iterator[str]:
    """Pieces of the text that do not cut a word, unless it is very long."""
    start = 0
    while start < len(text):
        end = min(start + WINDOW_CHARACTERS, len(text))
        if end < len(text):
            blank = text.rfind(" ", start + WINDOW_CHARACTERS // 2, end)
            end = blank if blank > start else end
        yield text[start:end]
        start = end


def _found(window: str, pattern: re.Pattern[str]) -> list[tuple[int, int, str]]:
    """(start, end, folded words) of what was found, in characters of the window."""
    folded = f" {fold(window)} "
    spans = []
    for match in pattern.finditer(folded):
        spans.append((match.start() - 1, match.end() - 1, match.group()))
        if len(spans) == MARKS_MAX:
            break
    if window.isascii() or not spans:
        return spans
    return _unfolded(window, spans)


def _unfolded(window: str, spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The same spans in characters of the window, from those of the folded window.

    One character may fold to several words (as ㍿ does): it is marked once.
    """
    origin = [
        position
        for position, character in enumerate(window)
        for _ in range(folded_length(character))
    ]
    unfolded: list[tuple[int, int, str]] = []
    for start, end, found in spans:
        if not unfolded or origin[start] >= unfolded[-1][1]:
            unfolded.append((origin[start], origin[end - 1] + 1, found))
    return unfolded


def _cut(window: str, found: Sequence[tuple[int, int, str]]) -> tuple[int, int, int, Snippet]:
    """The passage around the densest place, its blanks tidied and the marks moved with them; and from where
    to where in the window it lies, and where its densest place begins.
    """
    best_start, best_end, _ = found[max(range(len(found)), key=lambda n: _variety(found, n))]
    wanted = max(0, min(best_start - LEAD_CHARACTERS, len(window) - PASSAGE_CHARACTERS))
    start, begins = _begin(window, wanted, best_start)
    dense = wanted + PASSAGE_CHARACTERS
    held = max(
        (right for left, right, _ in found if left >= best_start and right <= dense), default=0
    )
    end, ends = _end(window, start, max(best_end, held))
    inside = [
        edge for left, right, _ in found if start <= left and right <= end for edge in (left, right)
    ]
    pieces = [_clean(window[left:right]) for left, right in pairwise([start, *inside, end])]
    pieces[0], pieces[-1] = pieces[0].lstrip(), pieces[-1].rstrip()
    edges = [0, *accumulate(map(len, pieces))]
    marks = tuple((edges[n], edges[n + 1]) for n in range(1, len(pieces), 2))
    snippet = Snippet("".join(pieces), marks, begins_within=not begins, ends_within=not ends)
    return start, end, best_start, snippet


def _begin(window: str, wanted: int, latest: int) -> tuple[int, bool]:
    """Where a passage begins, and whether a sentence begins there: one that does so near `wanted`, else the
    first word behind it, at `latest` at the latest."""
    if wanted <= 0:
        return 0, True
    near = sentence_ends(window, max(0, wanted - STRETCH_CHARACTERS), latest)
    begins = [begin for _, begin in near if begin <= latest]
    if wanted <= STRETCH_CHARACTERS:
        begins.append(0)
    if begins:
        return min(begins, key=lambda begin: abs(begin - wanted)), True
    return _after_blank(window, wanted, latest), False


def _end(window: str, start: int, earliest: int) -> tuple[int, bool]:
    """Where a passage ends that began at `start`, and whether a sentence ends there; `earliest` at least."""
    wanted = max(start + PASSAGE_CHARACTERS, earliest)
    if wanted >= len(window):
        return len(window), True
    latest = wanted + STRETCH_CHARACTERS
    least = max(earliest, start + PASSAGE_CHARACTERS // 2)
    near = sentence_ends(window, least, min(latest, len(window)))
    ends = [end for end, _ in near if end >= least]
    if len(window) <= latest:
        ends.append(len(window))
    if ends:
        return min(ends, key=lambda end: abs(end - wanted)), True
    return _before_blank(window, wanted, earliest), False


def _variety(found: Sequence[tuple[int, int, str]], first: int) -> int:
    """How many different things lie in a passage that begins shortly before the one at `first`."""
    limit = found[first][0] + PASSAGE_CHARACTERS - LEAD_CHARACTERS
    return len({what for _, end, what in takewhile(lambda span: span[1] <= limit, found[first:])})


def _after_blank(window: str, wanted: int, latest: int) -> int:
    """The start of the first word that begins behind `wanted`, at `latest` at the latest."""
    if wanted <= 0:
        return 0
    blank = _BLANKS.search(window, wanted - 1, latest)
    return blank.end() if blank else wanted


def _before_blank(window: str, wanted: int, earliest: int) -> int:
    """The end of the last word that ends before `wanted`, at `earliest` at the earliest."""
    if wanted >= len(window):
        return len(window)
    blanks = [blank.start() for blank in _BLANKS.finditer(window, earliest, wanted + 1)]
    return blanks[-1] if blanks else max(wanted, earliest)


def _beginning(text: str) -> Snippet:
    looked = composed(text[: 20 * PASSAGE_CHARACTERS]).lstrip()
    end, ends = _end(looked, 0, 0)
    return Snippet(_clean(looked[:end]).strip(), ends_within=not ends)


def _clean(piece: str) -> str:
    return _BLANKS.sub(" ", piece)
