"""Choose passages of a text to show in a search result, and mark the found words in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import accumulate, pairwise, takewhile

from fonds.model.document import IndexDocument
from fonds.model.search import Hit, Snippet
from fonds.search.query.parser import parse
from fonds.search.query.tree import Node, Term, list_highlighted_terms
from fonds.text.sentences import iter_sentence_ends
from fonds.text.stems import CHANGE_BEGINNINGS, iter_written_words, list_stems, stem_word
from fonds.text.words import (
    SCANNED_MAX_CHARS,
    compose_text,
    fold_text,
    measure_folded_length,
    split_words,
)

PASSAGE_CHARS = 240
LEAD_CHARS = 60
STRETCH_CHARS = 60
"""Maximum number of characters added at either end of a passage to complete a sentence."""
WINDOW_CHARS = 20_000
MARKS_MAX = 500
PASSAGES_MAX, EXTRA_WINDOWS = 3, 1
TERMS_MAX = 20
PAGE_SEPARATOR = "\f"

_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def build_hit(
    document: IndexDocument, text: str, score: float, tree: Node, *, with_snippets: bool
) -> Hit:
    """Return the search hit for a document, with passages (snippets) of `text` if requested."""
    if not with_snippets:
        return Hit(document, score)
    language = document.language
    return Hit(
        document,
        score,
        find_passages(text, list_highlighted_terms(tree), language),
        find_title_marks(
            document.article_title or "", list_highlighted_terms(tree, "article_title"), language
        ),
    )


def find_passages(
    text: str, terms: Sequence[Term], language: str | None = None
) -> tuple[Snippet, ...]:
    """Return up to three passages of a text that contain the most different terms.

    The passage with the most matches comes first. If nothing matches, return the beginning of the
    text without marks. Words match in the forms that they have in `language`. Whitespace and
    control characters are collapsed to one space. Only the first 2,000,000 characters are searched,
    and at most 20,000 characters after the window with the first match.
    """
    matcher = _WordMatcher(terms, language)
    passages: list[tuple[int, Snippet]] = []
    offset = windows_after = 0
    composed_text = compose_text(text[:SCANNED_MAX_CHARS])
    for window in _iter_windows(composed_text) if terms else ():
        matches = matcher.find_matches(window)
        while matches and len(passages) < PASSAGES_MAX:
            start, end, match_start, snippet = _cut_passage(window, matches)
            passages.append((offset + match_start, snippet))
            matches = [match for match in matches if match[1] <= start or match[0] >= end]
        windows_after += bool(passages)
        if windows_after > EXTRA_WINDOWS or len(passages) == PASSAGES_MAX:
            break
        offset += len(window)
    if not passages:
        return (_build_beginning(text),)
    return tuple(_set_page(composed_text, place, match) for place, match in passages)


def find_passage(text: str, terms: Sequence[Term], language: str | None = None) -> Snippet:
    """Return the passage of a text that a search result should show first.

    It is the first passage that `find_passages` returns.
    """
    return find_passages(text, terms, language)[0]


def find_title_marks(
    title: str, terms: Sequence[Term], language: str | None
) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of each place in a title where a search term matches.

    Returns an empty tuple if the title has decomposed accents.
    """
    if not terms or compose_text(title) != title:
        return ()
    return tuple(
        (start, end) for start, end, _ in _WordMatcher(terms, language).find_matches(title)
    )


def build_marker(query: str, language: str | None) -> Callable[[str], list[tuple[int, int]]]:
    """Return a function that finds all matches of a query in a text, as (start, end).

    Accents in the text must be composed. Words match in the forms that they have in `language`. Up
    to 500 matches per 20,000 characters are found, and none after the first 2,000,000 characters.
    Raises QueryError if the query cannot be parsed.
    """
    terms = list_highlighted_terms(parse(query))

    def marks(text: str) -> list[tuple[int, int]]:
        matcher, matches, offset = _WordMatcher(terms, language), [], 0
        for window in _iter_windows(text[:SCANNED_MAX_CHARS]) if terms else ():
            matches += [
                (offset + start, offset + end) for start, end, _ in matcher.find_matches(window)
            ]
            offset += len(window)
        return matches

    return marks


