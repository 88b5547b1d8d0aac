"""Where sentences end in a text, as far as punctuation and paragraphs tell.

A full stop behind a word of up to three letters may be an abbreviation's and ends none, nor does what a small
letter follows.
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
    """(end of a sentence, beginning of the next) between two places of a text, in order. Looks at the
    characters between them, and at the blanks and the one character behind."""
    for found in _END.finditer(text, first, last):
        blanks = _BLANKS.match(text, found.end(), last + 1)
        begin = blanks.end() if blanks else found.end()
        if begin >= len(text) or not text[begin].islower():
            yield found.end(), begin
