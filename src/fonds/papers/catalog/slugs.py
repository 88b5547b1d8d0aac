"""Reduce titles and names to slugs for comparison: lower case, without accents, blanks and markup.

Limits: linear in a text, which is cut at 2,000 characters.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fonds.text.entities import decode_entities
from fonds.text.words import split_words

TEXT_MAX_CHARS = 2_000
SLUG_LETTERS_MAX = 40
"""Maximum number of letters of a title slug in the keys of the catalogue."""
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
_CACHE_SIZE = 4_096


def normalize_title(text: str) -> str:
    """Return a title as people read it: HTML entities decoded, tags removed, blanks collapsed."""
    return " ".join(_MARKUP.sub("", decode_entities(text[:TEXT_MAX_CHARS])).split())


@lru_cache(_CACHE_SIZE)
def split_slug_words(text: str) -> tuple[str, ...]:
    """Split a title into words in lower case without accents.

    `&` becomes `and`; a single Greek letter becomes its name.
    """
    bare = _TEX.sub("", normalize_title(text)).replace("&", " and ")
    return tuple(_GREEK.get(word, word) for word in split_words(bare))


def build_slug(text: str | None) -> str:
    """Return the slug of a title: its words in lower case, without accents and separators.

    Returns "" for None.
    """
    return "".join(split_slug_words(text)) if text else ""


def parse_first_page(pages: str | None) -> str:
    """Return the first page of a range in lower case without leading zeros; "" if it is unknown."""
    if not pages:
        return ""
    match = re.match(r"\s*(?:pp?\.?\s*)?([A-Za-z]{0,3}\d{1,9}[A-Za-z]?)", pages[:40])
    return match[1].lower().lstrip("0") if match else ""


def normalize_number(text: str | None) -> str:
    """Normalise a volume or issue: letters and digits in lower case, without leading zeros."""
    return "".join(split_words(text[:40])).lstrip("0") if text else ""
