"""Picks the passage of a text to show under a hit, and marks in it what was looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import accumulate, pairwise, takewhile

from fonds.model.document import IndexDocument
from fonds.model.search import Hit, Snippet
from fonds.search.query.parser import parse
from fonds.search.query.tree import Node, Term, list_wanted_terms
from fonds.text.sentences import iter_sentence_ends
from fonds.text.stems import CHANGE_BEGINNINGS, iter_written_words, list_stems, stem_word
from fonds.text.words import (
    SCANNED_MAX_CHARS,
    compose_text,
    fold_text,
    measure_folded_length,
    split_words,
)

PASSAGE_CHARACTERS = 240
LEAD_CHARACTERS = 60
STRETCH_CHARACTERS = 60
"""So much further a passage goes at either end for the sake of a whole sentence."""
WINDOW_CHARACTERS = 20_000
MARKS_MAX = 500
PASSAGES_MAX, EXTRA_WINDOWS = 3, 1
TERMS_MAX = 20
PAGE_SEPARATOR = "\f"

_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def build_hit(
    document: IndexDocument, text: str, score: float, tree: Node, *, with_snippets: bool
) -> Hit:
    """A found document with what is shown of it."""
    if not with_snippets:
        return Hit(document, score)
    language = document.language
    return Hit(
        document,
        score,
        find_passages(text, list_wanted_terms(tree), language),
        find_title_marks(
            document.article_title or "", list_wanted_terms(tree, "article_title"), language
        ),
    )


def find_passages(
    text: str, terms: Sequence[Term], language: str | None = None
) -> tuple[Snippet, ...]:
    """Up to three stretches of `text` where most of `terms` stand together, the densest first; or its
    beginning without marks. Words are found in the forms they have in `language`.

    Runs of blanks and control characters become one space. Only the first 2,000,000 characters are
    looked through, and no further than 20,000 behind the first match.
    """
    wanted = _WordMatcher(terms, language)
    shown: list[tuple[int, Snippet]] = []
    at = more = 0
    whole = compose_text(text[:SCANNED_MAX_CHARS])
    for window in _iter_windows(whole) if terms else ():
        found = wanted.find_matches(window)
        while found and len(shown) < PASSAGES_MAX:
            start, end, marked, snippet = _cut_passage(window, found)
            shown.append((at + marked, snippet))
            found = [one for one in found if one[1] <= start or one[0] >= end]
        more += bool(shown)
        if more > EXTRA_WINDOWS or len(shown) == PASSAGES_MAX:
            break
        at += len(window)
    if not shown:
        return (_build_beginning(text),)
    return tuple(_set_page(whole, place, one) for place, one in shown)


def find_passage(text: str, terms: Sequence[Term], language: str | None = None) -> Snippet:
    """The first of the passages."""
    return find_passages(text, terms, language)[0]


def find_title_marks(
    title: str, terms: Sequence[Term], language: str | None
) -> tuple[tuple[int, int], ...]:
    """(start, end) of the words of `terms` in a title as it is kept; none where accents stand apart in it."""
    if not terms or compose_text(title) != title:
        return ()
    return tuple(
        (start, end) for start, end, _ in _WordMatcher(terms, language).find_matches(title)
    )


def build_marker(query: str, language: str | None) -> Callable[[str], list[tuple[int, int]]]:
    """What gives (start, end) of all that a query looks for in a text whose accents are composed, as words of
    it in `language`; of every 20,000 characters the first 500, and none behind the first 2,000,000.

    Raises QueryError for a query that cannot be understood.
    """
    terms = list_wanted_terms(parse(query))

    def marks(text: str) -> list[tuple[int, int]]:
        wanted, found, at = _WordMatcher(terms, language), [], 0
        for window in _iter_windows(text[:SCANNED_MAX_CHARS]) if terms else ():
            found += [(at + start, at + end) for start, end, _ in wanted.find_matches(window)]
            at += len(window)
        return found

    return marks


def count_terms(terms: Sequence[Term], title: str, text: str, language: str | None) -> int:
    """How many of the first 20 `terms` stand in a title or text, in the forms they have in `language`; of the
    text the first 2,000,000 characters are looked through."""
    left = [_WordMatcher([term], language) for term in terms[:TERMS_MAX]]
    count = len(left)
    for window in (title, *_iter_windows(compose_text(text[:SCANNED_MAX_CHARS]))):
        left = [one for one in left if not one.find_matches(window)]
        if not left:
            break
    return count - len(left)


def _set_page(text: str, start: int, snippet: Snippet) -> Snippet:
    if PAGE_SEPARATOR not in text:
        return snippet
    return replace(snippet, page=text.count(PAGE_SEPARATOR, 0, start) + 1)


class _WordMatcher:
    """What is looked for: words as they are written, and the stems of those that may have any form."""

    def __init__(self, terms: Sequence[Term], language: str | None) -> None:
        self._written = {(tuple(split_words(term.text)), term.is_prefix) for term in terms}
        free = [term.text for term in terms if not (term.is_exact or term.is_prefix)]
        self._stems = {stem for text in free for stem in list_stems(text, language)}
        self._language = language or ""
        self._beginnings = {stem[0] for stem in self._stems}
        self._any_beginning = self._language in CHANGE_BEGINNINGS

    def find_matches(self, window: str) -> list[tuple[int, int, str]]:
        """(start, end, folded words) of what was found, in characters of the window."""
        pattern = _build_pattern(
            self._written | {((form,), False) for form in self._find_forms(window)}
        )
        return _find_matches(window, pattern) if pattern else []

    def _find_forms(self, window: str) -> set[str]:
        if not self._stems:
            return set()
        return {
            folded
            for written, folded in set(iter_written_words(window))
            if (self._any_beginning or folded[0] in self._beginnings)
            and not self._stems.isdisjoint(stem_word(written, folded, self._language))
        }


def _build_pattern(words: Set[tuple[tuple[str, ...], bool]]) -> re.Pattern[str] | None:
    """Matches any of these words in folded text between spaces; the longest first."""
    alternatives = [
        " +".join(map(re.escape, parts)) + ("[^ ]*" if prefix else "")
        for parts, prefix in sorted(words, key=lambda item: (-len(item[0]), item))
        if parts
    ]
    return re.compile(rf"(?<= )(?:{'|'.join(alternatives)})(?= )") if alternatives else None


def _iter_windows(text: str) -> Iterator[str]:
    """Pieces of the text that do not cut a word, unless it is very long."""
    start = 0
    while start < len(text):
        end = min(start + WINDOW_CHARACTERS, len(text))
        if end < len(text):
            blank = text.rfind(" ", start + WINDOW_CHARACTERS // 2, end)
            end = blank if blank > start else end
        yield text[start:end]
        start = end


def _find_matches(window: str, pattern: re.Pattern[str]) -> list[tuple[int, int, str]]:
    """(start, end, folded words) of what was found, in characters of the window."""
    folded = f" {fold_text(window)} "
    spans = []
    for match in pattern.finditer(folded):
        spans.append((match.start() - 1, match.end() - 1, match.group()))
        if len(spans) == MARKS_MAX:
            break
    if window.isascii() or not spans:
        return spans
    return _unfold_spans(window, spans)


def _unfold_spans(window: str, spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The same spans in characters of the window, from those of the folded window.

    One character may fold to several words (as ㍿ does): it is marked once.
    """
    origin = [
        position
        for position, character in enumerate(window)
        for _ in range(measure_folded_length(character))
    ]
    unfolded: list[tuple[int, int, str]] = []
    for start, end, found in spans:
        if not unfolded or origin[start] >= unfolded[-1][1]:
            unfolded.append((origin[start], origin[end - 1] + 1, found))
    return unfolded


