"""A paper's bibliography out of the text of its PDF, without a server.

Bound: linear in the text; the front is looked for in 12,000 characters, references in 300,000.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fonds.papers.bibliography.paper import Affiliation, Author, Journal, Paper, encode_object
from fonds.papers.bibliography.reference_containers import YEAR, parse_numbers
from fonds.papers.bibliography.reference_list import split_entries
from fonds.papers.bibliography.reference_names import parse_names
from fonds.papers.bibliography.reference_parser import parse_reference

# Where the authors of a paper work, out of the lines below its title: by marks, else by what stands below.
#
# Bound: 45 lines of 200 characters are looked at, for 100 authors; 40 places are told apart.


LINES_MAX, LINE_MAX_CHARS, AUTHORS_MAX, PLACES_MAX, PER_AUTHOR_MAX, BELOW_MAX = (
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
_MARK = re.compile(rf"\d{{1,2}}|{_SIGN}|[a-j]")
_NEXT = re.compile(rf"(?<=[A-Za-z.,;])\s+(?=(?:\d{{1,2}}|{_SIGN})\s?[A-Z])")


@dataclass(frozen=True, slots=True)
class AffiliationLine:
    """A line that names a place of work, as printed and without its mark; `mark` is "" where it has none."""

    line: int
    mark: str
    affiliation: Affiliation


def add_affiliations(authors: Sequence[Author], head: str) -> tuple[Author, ...]:
    """The authors with the places they are tied to in `head`, the text above the abstract.

    A mark behind a name ties it to the line that begins with it. Without marks an author works at what stands
    below the line that has the name, up to the next such line. One place for all is everybody's.
    """
    lines = [" ".join(one.translate(_PLAIN).split()) for one in head.split("\n")[:LINES_MAX]]
    places = _parse_places(lines)
    if not places or len(authors) > AUTHORS_MAX:
        return tuple(authors)
    where = {author: _find_line(author, lines) for author in authors}
    marked = {one.mark: one for one in reversed(places) if one.mark}
    tied = _match_by_marks(where, lines, marked) if marked else {}
    if not tied:
        tied = _match_by_order(where, places)
    return tuple(_set_affiliations(author, tied.get(author, ())) for author in authors)


def parse_affiliation(text: str) -> Affiliation:
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


def _parse_places(lines: Sequence[str]) -> list[AffiliationLine]:
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
                found.append(AffiliationLine(number, mark, parse_affiliation(said)))
    return found[:PLACES_MAX]


def _find_line(author: Author, lines: Sequence[str]) -> tuple[int, int] | None:
    """The line an author stands in, and where in it the name ends."""
    names = (author.name, author.surname or author.name)
    for name in names:
        for number, line in enumerate(lines):
            if len(name) > 2 and (at := line.find(name)) >= 0 and not _PLACE.search(line[:at]):
                return number, at + len(name)
    return None


def _match_by_marks(
    positions: Mapping[Author, tuple[int, int] | None],
    lines: Sequence[str],
    marked_lines: Mapping[str, AffiliationLine],
) -> dict[Author, list[Affiliation]]:
    """Nothing at all where fewer than half of the authors have a mark a place begins with."""
    tied = {}
    for author, at in positions.items():
        found = _MARKS.match(lines[at[0]], at[1]) if at else None
        marks = dict.fromkeys(_MARK.findall(found[0])) if found else {}
        if here := [marked_lines[one].affiliation for one in marks if one in marked_lines]:
            tied[author] = here
    return tied if 2 * len(tied) >= len(positions) else {}


def _match_by_order(
    positions: Mapping[Author, tuple[int, int] | None], places: Sequence[AffiliationLine]
) -> dict[Author, list[Affiliation]]:
    """Everybody's where there is one place; else those of each run of names are the lines below it."""
    if len({one.affiliation for one in places}) == 1:
        return {author: [places[0].affiliation] for author in positions}
    begins = sorted({at[0] for at in positions.values() if at})
    if not begins or places[0].line < begins[0]:
        return {}
    blocks = dict(_iter_blocks(begins, places))
    return {author: blocks[at[0]] for author, at in positions.items() if at and blocks.get(at[0])}


def _iter_blocks(
    begins: Sequence[int], places: Sequence[AffiliationLine]
) -> Iterator[tuple[int, list[Affiliation]]]:
    """For each line with names the places between it, or the names that follow at once, and the next."""
    here: list[Affiliation] = []
    for begin, end in reversed([*zip(begins, [*begins[1:], LINES_MAX], strict=True)]):
        here = [
            one.affiliation for one in places if begin < one.line < min(end, begin + BELOW_MAX)
        ] or here
        yield begin, here


def _set_affiliations(author: Author, places: Sequence[Affiliation]) -> Author:
    if not places:
        return author
    first, *others = places[:PER_AUTHOR_MAX]
    return msgspec.structs.replace(author, affiliation=first, affiliations=tuple(others))


