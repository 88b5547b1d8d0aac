"""A paper's bibliography out of the text of its PDF, without a server.

Bound: linear in the text; the front is looked for in 12,000 characters, references in 300,000.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fonds.bibliography.affiliations import with_affiliations
from fonds.bibliography.paper import Author, Journal, Paper, to_object
from fonds.bibliography.references import entries_of, parse_reference
from fonds.bibliography.references.names import names_in
from fonds.bibliography.references.numbers import YEAR, numbers_in

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
    text: str | None, known: Mapping[str, Any], language: str | None
) -> dict[str, Any] | None:
    """The JSON object of a paper, without full text; None where there is no text.

    `known` holds `title`, `authors`, `doi` and `arxiv_id` as they were found already.
    """
    if not text:
        return None
    entries = entries_of(text)
    front = text[:FRONT_MAX_CHARS]
    first = front.partition("\f")[0]
    paper = Paper(
        grobid_version=VERSION,
        title=known.get("title"),
        authors=_authors(known.get("authors") or (), first),
        doi=known.get("doi"),
        arxiv_id=known.get("arxiv_id"),
        citations=tuple(parse_reference(one, index) for index, one in enumerate(entries)),
        abstract=_abstract(front),
        language_code=language,
        **_appeared(first, known),
    )
    return to_object(paper)


def _authors(names: Sequence[str], first: str) -> tuple[Author, ...]:
    return with_affiliations([_author(one) for one in names], _ABSTRACT.split(first, maxsplit=1)[0])


def _author(name: str) -> Author:
    found = names_in(name)
    if len(found) == 1 and found[0].surname:
        return found[0]
    parts = name.split()
    if len(parts) < 2:
        return Author(name=name)
    return Author(
        name=name, given_name=parts[0], middle_name=" ".join(parts[1:-1]) or None, surname=parts[-1]
    )


def _abstract(front: str) -> str | None:
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


def _appeared(first: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Date and journal: as the paper asks to be cited, else as its first page says."""
    own = _self_citation(first, known)
    if own is not None and (own.journal or own.date):
        journal = Journal(name=own.journal, volume=own.volume, issue=own.issue, pages=own.pages)
        date = own.date or _year(first)
        return {"journal": journal if own.journal else None, "date": date}
    return {"journal": _journal(first), "date": _year(first)}


def _self_citation(first: str, known: Mapping[str, Any]) -> Any:
    """The reference to itself many journals print at the foot of the first page."""
    doi, title = known.get("doi"), known.get("title")
    if not doi or not title:
        return None
    lines = [line.strip() for line in first.split("\n") if line.strip()]
    for place, line in enumerate(lines):
        if YEAR.search(line) and re.search(r"\(\d{4}\)", line):
            block = " ".join(lines[place : place + 3])[:_SELF_MAX_CHARS]
            found = parse_reference(block)
            if found.doi == doi and found.title and _alike(found.title, title):
                return found
    return None


def _alike(one: str, other: str) -> bool:
    plain = [re.sub(r"\W", "", text).lower()[:25] for text in (one, other)]
    return plain[0] == plain[1]


def _year(first: str) -> str | None:
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


def _journal(first: str) -> Journal | None:
    lines = [line.strip() for line in first.split("\n") if line.strip()]
    for line in (*lines[:6], *lines[-8:]):
        found = _JOURNAL.match(line)
        if found and len(found["name"].split()) >= 2 and len(line) < 160:
            rest = numbers_in(line[found.end() :])
            return Journal(
                name=found["name"].strip(" ,"),
                volume=rest.volume,
                issue=rest.issue,
                pages=rest.pages,
            )
    return None
