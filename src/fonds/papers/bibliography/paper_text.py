"""Read a paper's bibliography from the text of its PDF, without a GROBID server.

Affiliations are read from the lines below the title, by marks or by order.
Limits: linear in the text. The front is searched in 12,000 characters and references in 300,000.
For affiliations, 45 lines of 200 characters, 100 authors and 40 affiliations are considered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fonds.model.bibliography import Affiliation, Author, Journal
from fonds.papers.bibliography.paper import Paper, encode_object
from fonds.papers.bibliography.reference_containers import YEAR, parse_numbers
from fonds.papers.bibliography.reference_list import split_entries
from fonds.papers.bibliography.reference_names import parse_names
from fonds.papers.bibliography.reference_parser import parse_reference

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
_NEXT_MARK = re.compile(rf"(?<=[A-Za-z.,;])\s+(?=(?:\d{{1,2}}|{_SIGN})\s?[A-Z])")


@dataclass(frozen=True, slots=True)
class AffiliationLine:
    """Affiliation on a line of a paper's first page.

    - `line`: number of the line on the page, from 0.
    - `mark`: sign before the affiliation that also follows the names of its authors, such as `1` or
      `*`; "" if there is none.
    - `affiliation`: affiliation without the mark.
    """

    line: int
    mark: str
    affiliation: Affiliation


def add_affiliations(authors: Sequence[Author], head: str) -> tuple[Author, ...]:
    """Return the authors with their affiliations from `head`, the text above the abstract.

    A mark after an author's name refers to the line that begins with the same mark. Without marks,
    the affiliations of an author are on the lines between the author's line and the next line with
    authors. A single affiliation belongs to all authors.
    """
    lines = [" ".join(line.translate(_PLAIN).split()) for line in head.split("\n")[:LINES_MAX]]
    places = _parse_places(lines)
    if not places or len(authors) > AUTHORS_MAX:
        return tuple(authors)
    positions = {author: _find_line(author, lines) for author in authors}
    marked_lines = {line.mark: line for line in reversed(places) if line.mark}
    affiliations = _match_by_marks(positions, lines, marked_lines) if marked_lines else {}
    if not affiliations:
        affiliations = _match_by_order(positions, places)
    return tuple(_set_affiliations(author, affiliations.get(author, ())) for author in authors)


def parse_affiliation(text: str) -> Affiliation:
    """Parse a printed affiliation.

    Institution, department and laboratory are recognised by typical words.
    """
    pieces = [piece.strip(" .;") for piece in re.split(r",\s|;\s", text)]

    def first(words: str) -> str | None:
        return next((piece for piece in pieces if re.search(words, piece)), None)

    return Affiliation(
        institution=first(r"Universi|Institut|College|Academy|Polytechni|ETH"),
        department=first(r"Department|Dept\.|School of|Facult"),
        laboratory=first(r"Laborator|\bLabs?\b"),
        unstructured=text,
    )


def _parse_places(lines: Sequence[str]) -> list[AffiliationLine]:
    """Return the affiliations in the lines below the title, in order, each with its mark.

    A mark is a sign such as `1` or `*` that also follows authors' names. A line with several marks
    may name several affiliations.
    """
    affiliations = []
    for number, full_line in enumerate(lines):
        line = full_line[:LINE_MAX_CHARS]
        for piece in _NEXT_MARK.split(line) if _MARKED.match(line) else [line]:
            mark_match = _MARKED.match(piece)
            text = piece[mark_match.end() if mark_match else 0 :].strip(" ,;")
            mark = mark_match["mark"] if mark_match else ""
            is_affiliation = _PLACE.search(text) or (mark.isdigit() and "," in text)
            if len(text) > 7 and "@" not in text and is_affiliation:
                affiliations.append(AffiliationLine(number, mark, parse_affiliation(text)))
    return affiliations[:PLACES_MAX]


def _find_line(author: Author, lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the number of the line with an author's name, and the position in this line where the
    name ends; None if no line has the name.
    """
    names = (author.name, author.surname or author.name)
    for name in names:
        for number, line in enumerate(lines):
            if (
                len(name) > 2
                and (position := line.find(name)) >= 0
                and not _PLACE.search(line[:position])
            ):
                return number, position + len(name)
    return None


def _match_by_marks(
    positions: Mapping[Author, tuple[int, int] | None],
    lines: Sequence[str],
    marked_lines: Mapping[str, AffiliationLine],
) -> dict[Author, list[Affiliation]]:
    """Return the affiliations of each author, matched by marks (signs such as `1` or `*`).

    The result is empty if fewer than half of the authors have the mark of an affiliation.
    """
    affiliations = {}
    for author, position in positions.items():
        match = _MARKS.match(lines[position[0]], position[1]) if position else None
        marks = dict.fromkeys(_MARK.findall(match[0])) if match else {}
        if author_affiliations := [
            marked_lines[mark].affiliation for mark in marks if mark in marked_lines
        ]:
            affiliations[author] = author_affiliations
    return affiliations if 2 * len(affiliations) >= len(positions) else {}


