"""Where the authors of a paper work, out of the lines below its title: by marks, else by what stands below.

Bound: 45 lines of 200 characters are looked at, for 100 authors; 40 places are told apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from fonds.bibliography.paper import Affiliation, Author

LINES_MAX, LINE_MAX_CHARS, AUTHORS_MAX, PLACES_MAX, OF_ONE_MAX, BELOW_MAX = (
    45,
    200,
    100,
    40,
    5,
    10,
)
_PLACE = re.compile(
    r"\b(?:Universit\w*|Universidad\w*|Institut\w*|Department|Dept\.|Laborator\w*|College"
    r"|School of|Cent(?:er|re) (?:for|of)|Facult\w*|Academy|Hospital"
    r"|Polytechni\w*|Microsoft|Google|IBM|Research (?:Lab|Center|Centre)\w*|Labs?\b|Corporation"
    r"|INRIA|CNRS|ETH|DFKI|Depart[ae]ment\w*|Dipartiment\w*|D\u00e9partement|Istitut\w*"
    r"|Centro de|\u00c9cole|Fakult\w*|Max[- ]Planck|Observator\w*|Ltd\.|Inc\.|GmbH)"
)
_SIGN = r"[*\u2217\u2020\u2021\u00a7\u00b6#\u2016\u2218\u25e6\u2660-\u2667]"
_PLAIN = str.maketrans(
    "\u00b9\u00b2\u00b3\u2070\u2074\u2075\u2076\u2077\u2078\u2079\u2019", "1230456789'"
)
_MARKED = re.compile(
    rf"^\s*[(\[]?(?P<mark>\d{{1,2}}|[a-j](?=[\s)\]]|[A-Z])|{_SIGN})[)\].,]?\s*(?=[A-Z])"
)
_MARKS = re.compile(rf"(?:[\s,(\[]{{0,2}}(?:\d{{1,2}}|{_SIGN}|[a-j](?![A-Za-z])))+")
_ONE_MARK = re.compile(rf"\d{{1,2}}|{_SIGN}|[a-j]")
_NEXT = re.compile(rf"(?<=[A-Za-z.,;])\s+(?=(?:\d{{1,2}}|{_SIGN})\s?[A-Z])")


@dataclass(frozen=True, slots=True)
class Place:
    """A line that names a place of work, as printed and without its mark; `mark` is "" where it has none."""

    line: int
    mark: str
    affiliation: Affiliation


def with_affiliations(authors: Sequence[Author], head: str) -> tuple[Author, ...]:
    """The authors with the places they are tied to in `head`, the text above the abstract.

    A mark behind a name ties it to the line that begins with it. Without marks an author works at what stands
    below the line that has the name, up to the next such line. One place for all is everybody's.
    """
    lines = [" ".join(one.translate(_PLAIN).split()) for one in head.split("\n")[:LINES_MAX]]
    places = _places(lines)
    if not places or len(authors) > AUTHORS_MAX:
        return tuple(authors)
    where = {author: _line_of(author, lines) for author in authors}
    marked = {one.mark: one for one in reversed(places) if one.mark}
    tied = _by_marks(where, lines, marked) if marked else {}
    if not tied:
        tied = _by_order(where, places)
    return tuple(_at(author, tied.get(author, ())) for author in authors)


def affiliation_of(text: str) -> Affiliation:
    """A place as printed, with the parts that are told by their words."""
    pieces = [piece.strip(" .;") for piece in re.split(r",\s|;\s", text)]

    def first(words: str) -> str | None:
        return next((one for one in pieces if re.search(words, one)), None)

    return Affiliation(
        institution=first(r"Universi|Institut|College|Academy|Polytechni|ETH"),
        department=first(r"Department|Dept\.|School of|Facult"),
        laboratory=first(r"Laborator|\bLabs?\b"),
        unstructured=text,
    )


def _places(lines: Sequence[str]) -> list[Place]:
    """The places named, each with its mark, in order; a line may name several that have marks."""
    found = []
    for number, whole in enumerate(lines):
        line = whole[:LINE_MAX_CHARS]
        for piece in _NEXT.split(line) if _MARKED.match(line) else [line]:
            begin = _MARKED.match(piece)
            said = piece[begin.end() if begin else 0 :].strip(" ,;")
            mark = begin["mark"] if begin else ""
            named = _PLACE.search(said) or (mark.isdigit() and "," in said)
            if len(said) > 7 and "@" not in said and named:
                found.append(Place(number, mark, affiliation_of(said)))
    return found[:PLACES_MAX]


def _line_of(author: Author, lines: Sequence[str]) -> tuple[int, int] | None:
    """The line an author stands in, and where in it the name ends."""
    names = (author.name, author.surname or author.name)
    for name in names:
        for number, line in enumerate(lines):
            if len(name) > 2 and (at := line.find(name)) >= 0 and not _PLACE.search(line[:at]):
                return number, at + len(name)
    return None


def _by_marks(
    where: Mapping[Author, tuple[int, int] | None],
    lines: Sequence[str],
    marked: Mapping[str, Place],
) -> dict[Author, list[Affiliation]]:
    """Nothing at all where fewer than half of the authors have a mark a place begins with."""
    tied = {}
    for author, at in where.items():
        found = _MARKS.match(lines[at[0]], at[1]) if at else None
        marks = dict.fromkeys(_ONE_MARK.findall(found[0])) if found else {}
        if here := [marked[one].affiliation for one in marks if one in marked]:
            tied[author] = here
    return tied if 2 * len(tied) >= len(where) else {}


def _by_order(
    where: Mapping[Author, tuple[int, int] | None], places: Sequence[Place]
) -> dict[Author, list[Affiliation]]:
    """Everybody's where there is one place; else those of each run of names are the lines below it."""
    if len({one.affiliation for one in places}) == 1:
        return {author: [places[0].affiliation] for author in where}
    begins = sorted({at[0] for at in where.values() if at})
    if not begins or places[0].line < begins[0]:
        return {}
    blocks = dict(_blocks(begins, places))
    return {author: blocks[at[0]] for author, at in where.items() if at and blocks.get(at[0])}


def _blocks(
    begins: Sequence[int], places: Sequence[Place]
) -> Iterator[tuple[int, list[Affiliation]]]:
    """For each line with names the places between it, or the names that follow at once, and the next."""
    here: list[Affiliation] = []
    for begin, end in reversed([*zip(begins, [*begins[1:], LINES_MAX], strict=True)]):
        here = [
            one.affiliation for one in places if begin < one.line < min(end, begin + BELOW_MAX)
        ] or here
        yield begin, here


def _at(author: Author, places: Sequence[Affiliation]) -> Author:
    if not places:
        return author
    first, *others = places[:OF_ONE_MAX]
    return msgspec.structs.replace(author, affiliation=first, affiliations=tuple(others))
