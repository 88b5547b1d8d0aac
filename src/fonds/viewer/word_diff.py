"""Compute the difference of two texts by words.

Words that occur exactly once in both texts, in the same order, are anchors. Passages between
anchors are compared in the same way, and short passages word by word.

Limits: the first 20,000 words of each text; 20 rounds of anchors; passages of at most 100 words are
compared word by word, within a total amount of work. Passages that exceed these limits count as
fully removed and added.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from fonds.text.words import is_spaceless

WORDS_MAX = 20_000
STRETCH_MAX = 100
ROUNDS_MAX = 20
WORK_MAX = 20_000_000
CONTEXT_WORDS = 15
_TOKEN = re.compile(r"[^\S\n]*\n\s*|\S+[^\S\n]*")
_PARAGRAPH = "\n\n"


class DiffKind(StrEnum):
    """Kind of a passage in the difference of two texts.

    `left-out` is a passage of equal words that is not shown.
    """

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    LEFT_OUT = "left-out"


@dataclass(frozen=True, slots=True)
class DiffSpan:
    """Passage of consecutive words in a difference of two texts.

    - `kind`: whether the words are in both texts or only in one.
    - `text`: the words; "" for `left-out`.
    - `words`: number of words.
    """

    kind: DiffKind
    text: str
    words: int


@dataclass(frozen=True, slots=True)
class WordDiff:
    """Difference of two texts.

    - `stretches`: passages in order.
    - `added`, `removed`: number of words added and removed.
    - `is_cut`: whether only the first 20,000 words of a text were compared.
    - `is_coarse`: whether some passages were not compared word by word.
    """

    stretches: Sequence[DiffSpan]
    added: int
    removed: int
    is_cut: bool
    is_coarse: bool


def diff_words(old_text: str, new_text: str) -> WordDiff:
    """Compare two texts and return their difference by words."""
    old, new = _tokenize(old_text), _tokenize(new_text)
    is_cut = len(old) > WORDS_MAX or len(new) > WORDS_MAX
    old, new = old[:WORDS_MAX], new[:WORDS_MAX]
    search = _DiffSearch(
        [token_or_span.strip() for token_or_span in old],
        [token_or_span.strip() for token_or_span in new],
    )
    spans = list(_iter_stretches(old, new, search.find_blocks()))
    added_count = sum(
        token_or_span.words for token_or_span in spans if token_or_span.kind is DiffKind.ADDED
    )
    removed_count = sum(
        token_or_span.words for token_or_span in spans if token_or_span.kind is DiffKind.REMOVED
    )
    return WordDiff(spans, added_count, removed_count, is_cut, search.is_coarse)


def trim_unchanged(diff: WordDiff) -> list[DiffSpan]:
    """Return the changes in a difference of two texts, with 15 words of context on each side.

    The middle of long equal passages is replaced by a `left-out` passage.
    """
    trimmed_spans: list[DiffSpan] = []
    last = len(diff.stretches) - 1
    for number, span in enumerate(diff.stretches):
        tokens = _tokenize(span.text) if span.kind is DiffKind.SAME else []
        head = CONTEXT_WORDS if number else 0
        tail = CONTEXT_WORDS if number < last else 0
        if len(tokens) <= head + tail + CONTEXT_WORDS:
            trimmed_spans.append(span)
            continue
        middle = tokens[head : len(tokens) - tail]
        trimmed_spans += _build_stretch(DiffKind.SAME, tokens[:head])
        trimmed_spans.append(DiffSpan(DiffKind.LEFT_OUT, "", _count(middle)))
        trimmed_spans += _build_stretch(DiffKind.SAME, tokens[len(tokens) - tail :])
    return trimmed_spans


def _tokenize(text: str) -> list[str]:
    """Split a text into words with the blanks after them, and paragraph breaks.

    In scripts without blanks, each character is a word.
    """
    tokens: list[str] = []
    for match in _TOKEN.finditer(text.strip()):
        token = match[0]
        if not token.strip():
            tokens.append(_PARAGRAPH)
        elif token.isascii() or not any(map(is_spaceless, token)):
            tokens.append(token)
        else:
            tokens += _iter_characters(token)
        if len(tokens) > WORDS_MAX:
            break
    return tokens


def _iter_characters(token: str) -> Iterator[str]:
    run = ""
    for char in token:
        if is_spaceless(char) and run:
            yield run
            run = ""
        run += char
        if is_spaceless(char):
            yield run
            run = ""
    if run:
        yield run


class _DiffSearch:
    """Search for passages that two lists of words have in common."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = old, new
        self._work = WORK_MAX
        self.is_coarse = False

    def find_blocks(self) -> list[tuple[int, int, int]]:
        """Return the passages that are in both lists of words, in order.

        Each passage is (position in the old list, position in the new list, number of words).
        """
        blocks: list[tuple[int, int, int]] = []
        ranges = [(0, len(self._old), 0, len(self._new))]
        for _ in range(ROUNDS_MAX):
            ranges = [gap for window in ranges for gap in self._split_block(window, blocks)]
        self.is_coarse = self.is_coarse or bool(ranges)
        return sorted(blocks)

    def _split_block(
        self, window: tuple[int, int, int, int], blocks: list[tuple[int, int, int]]
    ) -> list[tuple[int, int, int, int]]:
        """Find equal words in a window: a part of the old text and the part of the new text that it
        is compared with.

        `window` is the start and end in the old text, and the start and end in the new text. Equal
        words are added to `blocks`. Return the smaller windows between the equal words that must
        still be compared.
        """
        begin, end, new_begin, new_end = self._trim_ends(window, blocks)
        if begin == end or new_begin == new_end:
            return []
        anchors = self._find_anchors(begin, end, new_begin, new_end)
        if not anchors:
            self._compare(begin, end, new_begin, new_end, blocks)
            return []
        gaps = []
        for place, new_place in anchors:
            blocks.append((place, new_place, 1))
            gaps.append((begin, place, new_begin, new_place))
            begin, new_begin = place + 1, new_place + 1
        return [*gaps, (begin, end, new_begin, new_end)]

    def _trim_ends(
        self, window: tuple[int, int, int, int], blocks: list[tuple[int, int, int]]
    ) -> tuple[int, int, int, int]:
        begin, end, new_begin, new_end = window
        shorter = min(end - begin, new_end - new_begin)
        old, new = self._old, self._new
        head = 0
        while head < shorter and old[begin + head] == new[new_begin + head]:
            head += 1
        tail = 0
        while tail < shorter - head and old[end - 1 - tail] == new[new_end - 1 - tail]:
            tail += 1
        if head:
            blocks.append((begin, new_begin, head))
        if tail:
            blocks.append((end - tail, new_end - tail, tail))
        return begin + head, end - tail, new_begin + head, new_end - tail

    def _find_anchors(
        self, begin: int, end: int, new_begin: int, new_end: int
    ) -> list[tuple[int, int]]:
        """Return the anchors in parts of the old and new text, as (position in old, position in
        new).

        An anchor is a word that occurs once in both parts. Anchors that are in another order in the
        new text are omitted, as few as possible.
        """
        counts = Counter(self._old[begin:end])
        new_counts = Counter(self._new[new_begin:new_end])
        places = {
            self._new[n]: n for n in range(new_begin, new_end) if new_counts[self._new[n]] == 1
        }
        pairs = [
            (n, places[self._old[n]])
            for n in range(begin, end)
            if counts[self._old[n]] == 1 and self._old[n] in places
        ]
        return _find_longest_increasing(pairs)

    def _compare(
        self, begin: int, end: int, new_begin: int, new_end: int, blocks: list[tuple[int, int, int]]
    ) -> None:
        longest, shortest = sorted((end - begin, new_end - new_begin))[::-1]
        work = longest * shortest * shortest
        if longest > STRETCH_MAX or work > self._work:
            self.is_coarse = True
            return
        self._work -= work
        matcher = SequenceMatcher(
            None, self._old[begin:end], self._new[new_begin:new_end], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            if block.size:
                blocks.append((begin + block.a, new_begin + block.b, block.size))


def _find_longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs that increases in both positions.

    The pairs are sorted by the first position.
    """
    ends: list[int] = []
    last: list[int] = []
    predecessors: list[int] = []
    for number, (_, new_position) in enumerate(pairs):
        rank = bisect_left(ends, new_position)
        predecessors.append(last[rank - 1] if rank else -1)
        if rank == len(ends):
            ends.append(new_position)
            last.append(number)
        else:
            ends[rank], last[rank] = new_position, number
    chosen_pairs: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    for _ in range(len(ends)):
        chosen_pairs.append(pairs[number])
        number = predecessors[number]
    return chosen_pairs[::-1]


def _iter_stretches(
    old: Sequence[str], new: Sequence[str], blocks: Sequence[tuple[int, int, int]]
) -> Iterator[DiffSpan]:
    """Yield the passages of a difference: words in both texts, removed words and added words.

    `blocks` are the equal passages, as (position in old, position in new, length). Consecutive
    words of the same kind are one passage.
    """
    same_tokens: list[str] = []
    old_index = new_index = 0
    for place, new_place, length in [*blocks, (len(old), len(new), 0)]:
        if place > old_index or new_place > new_index:
            yield from _build_stretch(DiffKind.SAME, same_tokens)
            yield from _build_stretch(DiffKind.REMOVED, old[old_index:place])
            yield from _build_stretch(DiffKind.ADDED, new[new_index:new_place])
            same_tokens = []
        same_tokens += new[new_place : new_place + length]
        old_index, new_index = place + length, new_place + length
    yield from _build_stretch(DiffKind.SAME, same_tokens)


def _build_stretch(kind: DiffKind, tokens: Sequence[str]) -> list[DiffSpan]:
    return [DiffSpan(kind, "".join(tokens), _count(tokens))] if tokens else []


def _count(tokens: Sequence[str]) -> int:
    return sum(1 for token in tokens if token.strip())
