"""Documents in no theme: the reasons in words, how many there are for each, and the pages that list them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fonds.model.numbers import how_many
from fonds.web.themes.addresses import reason_href
from fonds.web.themes.asking import Asked

WHY_APART = {
    "outlier": "like no theme enough",
    "short": "too short to be grouped",
    "language": "in a language this configuration leaves out",
    "vector": "without a vector of the length this configuration asks for",
    "field": "with other fields than this configuration asks for",
    "empty": "without a word to group by",
    "excluded": "taken out of a theme, and like no other enough",
}
EXPLAINED = {
    "outlier": "The terms of these documents lie further from every theme's middle than those of nearly all"
    " documents the theme was built of. They are counted, and the next rebuild looks at them again.",
    "short": "These documents have fewer characters than the configuration asks for (characters_min).",
    "language": "These documents say they are in a language the configuration does not name (languages).",
    "vector": "These documents were put without a vector of the length the configuration asks for (dense).",
    "field": "These documents have other fields than the configuration asks for (where).",
    "excluded": "A curator said of these documents that they do not belong in a theme, and no other takes"
    " them. They stay out of that one, whatever is built anew.",
    "empty": "These documents have no word that counts: function words, numbers alone, or nothing at all.",
}


@dataclass(frozen=True, slots=True)
class ApartLine:
    """Documents in no theme, for a reason."""

    reason: str
    explanation: str
    count: int
    href: str


def apart_href(there: Asked, reason: str = "") -> str:
    """The page of the documents that are apart for a reason, or for any: of every level the same."""
    return reason_href(there.name, reason, **{**there.params(), "level": None})


def apart_lines(there: Asked, apart: Mapping[str, int]) -> list[ApartLine]:
    """A line for each reason that any document is apart for."""
    return [
        ApartLine(reason, WHY_APART.get(reason, reason), count, apart_href(there, reason))
        for reason, count in apart.items()
        if count
    ]


def answer(reason: str, size: int) -> str:
    """How many documents are apart for the reason, or for any where it is '', as a sentence without its
    end."""
    verb = "is" if size == 1 else "are"
    return f"{how_many(size, 'document')} {verb} {WHY_APART.get(reason, 'in no theme')}"
