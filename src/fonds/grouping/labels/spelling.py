"""Terms as their documents spell them: the written form that stands most often for a term or phrase.

Bound: 40 documents a cluster and 20,000 characters of each.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from fonds.grouping.text.tokens import terms
from fonds.words import composed, is_spaceless

DOCUMENTS_MAX = 40
CHARACTERS_MAX = 20_000
_WRITTEN = re.compile(r"\w[\w\u0300-\u036f]*", re.UNICODE)
_ONE_SPACE = re.compile(r"\s+")

Phrase = tuple[str, ...]


def spellings(
    wanted: Iterable[Phrase], texts: Sequence[str], languages: Sequence[str]
) -> dict[Phrase, str]:
    """For each phrase of terms how it is mostly written; joined as it is where no text has it."""
    asked = set(wanted)
    seen: dict[Phrase, Counter[str]] = defaultdict(Counter)
    for text, language in zip(texts[:DOCUMENTS_MAX], languages, strict=False):
        _note(composed(text[:CHARACTERS_MAX]), language, asked, seen)
    return {phrase: _most(seen[phrase]) or joined(phrase) for phrase in asked}


def joined(phrase: Phrase) -> str:
    """Terms side by side as one text; pairs of characters that overlap are laid over each other."""
    text = phrase[0]
    for term in phrase[1:]:
        overlaps = is_spaceless(term[0]) and text.endswith(term[0])
        text = text + term[1:] if overlaps else f"{text} {term}"
    return text


def _note(text: str, language: str, asked: set[Phrase], seen: dict[Phrase, Counter[str]]) -> None:
    written = list(_WRITTEN.finditer(text))
    read = [_term(one.group(), language) for one in written]
    for place in range(len(read)):
        for length in (1, 2, 3):
            phrase = tuple(read[place : place + length])
            if len(phrase) == length and phrase in asked:
                span = text[written[place].start() : written[place + length - 1].end()]
                seen[phrase][_ONE_SPACE.sub(" ", span)] += 1


def _term(word: str, language: str) -> str:
    """The one term of a written word; "" for none or several."""
    found = [term for term in terms(word, language) if term]
    return found[0] if len(found) == 1 else ""


def _most(counted: Counter[str]) -> str:
    return min(counted, key=lambda form: (-counted[form], form)) if counted else ""