def _match_by_order(
    positions: Mapping[Author, tuple[int, int] | None], places: Sequence[AffiliationLine]
) -> dict[Author, list[Affiliation]]:
    """Return the affiliations of each author, matched by the order of lines.

    A single affiliation belongs to all authors. Otherwise each group of authors has the
    affiliations on the lines below the group. The result is empty if an affiliation is above all
    authors.
    """
    if len({place.affiliation for place in places}) == 1:
        return {author: [places[0].affiliation] for author in positions}
    begins = sorted({position[0] for position in positions.values() if position})
    if not begins or places[0].line < begins[0]:
        return {}
    blocks = dict(_iter_blocks(begins, places))
    return {
        author: blocks[position[0]]
        for author, position in positions.items()
        if position and blocks.get(position[0])
    }


def _iter_blocks(
    begins: Sequence[int], places: Sequence[AffiliationLine]
) -> Iterator[tuple[int, list[Affiliation]]]:
    """Yield the number of each line with authors, and the affiliations between this line and the
    next line with authors.

    A line with no affiliations below it has those of the following line with authors.
    """
    affiliations: list[Affiliation] = []
    for begin, end in reversed([*zip(begins, [*begins[1:], LINES_MAX], strict=True)]):
        affiliations = [
            place.affiliation
            for place in places
            if begin < place.line < min(end, begin + BELOW_MAX)
        ] or affiliations
        yield begin, affiliations


def _set_affiliations(author: Author, places: Sequence[Affiliation]) -> Author:
    if not places:
        return author
    first, *further_affiliations = places[:PER_AUTHOR_MAX]
    return msgspec.structs.replace(
        author, affiliation=first, affiliations=tuple(further_affiliations)
    )


VERSION = "fonds-bibliography/3"
"""Version of the extractor of bibliographies from PDF text. If its results change, change this
version and that of the PDF extractor.
"""
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
    """Read the bibliography of a paper from its text. Return a JSON object without full text.

    `fields` has `title`, `authors`, `doi` and `arxiv_id` if the caller knows them. Returns None if
    there is no text.
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
        citations=tuple(parse_reference(entry, index) for index, entry in enumerate(entries)),
        abstract=_find_abstract(front),
        language_code=language,
        **_find_publication(first, fields),
    )
    return encode_object(paper)


def _parse_authors(names: Sequence[str], first: str) -> tuple[Author, ...]:
    return add_affiliations(
        [_parse_author(author_name) for author_name in names], _ABSTRACT.split(first, maxsplit=1)[0]
    )


def _parse_author(name: str) -> Author:
    authors = parse_names(name)
    if len(authors) == 1 and authors[0].surname:
        return authors[0]
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
    joined_text = re.sub(r"(?<=[a-z])-\s*\n\s*(?=[a-z])", "", text)
    plain = " ".join(joined_text.split())[:ABSTRACT_MAX_CHARS]
    return plain if len(plain.split()) >= 10 else None


def _find_publication(first: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the date and journal of a paper as a mapping with the keys `date` and `journal`.

    Both come from the citation of the paper itself that its first page prints, otherwise from other
    text of the first page.
    """
    self_citation = _find_self_citation(first, fields)
    if self_citation is not None and (self_citation.journal or self_citation.date):
        journal = Journal(
            name=self_citation.journal,
            volume=self_citation.volume,
            issue=self_citation.issue,
            pages=self_citation.pages,
        )
        date = self_citation.date or _find_year(first)
        return {"journal": journal if self_citation.journal else None, "date": date}
    return {"journal": _find_journal(first), "date": _find_year(first)}


def _find_self_citation(first: str, fields: Mapping[str, Any]) -> Any:
    """Return the citation of the paper itself that many journals print at the foot of its first
    page; None if there is none.
    """
    doi, title = fields.get("doi"), fields.get("title")
    if not doi or not title:
        return None
    lines = [line.strip() for line in first.split("\n") if line.strip()]
    for number, line in enumerate(lines):
        if YEAR.search(line) and re.search(r"\(\d{4}\)", line):
            block = " ".join(lines[number : number + 3])[:_SELF_MAX_CHARS]
            reference = parse_reference(block)
            if reference.doi == doi and reference.title and _is_same_author(reference.title, title):
                return reference
    return None


def _is_same_author(first: str, other_author: str) -> bool:
    plain = [re.sub(r"\W", "", text).lower()[:25] for text in (first, other_author)]
    return plain[0] == plain[1]


def _find_year(first: str) -> str | None:
    head = first[:4_000]
    for pattern, search_text in (
        (_PUBLISHED, first),
        (_ARXIV_DATE, first),
        (_COPYRIGHT, first),
        (_MEETING, head),
    ):
        match = pattern.search(search_text)
        if match:
            return match["year"]
    return None


def _find_journal(first: str) -> Journal | None:
    lines = [line.strip() for line in first.split("\n") if line.strip()]
    for line in (*lines[:6], *lines[-8:]):
        match = _JOURNAL.match(line)
        if match and len(match["name"].split()) >= 2 and len(line) < 160:
            numbers = parse_numbers(line[match.end() :])
            return Journal(
                name=match["name"].strip(" ,"),
                volume=numbers.volume,
                issue=numbers.issue,
                pages=numbers.pages,
            )
    return None
