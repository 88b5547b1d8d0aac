"""Split texts into words, for indexing, searching and highlighting.

Case and accents are removed; `C++` and `C#` are other words than `C`. In scripts without spaces,
and in Hangul, whose words include particles, each character is a word, so that any part of a text
can be found as a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property

SCANNED_MAX_CHARS = 2_000_000
"""Maximum number of characters of a text in which the words of a search are looked for."""
SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic iteration mark, closing mark, zero
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana for Ainu
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7AF),  # Hangul syllables
    (0x20000, 0x3FFFF),  # Han, rare
)
_SPACELESS_FROM = SPACELESS[0][0]
INVISIBLE = frozenset("\u00ad\u0640\u200c\u200d\u2060\ufeff")
POINTS = (
    (0x0300, 0x036F),  # combining accents
    (0x0591, 0x05C7),  # Hebrew
    (0x0610, 0x061A),  # Arabic
    (0x064B, 0x065F),  # Arabic
    (0x0670, 0x0670),  # Arabic
    (0xFE00, 0xFE0F),  # variation selectors
)
_SIGNED = re.compile(r"(?<![\w+#])(?:[A-Za-z]+\+\+|[A-Za-z]#)(?![\w+#])")
"""Names that end in signs, such as `C++` and `C#`. The signs belong to the word."""
_SIGNS = {"+": "\ufdd0", "#": "\ufdd1"}
_SIGN_PLACEHOLDERS = str.maketrans(_SIGNS)
# Letters that Unicode does not decompose, though people type them without their stroke.
STROKES = {
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ł": "l",
    "ħ": "h",
    "ŧ": "t",
    "ı": "i",
}
_ASCII_BYTES = bytes(range(128))
LATIN_SAMPLE_CHARS, LATIN_OTHERS_MAX = 80, 12
"""Length of the beginning of a text that must look Latin, and the maximum number of different
characters other than Latin letters in a text that is translated as a Latin text.
"""


class _FoldingTable(dict[int, str]):
    """Table for `str.translate` that folds characters to lower case without accents.

    The entry of a character is computed when first used. Unassigned character codes are not stored.
    """

    def __missing__(self, code: int) -> str:
        folded_text = _fold_character(chr(code))
        if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs"):
            self[code] = folded_text
        return folded_text


class _WrittenTable(dict[int, str]):
    """Table for `str.translate` that changes characters of words to lower case and keeps accents.

    Other characters become the same as without accents: punctuation becomes a space, for example.
    """

    def __missing__(self, code: int) -> str:
        folded_text = _TABLE[code]
        character = folded_text if not folded_text or " " in folded_text else chr(code).lower()
        if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs"):
            self[code] = character
        return character


class _Translator:
    """Translates texts as `str.translate` does with a table, in less time.

    `str.translate` looks up every character of a text that is not ASCII. Most such texts have Latin
    letters and a few other characters, such as quotation marks. Here these are replaced first, and
    the others are translated as bytes, which takes a fifth of the time.
    """

    def __init__(self, table: dict[int, str]) -> None:
        self._table = table

    def translate(self, text: str) -> str:
        """Return `text.translate(table)`."""
        if text.isascii():
            return text.translate(self._table)
        others: set[str] = set()
        for sample in (text[:LATIN_SAMPLE_CHARS], text):
            others = _list_non_ascii(sample) - self._latin_characters
            if len(others) > LATIN_OTHERS_MAX:
                return text.translate(self._table)
        replacements = {character: self._table[ord(character)] for character in others}
        if not self._unchanged_characters.issuperset("".join(replacements.values())):
            return text.translate(self._table)
        for character, replacement in replacements.items():
            text = text.replace(character, replacement)
        return text.encode("latin-1").translate(self._latin_bytes).decode("latin-1")

    @cached_property
    def _latin_characters(self) -> frozenset[str]:
        """Characters of Latin-1 that become one character of Latin-1."""
        translations = {chr(code): self._table[code] for code in range(256)}
        return frozenset(
            character
            for character, translation in translations.items()
            if len(translation) == 1 and ord(translation) < 256
        )

    @cached_property
    def _unchanged_characters(self) -> frozenset[str]:
        """Characters of Latin-1 that become themselves."""
        return frozenset(
            character
            for character in self._latin_characters
            if self._table[ord(character)] == character
        )

    @cached_property
    def _latin_bytes(self) -> bytes:
        """What the characters of Latin-1 become, for `bytes.translate`; 0 for other results."""
        return bytes(
            ord(self._table[code]) if chr(code) in self._latin_characters else 0
            for code in range(256)
        )


def fold_text(text: str) -> str:
    """Return the words of a text in lower case without accents (folded), separated by spaces."""
    return _FOLDING.translate(_neutralize_signs(compose_text(text)))


def normalize_text(text: str) -> str:
    """Return the words of a text in lower case with accents, in the order of the text, separated by
    spaces.
    """
    return _WRITING.translate(_neutralize_signs(compose_text(text)))


def fold_and_normalize_text(text: str) -> tuple[str, str]:
    """Return what `fold_text` and `normalize_text` return for a text, in less time than both."""
    text = _neutralize_signs(compose_text(text))
    folded_text = _FOLDING.translate(text)
    if folded_text.isascii() and all(
        _TABLE[ord(character)] == _WRITTEN_TABLE[ord(character)]
        for character in _list_non_ascii(text)
    ):
        return folded_text, folded_text
    return folded_text, _WRITING.translate(text)


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case without accents, in order."""
    return fold_text(text).split()


def compose_text(text: str) -> str:
    """Return `text` in Unicode NFC, the form in which texts are split into words."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def measure_folded_length(character: str) -> int:
    """Return the number of characters that `fold_text` produces for one character of a
    text in NFC.
    """
    return len(_TABLE[ord(character)])


def is_spaceless(character: str) -> bool:
    """Return whether a character is a word by itself, as in scripts without spaces."""
    code = ord(character)
    return code >= _SPACELESS_FROM and _is_within(code, SPACELESS)


def _fold_character(character: str) -> str:
    bare = "".join(
        part
        for part in unicodedata.normalize("NFKD", character.casefold()).casefold()
        if part not in INVISIBLE and not _is_within(ord(part), POINTS)
    )
    plain = unicodedata.normalize("NFC", "".join(STROKES.get(part, part) for part in bare))
    return "".join(_to_word_part(part) for part in plain)


def _to_word_part(character: str) -> str:
    if unicodedata.category(character)[0] not in "LMN":
        return " "
    return f" {character} " if is_spaceless(character) else character


def _neutralize_signs(text: str) -> str:
    """Replace the signs of words such as `C++` and `C#` by the noncharacters U+FDD0 and
    U+FDD1.

    The positions of other characters stay the same.
    """
    if "++" not in text and "#" not in text:
        return text
    return _SIGNED.sub(lambda match: match[0].translate(_SIGN_PLACEHOLDERS), text)


def _list_non_ascii(text: str) -> set[str]:
    """Return the distinct characters of a text that are not ASCII."""
    if text.isascii():
        return set()
    encoded_text = text.encode("utf-8", "surrogatepass").translate(None, _ASCII_BYTES)
    return set(encoded_text.decode("utf-8", "surrogatepass"))


def _is_within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


_TABLE = _FoldingTable({ord(mark): sign for sign, mark in _SIGNS.items()})
_WRITTEN_TABLE = _WrittenTable(_TABLE)
_FOLDING, _WRITING = _Translator(_TABLE), _Translator(_WRITTEN_TABLE)
