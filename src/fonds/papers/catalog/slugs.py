"""Titles and names as they are compared: folded, without marks, blanks and markup.

Bound: linear in a text, which is cut at 2,000 characters.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from fonds.text.words import split_words

TEXT_MAX_CHARS = 2_000
SLUG_LETTERS_MAX = 40
"""As much of a slug stands in the keys of a catalogue."""
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9:]{0,20}(?:\s[^<>]{0,200})?/?>")
_TEX = re.compile(r"\\[A-Za-z]{1,20}|[${}^_]")
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "π": "pi",
    "σ": "sigma",
    "τ": "tau",
    "ω": "omega",
}
_REMEMBERED = 4_096


def normalize_title(text: str) -> str:
    """A title as people read it: entities and tags undone, blanks single."""
    return " ".join(_MARKUP.sub("", html.unescape(text[:TEXT_MAX_CHARS])).split())


@lru_cache(_REMEMBERED)
def split_slug_words(text: str) -> tuple[str, ...]:
    """The words of a title: folded, `&` as `and`, Greek letters that stand alone by their names."""
    bare = _TEX.sub("", normalize_title(text)).replace("&", " and ")
    return tuple(_GREEK.get(word, word) for word in split_words(bare))


def build_slug(text: str | None) -> str:
    """The words of a title without anything between them; "" for None."""
    return "".join(split_slug_words(text)) if text else ""


def parse_first_page(pages: str | None) -> str:
    """The page a work begins on, in lower case without zeros before it; "" when unknown."""
    if not pages:
        return ""
    found = re.match(r"\s*(?:pp?\.?\s*)?([A-Za-z]{0,3}\d{1,9}[A-Za-z]?)", pages[:40])
    return found[1].lower().lstrip("0") if found else ""


def normalize_number(text: str | None) -> str:
    """A volume or issue as it is compared: letters and digits, in lower case, without zeros before it."""
    return "".join(split_words(text[:40])).lstrip("0") if text else ""
