"""Clean up the text of a PDF page as pdfium reads it: hyphens, brackets, signs and blanks.

Limits: one pass over the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from fonds.extract.pdf.characters import LINE_END_HYPHEN
from fonds.extract.pdf.strings import clean_stored_text, spell_out_ligatures

_WORD_MAX_CHARS = 80
_LINE_END_HYPHEN = re.compile(
    f"([-\u2010\u2011\ufe63\uff0d\u00ad\u058a\u1806{LINE_END_HYPHEN}]) ?\n(?=\\w)"
)
_HYPHEN_ENDS = tuple(f"{sign}{end}" for sign in ("-", LINE_END_HYPHEN) for end in ("\n", " \n"))
_OTHER_HYPHENS = "\u2010\u2011\ufe63\uff0d\u00ad\u058a\u1806"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BRACKET = re.compile(r"[()\[\]{}]")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MIRRORED_BRACKETS = str.maketrans("()[]{}", ")(][}{")
_NEGATED = re.compile("\u0338 ?([=\u2190-\u22ff])")


def clean_page_text(units: Sequence[str]) -> str:
    """Return the clean text of characters of a page: all of them or a part.

    Hyphenated words are rejoined, blanks are trimmed, and surrogate pairs are joined.
    """
    text = units if isinstance(units, str) else "".join(units)
    if text.isascii() and text.isprintable():
        return text.strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return normalize_page_text(text)


def normalize_page_text(raw: str) -> str:
    """Clean up the text of a page: rejoin words that are hyphenated at line ends, and trim
    blanks.
    """
    # Invisible characters may occur between a word, its hyphen and the end of the line.
    first_piece, *other_pieces = map(
        clean_stored_text, raw.replace("\ufeff", "").split(LINE_END_HYPHEN)
    )
    last_piece = other_pieces[-1:]
    # Several marks in a row count as one.
    marked_text = LINE_END_HYPHEN.join([first_piece, *filter(None, other_pieces[:-1]), *last_piece])
    if any(end in marked_text for end in _HYPHEN_ENDS) or any(
        sign in marked_text for sign in _OTHER_HYPHENS
    ):
        marked_text = _LINE_END_HYPHEN.sub(_restore_hyphen, marked_text)
    text = _join_tex_signs(spell_out_ligatures(_rejoin(marked_text))).strip()
    if text.isascii() or not _RIGHT_TO_LEFT.search(text):
        return text
    return _fix_brackets(text)


def _fix_brackets(text: str) -> str:
    """Return a text in which wrongly mirrored brackets in lines with right-to-left script are
    corrected.

    pdfium sometimes returns such brackets in visual form. All brackets of a line are mirrored if
    they are unbalanced, and balanced after mirroring.
    """
    return "\n".join(map(_fix_line_brackets, text.split("\n")))


def _fix_line_brackets(line: str) -> str:
    if _is_balanced(line) or not _RIGHT_TO_LEFT.search(line):
        return line
    mirrored_line = line.translate(_MIRRORED_BRACKETS)
    return mirrored_line if _is_balanced(mirrored_line) else line


def _is_balanced(line: str) -> bool:
    expected_brackets: list[str] = []
    for bracket in _BRACKET.findall(line):
        if bracket in _CLOSING:
            expected_brackets.append(_CLOSING[bracket])
        elif not expected_brackets or expected_brackets.pop() != bracket:
            return False
    return not expected_brackets


def _restore_hyphen(match: re.Match[str]) -> str:
    """Return pdfium's mark for a hyphen at a line end if `match` divides a word there; otherwise
    the unchanged text of `match`.
    """
    previous_character = match.string[max(0, match.start() - 1) : match.start()]
    if match[1] != "-":
        return LINE_END_HYPHEN if previous_character.isalnum() else match[0]
    # pdfium left the hyphen because it saw a new line begin; only a divided word continues in lower
    # case.
    next_character = match.string[match.end() : match.end() + 1]
    return (
        LINE_END_HYPHEN if next_character.islower() and previous_character.isalpha() else match[0]
    )


def _join_tex_signs(text: str) -> str:
    """Join signs that TeX draws as two characters, such as an equals sign and the stroke that
    negates it.
    """
    if "\u21a6" in text:
        text = text.replace("\u21a6\u2192", "\u21a6")
    if "\u0338" in text:
        text = _NEGATED.sub(lambda match: unicodedata.normalize("NFC", match[1] + "\u0338"), text)
    return text


def _rejoin(raw: str) -> str:
    pieces = raw.split(LINE_END_HYPHEN)
    joined_pieces = [pieces[0]]
    for left, right in pairwise(pieces):
        joined_pieces += ("-" if _keeps_hyphen(left, right) else "", right)
    return "".join(joined_pieces)


def _keeps_hyphen(left_text: str, right: str) -> bool:
    # Only a lower-case letter continues the word; `2010-2015`, `Jean-Paul` and `state-of-the-art`
    # keep their hyphens.
    if not left_text[-1:].isalnum():
        return False
    word = left_text[-_WORD_MAX_CHARS:].split()[-1]
    return not right[:1].islower() or "-" in word
