"""Which words were added to a text and which removed.

Words that stand once in both texts, in the same order, hold the texts together; what lies between them is
compared the same way, and small stretches word by word.

Bound: the first 20,000 words of each text; 20 rounds of words that stand once; stretches of at most 100
words are compared word by word, as long as the work left is enough. What is not compared is told as removed
and added whole.
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
    """What became of a stretch of words; `left-out` stands for words that are in both and not shown."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    LEFT_OUT = "left-out"


@dataclass(frozen=True, slots=True)
class DiffSpan:
    """Words that follow one another; of `left-out` ones `text` is empty. `words` counts them."""

    kind: DiffKind
    text: str
    words: int


@dataclass(frozen=True, slots=True)
class WordDiff:
    """`is_cut` says that a text has more words than are compared, `is_coarse` that some stretches were not
    compared word by word."""

    stretches: Sequence[DiffSpan]
    added: int
    removed: int
    is_cut: bool
    is_coarse: bool


def diff_words(before: str, after: str) -> WordDiff:
    """How to make `after` of `before`."""
    old, new = _tokenize(before), _tokenize(after)
    is_cut = len(old) > WORDS_MAX or len(new) > WORDS_MAX
    old, new = old[:WORDS_MAX], new[:WORDS_MAX]
    search = _DiffSearch([one.strip() for one in old], [one.strip() for one in new])
    found = list(_iter_stretches(old, new, search.find_blocks()))
    added = sum(one.words for one in found if one.kind is DiffKind.ADDED)
    removed = sum(one.words for one in found if one.kind is DiffKind.REMOVED)
    return WordDiff(found, added, removed, is_cut, search.is_coarse)


def trim_unchanged(diff: WordDiff) -> list[DiffSpan]:
    """The changes with some words around each; of long stretches that are the same the middle is left out."""
    shown: list[DiffSpan] = []
    last = len(diff.stretches) - 1
    for number, one in enumerate(diff.stretches):
        tokens = _tokenize(one.text) if one.kind is DiffKind.SAME else []
        head = CONTEXT_WORDS if number else 0
        tail = CONTEXT_WORDS if number < last else 0
        if len(tokens) <= head + tail + CONTEXT_WORDS:
            shown.append(one)
            continue
        middle = tokens[head : len(tokens) - tail]
        shown += _build_stretch(DiffKind.SAME, tokens[:head])
        shown.append(DiffSpan(DiffKind.LEFT_OUT, "", _count(middle)))
        shown += _build_stretch(DiffKind.SAME, tokens[len(tokens) - tail :])
    return shown


def _tokenize(text: str) -> list[str]:
    """Words with the blanks behind them, and gaps between paragraphs; a character of a script without blanks
    is a word."""
    found: list[str] = []
    for match in _TOKEN.finditer(text.strip()):
        token = match[0]
        if not token.strip():
            found.append(_PARAGRAPH)
        elif token.isascii() or not any(map(is_spaceless, token)):
            found.append(token)
        else:
            found += _iter_characters(token)
        if len(found) > WORDS_MAX:
            break
    return found


def _iter_characters(token: str) -> Iterator[str]:
    run = ""
    for one in token:
        if is_spaceless(one) and run:
            yield run
            run = ""
        run += one
        if is_spaceless(one):
            yield run
            run = ""
    if run:
        yield run


class _DiffSearch:
    """Where two lists of words are the same."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = old, new
        self._work = WORK_MAX
        self.is_coarse = False

    def find_blocks(self) -> list[tuple[int, int, int]]:
        """(place in the old, place in the new, length) of what is the same, in order."""
        found: list[tuple[int, int, int]] = []
        ranges = [(0, len(self._old), 0, len(self._new))]
        for _ in range(ROUNDS_MAX):
            ranges = [gap for one in ranges for gap in self._split_block(one, found)]
        self.is_coarse = self.is_coarse or bool(ranges)
        return sorted(found)

    def _split_block(
        self, window: tuple[int, int, int, int], blocks: list[tuple[int, int, int]]
    ) -> list[tuple[int, int, int, int]]:
        """Note what is the same at both ends and once in the middle; what is left between."""
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
        """Words that stand once in both, as many as have the same order in both."""
        counted = Counter(self._old[begin:end])
        new_counted = Counter(self._new[new_begin:new_end])
        places = {
            self._new[n]: n for n in range(new_begin, new_end) if new_counted[self._new[n]] == 1
        }
        pairs = [
            (n, places[self._old[n]])
            for n in range(begin, end)
            if counted[self._old[n]] == 1 and self._old[n] in places
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
        for one in matcher.get_matching_blocks():
            if one.size:
                blocks.append((begin + one.a, new_begin + one.b, one.size))


def _find_longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many of the pairs as rise in both places; they rise in the first as they come."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(place)
            last.append(number)
        else:
            ends[at], last[at] = place, number
    chosen: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    for _ in range(len(ends)):
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _iter_stretches(
    old: Sequence[str], new: Sequence[str], blocks: Sequence[tuple[int, int, int]]
) -> Iterator[DiffSpan]:
    """The texts as they follow from what is the same in them; stretches of one kind put together."""
    same: list[str] = []
    at = new_at = 0
    for place, new_place, length in [*blocks, (len(old), len(new), 0)]:
        if place > at or new_place > new_at:
            yield from _build_stretch(DiffKind.SAME, same)
            yield from _build_stretch(DiffKind.REMOVED, old[at:place])
            yield from _build_stretch(DiffKind.ADDED, new[new_at:new_place])
            same = []
        same += new[new_place : new_place + length]
        at, new_at = place + length, new_place + length
    yield from _build_stretch(DiffKind.SAME, same)


def _build_stretch(kind: DiffKind, tokens: Sequence[str]) -> list[DiffSpan]:
    return [DiffSpan(kind, "".join(tokens), _count(tokens))] if tokens else []


def _count(tokens: Sequence[str]) -> int:
    return sum(1 for one in tokens if one.strip())