def count_terms(terms: Sequence[Term], title: str, text: str, language: str | None) -> int:
    """Return how many of the first 20 terms of a query occur in a title or text.

    Words match in the forms that they have in `language`. Only the first 2,000,000 characters of
    the text are searched.
    """
    missing = [_WordMatcher([term], language) for term in terms[:TERMS_MAX]]
    count = len(missing)
    for window in (title, *_iter_windows(compose_text(text[:SCANNED_MAX_CHARS]))):
        missing = [matcher for matcher in missing if not matcher.find_matches(window)]
        if not missing:
            break
    return count - len(missing)


def _set_page(text: str, start: int, snippet: Snippet) -> Snippet:
    if PAGE_SEPARATOR not in text:
        return snippet
    return replace(snippet, page=text.count(PAGE_SEPARATOR, 0, start) + 1)


class _WordMatcher:
    """Matcher of query terms in a text: exact words as written, and other words in any of their
    forms.
    """

    def __init__(self, terms: Sequence[Term], language: str | None) -> None:
        self._written = {(tuple(split_words(term.text)), term.is_prefix) for term in terms}
        free = [term.text for term in terms if not (term.is_exact or term.is_prefix)]
        self._stems = {stem for text in free for stem in list_stems(text, language)}
        self._language = language or ""
        self._beginnings = {stem[0] for stem in self._stems}
        self._any_beginning = self._language in CHANGE_BEGINNINGS

    def find_matches(self, window: str) -> list[tuple[int, int, str]]:
        """Return (start, end, folded words) of each match of the terms in a piece of text.

        Positions are characters of the piece (window).
        """
        pattern = _build_pattern(
            self._written | {((form,), False) for form in self._find_forms(window)}
        )
        return _find_matches(window, pattern) if pattern else []

    def _find_forms(self, window: str) -> set[str]:
        if not self._stems:
            return set()
        return {
            folded_word
            for word, folded_word in set(iter_written_words(window))
            if (self._any_beginning or folded_word[0] in self._beginnings)
            and not self._stems.isdisjoint(stem_word(word, folded_word, self._language))
        }


def _build_pattern(words: Set[tuple[tuple[str, ...], bool]]) -> re.Pattern[str] | None:
    """Build a regular expression that finds any of the words in folded text; None for no words.

    Each item of `words` is a sequence of words and whether the last word is only the beginning of a
    word. Longer sequences are tried first.
    """
    alternatives = [
        " +".join(map(re.escape, parts)) + ("[^ ]*" if prefix else "")
        for parts, prefix in sorted(words, key=lambda item: (-len(item[0]), item))
        if parts
    ]
    return re.compile(rf"(?<= )(?:{'|'.join(alternatives)})(?= )") if alternatives else None


