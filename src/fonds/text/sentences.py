"""Find sentence ends in a text by punctuation and paragraphs.

A full stop after a word of up to three letters may mark an abbreviation, so it ends no sentence.
Neither does one followed by a lower-case letter.
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
    """Yield (end of a sentence, start of the next) between two offsets of a text, in order.

    Reads the characters between the offsets, and the spaces and one character after them.
    """
    for end in _END.finditer(text, first, last):
        blanks = _BLANKS.match(text, end.end(), last + 1)
        start = blanks.end() if blanks else end.end()
        if start >= len(text) or not text[start].islower():
            yield end.end(), start
