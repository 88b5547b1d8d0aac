"""Journal, book, series, editors and publisher in what stands behind the title of a reference.

Bound: linear in the text, which the caller limits.
"""

from __future__ import annotations

import re
from typing import Any

from fonds.bibliography.references.names import names_in
from fonds.bibliography.references.numbers import YEAR, numbers_in

_IN = re.compile(r"^[\s.,]*(?:[Ii]n:?\s+)(?P<rest>.*)$", re.DOTALL)
_EDITORS_BEFORE = re.compile(
    r"^(?P<names>[^()]{3,300}?),?\s*[(\[]?\b(?:[Ee]ds?\b\.?|[Ee]ditors?|[Hh]rsg\.?)[)\]]?\s*[.,:]?\s*(?P<rest>.*)$",
    re.DOTALL,
)
_BRACKETS = re.compile(r"\s*[(\[][^)\]]{0,120}[)\]]")
_SERIES = re.compile(
    r"\b(?:Lecture Notes in [A-Z][\w ]{3,40}|LNCS|LNAI|LNBI|CEUR Workshop Proceedings)\b"
)
_HOUSES = (
    r"Springer|Elsevier|Wiley|Blackwell|Press|Verlag|Publish\w*|Routledge|Sage|SAGE|Academic|McGraw|Addison|Prentice|Pearson"
    r"|Birkh\w+|O['\u2019]Reilly|Zenodo|CRC|Kluwer|North-Holland|Packt|Manning|CEUR-WS\.org|PMLR"
)
_HOUSE = re.compile(
    rf"(?:^|[.,:;]\s*)(?P<house>(?:[A-Z][\w&.\u2019'-]*\s){{0,3}}(?:{_HOUSES})\b[\w &\u2019'-]{{0,30}})"
    r"|[.,:;]\s(?P<body>IEEE(?: Computer Society| Press)?|ACM|AAAI|ACL|GitHub|USENIX)(?=\s?(?:[,.;]|$))"
)
_CITY = re.compile(
    r"(?:^|[.;)]\s)(?P<city>[A-Z][\w.]+(?: [A-Z][\w.]+)?(?:, [A-Z][\w. ]{1,20})?):\s"
    r"(?P<house>[A-Z][^,;:.]{2,60})"
)
_THESIS = re.compile(
    r"\b(?:Ph\.?\s?D\.?|Doctoral|Master['\u2019]?s?|M\.?\s?Sc\.?|Bachelor['\u2019]?s?)\s(?:[Tt]hesis|[Dd]issertation)\b[.,)\]]*\s*(?P<place>[A-Z][^.,;\d]{3,80})?"
)
_REPORT = re.compile(
    r"\b(?:Tech(?:nical|\.)?\s[Rr]ep(?:ort|\.)|[Ww]orking [Pp]aper"
    r"|[Rr]eport)\b[^,;]{0,40}[,;]\s*(?P<place>[A-Z][^.,;\d]{3,80})"
)
_ENDS = " ,.;:()[]\u201c\u201d\"'*_/"
_NOTHING = re.compile(
    r"^(?:and|in|of|the|vol|volume|no|pp|pages|p|to appear|in press|submitted|accepted|unpublished|\W)*$",
    re.IGNORECASE,
)
_BOOKISH = re.compile(
    r"\b(?:Proc(?:eedings|s)?\b|Conference|Conf\.|Symposium|Symp\.|Workshop|Meeting|Congress"
    r"|Advances in|Handbook|Encyclop)",
    re.IGNORECASE,
)
_SHORTENED = frozenset(
    {"Int", "Symp", "Proc", "Conf", "Trans", "Commun", "Lett", "Soc", "Am", "Natl", "Acad", "Sci"}
    | {"Math", "Comput", "Mon", "Not", "Astron", "Astrophys", "Appl", "Chem", "Biol", "Med", "Eng"}
    | {
        "Assoc",
        "Bull",
        "Inf",
        "Intl",
        "Mech",
        "Nat",
        "Res",
        "Tech",
        "Theor",
        "Univ",
        "Ser",
        "Suppl",
    }
    | {"Phys", "Rev", "Adv", "Ann", "Roy", "Stat"}
)
_STOP = re.compile(r"(?P<word>[\w)\u201d]+)\.\s+(?=[A-Z])")
_DAYS = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Winter|Spring|Summer|Fall|Autumn)\b\.?(?:\s?\d{1,2}(?:[-\u2013]\d{1,2})?,?)?"
)


