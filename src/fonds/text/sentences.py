"""Find the ends of sentences in a text by punctuation and paragraphs.

A full stop after a word of up to three letters ends no sentence, because it may mark an
abbreviation. A full stop before a lower-case letter ends no sentence either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLOSING = "\"'”’»)\\]"
_END = re.compile(
    rf"(?:(?<=\w{{4}})\.|(?<=[\d%{_CLOSING}])\.|[!?…؟।])[{_CLOSING}]*(?=\s)"
    r"|[。！？｡]+[」』）”’]*"
    r"|(?=\s*\n\s*\n|\s*\f)"
)
_BLANKS = re.compile(r"\s*")


def iter_sentence_ends(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of sentences between two offsets of a text, in order.

    Each is a pair of offsets: end of the sentence, and start of the next sentence. Only the
    characters between the two given offsets are read, and the spaces and one character after them.
    """
    for end in _END.finditer(text, first, last):
        blanks = _BLANKS.match(text, end.end(), last + 1)
        start = blanks.end() if blanks else end.end()
        if start >= len(text) or not text[start].islower():
            yield end.end(), start