VERSION = "fonds-bibliography/3"
"""Another name when something else is read; the extractor of PDFs is then another too."""
FRONT_MAX_CHARS, ABSTRACT_MAX_CHARS = 12_000, 6_000
_ABSTRACT = re.compile(
    r"^[ \t]*(?:a[ \t]?b[ \t]?s[ \t]?t[ \t]?r[ \t]?a[ \t]?c[ \t]?t|summary|r\u00e9sum\u00e9"
    r"|zusammenfassung|resumen|resumo)\b"
    r"[ \t]*[.:\u2013\u2014-]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_ABSTRACT_END = re.compile(
    r"^[ \t]*(?:(?:additional )?key[ -]?words\b|index terms|statement of need|categories and subject"
    r"|general terms|ccs concepts|jel class"
    r"|(?:\d{1,2}|I)?[.)]?[ \t]*introduction[ \t.:]*$|contents[ \t]*$|pacs\b|msc\b|\u00a9"
    r"|copyright\b|permission to make|\d[.)]?[ \t]+[A-Z][a-z]+[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_PUBLISHED = re.compile(
    r"\b(?:published(?: online)?|date of publication|publication date)\b[^\n]{0,40}?(?P<year>(?:19|20)\d\d)",
    re.IGNORECASE,
)
_COPYRIGHT = re.compile(
    r"(?:\u00a9|\(c\)|copyright)[^\n]{0,60}?(?P<year>(?:19|20)\d\d)", re.IGNORECASE
)
_MEETING = re.compile(
    r"(?:Proceedings|Conference|Workshop|Symposium|Meeting|Journal|Transactions|Letters|Review|ACL|EMNLP|NAACL|SIGMOD|VLDB|arXiv)[^\n]{0,120}?\b(?P<year>(?:19|20)\d\d)\b"
)
_ARXIV_DATE = re.compile(r"arXiv:\S+\s+\[[\w.-]+\]\s+\d{1,2} [A-Z][a-z]{2} (?P<year>(?:19|20)\d\d)")
_JOURNAL = re.compile(
    r"^(?P<name>(?:The )?(?:[A-Z][\w&.-]* ){0,5}(?:Journal|Transactions|Letters|Annals|Bulletin"
    r"|Archives|Reviews?|Magazine|Proceedings)\b(?: (?:of|on|in|for|and|the|[A-Z][\w&-]*)){0,10})",
    re.MULTILINE,
)
_SELF_MAX_CHARS = 700


def read_own(
    text: str | None, fields: Mapping[str, Any], language: str | None
) -> dict[str, Any] | None:
    """The JSON object of a paper, without full text; None where there is no text.

    `fields` holds `title`, `authors`, `doi` and `arxiv_id` as they were found already.
    """
    if not text:
        return None
    entries = split_entries(text)
    front = text[:FRONT_MAX_CHARS]
    first = front.partition("\f")[0]
    paper = Paper(
        grobid_version=VERSION,
        title=fields.get("title"),
        authors=_parse_authors(fields.get("authors") or (), first),
        doi=fields.get("doi"),
        arxiv_id=fields.get("arxiv_id"),
        citations=tuple(parse_reference(one, index) for index, one in enumerate(entries)),
        abstract=_find_abstract(front),
        language_code=language,
        **_find_publication(first, fields),
    )
    return encode_object(paper)


def _parse_authors(names: Sequence[str], first: str) -> tuple[Author, ...]:
    return add_affiliations(
        [_parse_author(one) for one in names], _ABSTRACT.split(first, maxsplit=1)[0]
    )


def _parse_author(name: str) -> Author:
    found = parse_names(name)
    if len(found) == 1 and found[0].surname:
        return found[0]
    parts = name.split()
    if len(parts) < 2:
        return Author(name=name)
    return Author(
        name=name, given_name=parts[0], middle_name=" ".join(parts[1:-1]) or None, surname=parts[-1]
    )


def _find_abstract(front: str) -> str | None:
    begin = _ABSTRACT.search(front)
    if begin is None:
        return None
    end = _ABSTRACT_END.search(front, begin.end() + 50)
    if end is None and begin.start() > FRONT_MAX_CHARS / 2:
        return None
    text = front[begin.end() : end.start() if end else begin.end() + 2_000]
    joined = re.sub(r"(?<=[a-z])-\s*\n\s*(?=[a-z])", "", text)
    plain = " ".join(joined.split())[:ABSTRACT_MAX_CHARS]
    return plain if len(plain.split()) >= 10 else None


def _find_publication(first: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Date and journal: as the paper asks to be cited, else as its first page says."""
    own = _find_self_citation(first, fields)
    if own is not None and (own.journal or own.date):
        journal = Journal(name=own.journal, volume=own.volume, issue=own.issue, pages=own.pages)
        date = own.date or _find_year(first)
        return {"journal": journal if own.journal else None, "date": date}
    return {"journal": _find_journal(first), "date": _find_year(first)}


def _find_self_citation(first: str, fields: Mapping[str, Any]) -> Any:
    """The reference to itself many journals print at the foot of the first page."""
    doi, title = fields.get("doi"), fields.get("title")
    if not doi or not title:
        return None
    lines = [line.strip() for line in first.split("\n") if line.strip()]
    for place, line in enumerate(lines):
        if YEAR.search(line) and re.search(r"\(\d{4}\)", line):
            block = " ".join(lines[place : place + 3])[:_SELF_MAX_CHARS]
            found = parse_reference(block)
            if found.doi == doi and found.title and _is_same_author(found.title, title):
                return found
    return None


def _is_same_author(first: str, other: str) -> bool:
    plain = [re.sub(r"\W", "", text).lower()[:25] for text in (first, other)]
    return plain[0] == plain[1]


def _find_year(first: str) -> str | None:
    head = first[:4_000]
    for pattern, where in (
        (_PUBLISHED, first),
        (_ARXIV_DATE, first),
        (_COPYRIGHT, first),
        (_MEETING, head),
    ):
        found = pattern.search(where)
        if found:
            return found["year"]
    return None


def _find_journal(first: str) -> Journal | None:
    lines = [line.strip() for line in first.split("\n") if line.strip()]
    for line in (*lines[:6], *lines[-8:]):
        found = _JOURNAL.match(line)
        if found and len(found["name"].split()) >= 2 and len(line) < 160:
            rest = parse_numbers(line[found.end() :])
            return Journal(
                name=found["name"].strip(" ,"),
                volume=rest.volume,
                issue=rest.issue,
                pages=rest.pages,
            )
    return None