def container_of(text: str) -> dict[str, Any]:
    """`journal` or `book_title`, `volume`, `issue`, `pages`, `editors`, `publisher`, `institution`,
    `series_title`: those that are there."""
    found: dict[str, Any] = {}
    text = text.strip(" ,;:.")
    inside = _IN.match(text)
    if inside:
        text = inside["rest"]
        edited = _EDITORS_BEFORE.match(text) if "d" in text[:320] else None
        if (
            edited
            and not re.search(r"\d{3}", edited["names"])
            and not _BOOKISH.search(edited["names"])
        ):
            found["editors"] = names_in(edited["names"])
            text = edited["rest"]
    numbers = numbers_in(text)
    found |= {"volume": numbers.volume, "issue": numbers.issue, "pages": numbers.pages}
    _made(text, found)
    head = text[: numbers.begin] if numbers.begin else text
    name = None if "institution" in found else _named(head, found)
    if name:
        is_book = bool(inside) or (bool(_BOOKISH.search(name)) and not numbers.has_volume)
        key = "book_title" if is_book else "journal"
        if numbers.volume or numbers.pages or inside or is_book or not found.get("publisher"):
            found[key] = name
    return found


def _made(text: str, found: dict[str, Any]) -> None:
    """Who brought it out: a house, a university, a laboratory."""
    thesis = _THESIS.search(text)
    if thesis:
        found["institution"] = (thesis["place"] or "").strip(_ENDS) or None
        return
    report = _REPORT.search(text)
    if report:
        found["institution"] = report["place"].strip(_ENDS) or None
        return
    city = _CITY.search(text)
    house = _HOUSE.search(text)
    if city and not numbers_in(city["city"]).volume:
        found["publisher"] = city["house"].strip(_ENDS) or None
    elif house:
        found["publisher"] = (house["house"] or house["body"]).strip(_ENDS) or None
    series = _SERIES.search(text)
    if series:
        found["series_title"] = series[0]


def _first_sentence(text: str) -> str:
    """Up to the first full stop that is not that of a shortened word."""
    for stop in _STOP.finditer(text):
        word = stop["word"]
        if (
            len(word) > 1
            and word[-1] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
            and word not in _SHORTENED
        ):
            return text[: stop.start("word") + len(word)]
    return text


def _named(head: str, found: dict[str, Any]) -> str | None:
    """What the journal or book is called: what stands before its numbers, without year, house and place."""
    name = _BRACKETS.sub("", head)
    year = YEAR.search(name)
    if year and year.start() > 3:
        name = (
            name[: year.end()]
            if _BOOKISH.search(name[: year.end()]) and name[year.end() :].strip(_ENDS) == ""
            else name[: year.start()]
        )
    for part in (found.get("publisher"), found.get("series_title")):
        at = name.find(part) if part else -1
        if at > 3:
            name = name[:at]
    name = _DAYS.sub("", name) if _DAYS.search(name) else name
    name = _first_sentence(name.lstrip(_ENDS))
    pieces = name.split(", ")
    if _BOOKISH.search(pieces[0]) or found.get("volume"):
        kept = pieces[:1] if _BOOKISH.search(pieces[0]) else pieces
        name = ", ".join(kept)
    name = " ".join(name.split()).strip(' ,;:([\u201c\u201d"*_/')
    if "." not in name[:-1] and name[:-1] not in _SHORTENED:
        name = name.rstrip(".")
    return (
        None if _NOTHING.match(name) or sum(map(str.isalpha, name)) < 2 or len(name) > 300 else name
    )
