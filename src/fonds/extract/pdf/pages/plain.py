"""The text of a page as pdfium gives it, made plain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from fonds.extract.pdf.pages.characters import LINE_END_HYPHEN
from fonds.extract.pdf.strings import clean_text, storable_text

_WORD_MAX_CHARS = 80
_HYPHEN_AT_END = re.compile(
    f"([-\u2010\u2011\ufe63\uff0d\u00ad\u058a\u1806{LINE_END_HYPHEN}]) ?\n(?=\\w)"
)
_HYPHEN_ENDS = tuple(f"{sign}{end}" for sign in ("-", LINE_END_HYPHEN) for end in ("\n", " \n"))
_OTHER_HYPHENS = "\u2010\u2011\ufe63\uff0d\u00ad\u058a\u1806"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BRACKET = re.compile(r"[()\[\]{}]")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TURNED = str.maketrans("()[]{}", ")(][}{")
_NEGATED = re.compile("\u0338 ?([=\u2190-\u22ff])")


def plain(units: Sequence[str]) -> str:
    """The text of a page's characters, or of some of them, with surrogates that stand apart as one."""
    text = "".join(units)
    if text.isascii() and text.isprintable():
        return text.strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return normalise_page(text)


def normalise_page(raw: str) -> str:
    """One page as pdfium gives it, made plain: words cut at a line's end whole again, blanks trimmed."""
    # What is not to be seen may stand between a word, its hyphen and the end of the line.
    first, *others = map(storable_text, raw.replace("\ufeff", "").split(LINE_END_HYPHEN))
    last = others[-1:]
    # Of several marks in a row one counts.
    marked = LINE_END_HYPHEN.join([first, *filter(None, others[:-1]), *last])
    if any(end in marked for end in _HYPHEN_ENDS) or any(sign in marked for sign in _OTHER_HYPHENS):
        marked = _HYPHEN_AT_END.sub(_hyphen, marked)
    text = _with_signs_whole(clean_text(_rejoin(marked))).strip()
    if text.isascii() or not _RIGHT_TO_LEFT.search(text):
        return text
    return _with_brackets_right(text)


def _with_brackets_right(text: str) -> str:
    """Brackets of lines written from right to left: pdfium gives some as they look, the wrong way round.

    Turned are those of a line in which they close before they open, and would not if turned.
    """
    return "\n".join(map(_line_with_brackets_right, text.split("\n")))


def _line_with_brackets_right(line: str) -> str:
    if _pairs_up(line) or not _RIGHT_TO_LEFT.search(line):
        return line
    turned = line.translate(_TURNED)
    return turned if _pairs_up(turned) else line


def _pairs_up(line: str) -> bool:
    waiting: list[str] = []
    for bracket in _BRACKET.findall(line):
        if bracket in _CLOSING:
            waiting.append(_CLOSING[bracket])
        elif not waiting or waiting.pop() != bracket:
            return False
    return not waiting


def _hyphen(found: re.Match[str]) -> str:
    """The mark pdfium puts for the hyphens it knows, where this is one."""
    before = found.string[max(0, found.start() - 1) : found.start()]
    if found[1] != "-":
        return LINE_END_HYPHEN if before.isalnum() else found[0]
    # That pdfium left it means that it saw another line begin; only a word cut in two goes on small.
    follows = found.string[found.end() : found.end() + 1]
    return LINE_END_HYPHEN if follows.islower() and before.isalpha() else found[0]


def _with_signs_whole(text: str) -> str:
    """Signs that TeX sets as two: a stroke before what it negates, a bar before its arrow."""
    if "\u21a6" in text:
        text = text.replace("\u21a6\u2192", "\u21a6")
    if "\u0338" in text:
        text = _NEGATED.sub(lambda found: unicodedata.normalize("NFC", found[1] + "\u0338"), text)
    return text


def _rejoin(raw: str) -> str:
    pieces = raw.split(LINE_END_HYPHEN)
    joined = [pieces[0]]
    for left, right in pairwise(pieces):
        joined += ("-" if _keeps_hyphen(left, right) else "", right)
    return "".join(joined)


def _keeps_hyphen(left: str, right: str) -> bool:
    # Only a small letter goes on with the word; `2010-2015`, `Jean-Paul` and `state-of-the-art`
    # own their hyphen.
    if not left[-1:].isalnum():
        return False
    word = left[-_WORD_MAX_CHARS:].split()[-1]
    return not right[:1].islower() or "-" in word