def _cut_passage(
    window: str, matches: Sequence[tuple[int, int, str]]
) -> tuple[int, int, int, Snippet]:
    """The passage around the densest place, its blanks tidied and the marks moved with them; and from where
    to where in the window it lies, and where its densest place begins.
    """
    best_start, best_end, _ = matches[
        max(range(len(matches)), key=lambda n: _count_distinct(matches, n))
    ]
    wanted = max(0, min(best_start - LEAD_CHARACTERS, len(window) - PASSAGE_CHARACTERS))
    start, begins = _begin(window, wanted, best_start)
    dense = wanted + PASSAGE_CHARACTERS
    held = max(
        (right for left, right, _ in matches if left >= best_start and right <= dense), default=0
    )
    end, ends = _find_passage_end(window, start, max(best_end, held))
    inside = [
        edge
        for left, right, _ in matches
        if start <= left and right <= end
        for edge in (left, right)
    ]
    pieces = [_clean(window[left:right]) for left, right in pairwise([start, *inside, end])]
    pieces[0], pieces[-1] = pieces[0].lstrip(), pieces[-1].rstrip()
    edges = [0, *accumulate(map(len, pieces))]
    marks = tuple((edges[n], edges[n + 1]) for n in range(1, len(pieces), 2))
    snippet = Snippet("".join(pieces), marks, begins_within=not begins, ends_within=not ends)
    return start, end, best_start, snippet