def _iter_windows(text: str) -> Iterator[str]:
    """Yield a text in consecutive pieces (windows) of limited size.

    The pieces end at a space if possible, so that only very long words are cut.
    """
    start = 0
    while start < len(text):
        end = min(start + WINDOW_CHARS, len(text))
        if end < len(text):
            blank = text.rfind(" ", start + WINDOW_CHARS // 2, end)
            end = blank if blank > start else end
        yield text[start:end]
        start = end


def _find_matches(window: str, pattern: re.Pattern[str]) -> list[tuple[int, int, str]]:
    """Return (start, end, folded words) of each match of a pattern in a piece of text.

    `window` is the piece; positions are its characters. The pattern is for folded text (lower case,
    without accents).
    """
    folded_text = f" {fold_text(window)} "
    spans = []
    for match in pattern.finditer(folded_text):
        spans.append((match.start() - 1, match.end() - 1, match.group()))
        if len(spans) == MARKS_MAX:
            break
    if window.isascii() or not spans:
        return spans
    return _unfold_spans(window, spans)


def _unfold_spans(window: str, spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Convert positions in the folded text of a window to positions in the window itself.

    `spans` are (start, end, folded words). One character can fold to several words, as ㍿ does. The
    character is marked once.
    """
    origin = [
        position
        for position, character in enumerate(window)
        for _ in range(measure_folded_length(character))
    ]
    unfolded_spans: list[tuple[int, int, str]] = []
    for start, end, words in spans:
        if not unfolded_spans or origin[start] >= unfolded_spans[-1][1]:
            unfolded_spans.append((origin[start], origin[end - 1] + 1, words))
    return unfolded_spans


def _cut_passage(
    window: str, matches: Sequence[tuple[int, int, str]]
) -> tuple[int, int, int, Snippet]:
    """Return three positions, and the passage that has the most different matches.

    The positions are the start and end of the passage and the start of its first counted match, in
    characters of the window. The passage has collapsed whitespace, and its marks are adjusted.
    """
    best_start, best_end, _ = matches[
        max(range(len(matches)), key=lambda n: _count_distinct(matches, n))
    ]
    target_start = max(0, min(best_start - LEAD_CHARS, len(window) - PASSAGE_CHARS))
    start, at_sentence_start = _find_passage_start(window, target_start, best_start)
    target_end = target_start + PASSAGE_CHARS
    last_match_end = max(
        (right for left, right, _ in matches if left >= best_start and right <= target_end),
        default=0,
    )
    end, at_sentence_end = _find_passage_end(window, start, max(best_end, last_match_end))
    edges_in_window = [
        edge
        for left, right, _ in matches
        if start <= left and right <= end
        for edge in (left, right)
    ]
    pieces = [
        _clean(window[left:right]) for left, right in pairwise([start, *edges_in_window, end])
    ]
    pieces[0], pieces[-1] = pieces[0].lstrip(), pieces[-1].rstrip()
    edges = [0, *accumulate(map(len, pieces))]
    marks = tuple((edges[n], edges[n + 1]) for n in range(1, len(pieces), 2))
    snippet = Snippet(
        "".join(pieces), marks, begins_within=not at_sentence_start, ends_within=not at_sentence_end
    )
    return start, end, best_start, snippet


def _find_passage_start(window: str, target_position: int, latest: int) -> tuple[int, bool]:
    """Return where a passage of a search result starts, and whether a sentence starts there.

    The passage starts with a sentence near `target_position`, or else with the next word. It never
    starts after `latest`.
    """
    if target_position <= 0:
        return 0, True
    sentence_ends = iter_sentence_ends(window, max(0, target_position - STRETCH_CHARS), latest)
    starts = [begin for _, begin in sentence_ends if begin <= latest]
    if target_position <= STRETCH_CHARS:
        starts.append(0)
    if starts:
        return min(starts, key=lambda begin: abs(begin - target_position)), True
    return _find_word_start(window, target_position, latest), False


def _find_passage_end(window: str, start: int, earliest: int) -> tuple[int, bool]:
    """Return where a passage of a search result ends, and whether a sentence ends there.

    `start` is the start of the passage. The passage never ends before `earliest`.
    """
    target_end = max(start + PASSAGE_CHARS, earliest)
    if target_end >= len(window):
        return len(window), True
    latest = target_end + STRETCH_CHARS
    earliest_end = max(earliest, start + PASSAGE_CHARS // 2)
    sentence_ends = iter_sentence_ends(window, earliest_end, min(latest, len(window)))
    ends = [end for end, _ in sentence_ends if end >= earliest_end]
    if len(window) <= latest:
        ends.append(len(window))
    if ends:
        return min(ends, key=lambda end: abs(end - target_end)), True
    return _find_word_end(window, target_end, earliest), False


def _count_distinct(matches: Sequence[tuple[int, int, str]], first: int) -> int:
    """Count the different words matched in a passage.

    The passage starts shortly before the match with index `first`.
    """
    limit = matches[first][0] + PASSAGE_CHARS - LEAD_CHARS
    return len(
        {words for _, end, words in takewhile(lambda span: span[1] <= limit, matches[first:])}
    )


def _find_word_start(window: str, target_position: int, latest: int) -> int:
    """Return the start of the first word from `target_position` to `latest`.

    Returns `target_position` if no word starts there.
    """
    if target_position <= 0:
        return 0
    blank = _BLANKS.search(window, target_position - 1, latest)
    return blank.end() if blank else target_position


def _find_word_end(window: str, target_position: int, earliest: int) -> int:
    """Return the end of the last word that ends from `earliest` to `target_position`.

    Returns the later of the two positions if no word ends there.
    """
    if target_position >= len(window):
        return len(window)
    blanks = [blank.start() for blank in _BLANKS.finditer(window, earliest, target_position + 1)]
    return blanks[-1] if blanks else max(target_position, earliest)


def _build_beginning(text: str) -> Snippet:
    beginning = compose_text(text[: 20 * PASSAGE_CHARS]).lstrip()
    end, at_sentence_end = _find_passage_end(beginning, 0, 0)
    return Snippet(_clean(beginning[:end]).strip(), ends_within=not at_sentence_end)


def _clean(piece: str) -> str:
    return _BLANKS.sub(" ", piece)