def _begin(window: str, target_position: int, latest: int) -> tuple[int, bool]:
    """Where a passage begins, and whether a sentence begins there: one that does so near
    `target_position`, else the first word behind it, at `latest` at the latest."""
    if target_position <= 0:
        return 0, True
    near = iter_sentence_ends(window, max(0, target_position - STRETCH_CHARACTERS), latest)
    begins = [begin for _, begin in near if begin <= latest]
    if target_position <= STRETCH_CHARACTERS:
        begins.append(0)
    if begins:
        return min(begins, key=lambda begin: abs(begin - target_position)), True
    return _find_word_start(window, target_position, latest), False


def _find_passage_end(window: str, start: int, earliest: int) -> tuple[int, bool]:
    """Where a passage ends that began at `start`, and whether a sentence ends there; `earliest` at least."""
    wanted = max(start + PASSAGE_CHARACTERS, earliest)
    if wanted >= len(window):
        return len(window), True
    latest = wanted + STRETCH_CHARACTERS
    least = max(earliest, start + PASSAGE_CHARACTERS // 2)
    near = iter_sentence_ends(window, least, min(latest, len(window)))
    ends = [end for end, _ in near if end >= least]
    if len(window) <= latest:
        ends.append(len(window))
    if ends:
        return min(ends, key=lambda end: abs(end - wanted)), True
    return _find_word_end(window, wanted, earliest), False


def _count_distinct(matches: Sequence[tuple[int, int, str]], first: int) -> int:
    """How many different things lie in a passage that begins shortly before the one at `first`."""
    limit = matches[first][0] + PASSAGE_CHARACTERS - LEAD_CHARACTERS
    return len({what for _, end, what in takewhile(lambda span: span[1] <= limit, matches[first:])})


def _find_word_start(window: str, target_position: int, latest: int) -> int:
    """The start of the first word that begins behind `target_position`, at `latest` at the latest."""
    if target_position <= 0:
        return 0
    blank = _BLANKS.search(window, target_position - 1, latest)
    return blank.end() if blank else target_position


def _find_word_end(window: str, target_position: int, earliest: int) -> int:
    """The end of the last word that ends before `target_position`, at `earliest` at the earliest."""
    if target_position >= len(window):
        return len(window)
    blanks = [blank.start() for blank in _BLANKS.finditer(window, earliest, target_position + 1)]
    return blanks[-1] if blanks else max(target_position, earliest)


def _build_beginning(text: str) -> Snippet:
    looked = compose_text(text[: 20 * PASSAGE_CHARACTERS]).lstrip()
    end, ends = _find_passage_end(looked, 0, 0)
    return Snippet(_clean(looked[:end]).strip(), ends_within=not ends)


def _clean(piece: str) -> str:
    return _BLANKS.sub(" ", piece)
