"""Parse what follows the title of a reference: journal or book, volume, pages, editors, publisher.

Limits: linear in the text, which the caller limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.model.bibliography import Author
from fonds.papers.bibliography.reference_names import parse_names

_RANGE = (
    r"[A-Za-z]{0,2}\d{1,7}(?:[.:]\d{1,5})?\s?[-\u2010-\u2015\u2212]{1,2}\s?[A-Za-z]{0,2}\d{1,7}"
)
_LABELLED_PAGES = re.compile(
    rf"[(,\[]?\s*\b(?:pp?|pages?|pgs?|S|str)\b\.?:?\s?(?P<pages>{_RANGE}|[A-Za-z]{{0,2}}\d{{1,7}})[)\]]?",
    re.IGNORECASE,
)
_LABELLED_VOLUME = re.compile(
    r"\bvol(?:ume|\.)?\s?(?P<volume>[\dIVXLC]{1,6}[A-Z]?)\b", re.IGNORECASE
)
_LABELLED_ISSUE = re.compile(
    r"\b(?:no|nr|n|issue|iss|number|num)\b[.\u00b0\u00ba]?\s?(?P<issue>[\w-]{1,12}\d[\w-]{0,5}|\d{1,5})\b",
    re.IGNORECASE,
)
_VOLUME_ISSUE = re.compile(
    r"(?<![\w(-])(?P<volume>[A-Z]?\d{1,5}[A-Z]?)\s?\((?P<issue>(?!(?:1[5-9]"
    r"|20)\d\d\))[\w\u2010-\u2015/ .-]{1,20})\)"
    rf"(?:\s?(?:[,:;]|\((?:1[5-9]|20)\d\d[a-z]?\)[,:]?)?\s?(?P<pages>{_RANGE}|(?!(?:1[5-9]|20)\d\d\b)e?[A-Z]?\d{{1,7}}(?![\w(])))?"
)
_VOLUME_PAGES = re.compile(
    rf"(?<![\w(.-])(?P<volume>[A-Z]?\d{{1,4}}[A-Z]?)(?:\s?[,:;]\s?|\s\((?:1[5-9]|20)\d\d\)[,:]?\s|\s)(?P<pages>{_RANGE}|[A-Za-z]?\d{{1,7}})(?![\w(])"
)
_VOLUME_COMMA_ISSUE = re.compile(
    r"(?<![\w(-])(?P<volume>\d{1,4}),\s(?P<issue>\d{1,3})\s\((?:[A-Z][a-z]+\.?\s)?(?:1[5-9]|20)\d\d\),?\s"
    rf"(?P<pages>{_RANGE}|\d{{1,6}})"
)
_LEADING_VOLUME = re.compile(r"[,.:]\s(?P<volume>\d{1,4})(?=[,:]\s?(?:pp?|pages?|no)\b|\s?$)")
_VOLUME_YEAR = re.compile(
    r"(?<![\w(-])(?P<volume>\d{1,4})\s?\((?:1[5-9]|20)\d\d\)(?:[,:]?\s?(?P<pages>[A-Z]?\d{1,7}))?"
)
_BARE_RANGE = re.compile(rf"(?<![\w.-])(?P<pages>{_RANGE})(?![\w-])")
_DASHES = re.compile(r"\s?[-\u2010-\u2015\u2212]{1,2}\s?")
YEAR = re.compile(
    r"(?<![\w\d./:-])(?<!\d[\u2010-\u2015])(?P<year>1[5-9]\d\d|20[0-4]\d)(?P<letter>[a-z])?(?![\w\d]|[-\u2010-\u2015]\d{2})"
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = re.compile(
    r"\b(?P<month>" + "|".join(_MONTHS) + r")[a-z]{0,6}\b\.?(?: (?P<day>\d{1,2})(?!\d))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReferenceNumbers:
    """Volume, issue and pages in a printed reference.

    - `volume`, `issue`, `pages`: values; None if not found.
    - `begin`: position in the text where the first of the three begins; the length of the text if
      none was found.
    - `has_volume`: whether a volume was found.
    """

    volume: str | None
    issue: str | None
    pages: str | None
    begin: int
    has_volume: bool


def parse_numbers(text: str) -> ReferenceNumbers:
    """Parse volume, issue and pages in the text of a reference.

    Labels such as "pp." are tried first, then the arrangement of the numbers.
    """
    fields: dict[str, str] = {}
    begin = len(text)
    for pattern in (_LABELLED_PAGES, _LABELLED_VOLUME, _LABELLED_ISSUE):
        match = pattern.search(text)
        if match:
            fields |= match.groupdict()
            begin = min(begin, match.start())
    text_without_years = _SEPARATE_YEAR.sub(lambda match: " " * len(match[0]), text)
    for pattern, source in (
        (_VOLUME_COMMA_ISSUE, text),
        (_VOLUME_ISSUE, text),
        (_LEADING_VOLUME, text_without_years),
        (_VOLUME_PAGES, text_without_years),
        (_VOLUME_YEAR, text),
        (_BARE_RANGE, text_without_years),
    ):
        if "volume" in fields and "pages" in fields:
            break
        match = pattern.search(source)
        if match and not _is_year(match.groupdict().get("volume")):
            for name, value in match.groupdict().items():
                if value:
                    fields.setdefault(name, value)
            begin = min(begin, match.start())
    pages = fields.get("pages")
    return ReferenceNumbers(
        volume=fields.get("volume"),
        issue=fields.get("issue"),
        pages=_DASHES.sub("-", pages) if pages else None,
        begin=begin,
        has_volume="volume" in fields,
    )


_SEPARATE_YEAR = re.compile(r"(?:(?<=[,.] )|(?<=^))(?:1[5-9]|20)\d\d(?=[.,;)]|$)")


def _is_year(text: str | None) -> bool:
    return bool(text and YEAR.fullmatch(text))


def parse_date_at(text: str, place: int, year: str) -> str:
    """Return the date to which a year in the text of a reference belongs, as `2011`, `2011-03` or
    `2011-03-28`.

    `place` is the position of the year in the text. Month and day are included if they are near the
    year.
    """
    context = text[max(0, place - 14) : place + 24]
    month = _MONTH.search(context)
    if month is None:
        return year
    number = _MONTHS.index(month["month"].lower()) + 1
    day = int(month["day"]) if month["day"] else 0
    return f"{year}-{number:02d}" + (f"-{day:02d}" if 1 <= day <= 31 else "")


_IN_PREFIX = re.compile(r"^[\s.,]*(?:[Ii]n:?\s+)(?P<rest>.*)$", re.DOTALL)
_LEADING_EDITORS = re.compile(
    r"^(?P<names>[^()]{3,300}?),?\s*[(\[]?\b(?:[Ee]ds?\b\.?|[Ee]ditors?|[Hh]rsg\.?)[)\]]?\s*[.,:]?\s*(?P<rest>.*)$",
    re.DOTALL,
)
_BRACKETS = re.compile(r"\s*[(\[][^)\]]{0,120}[)\]]")
_SERIES = re.compile(
    r"\b(?:Lecture Notes in [A-Z][\w ]{3,40}|LNCS|LNAI|LNBI|CEUR Workshop Proceedings)\b"
)
_PUBLISHER_WORDS = (
    r"Springer|Elsevier|Wiley|Blackwell|Press|Verlag|Publish\w*|Routledge|Sage|SAGE|Academic|McGraw|Addison|Prentice|Pearson"
    r"|Birkh\w+|O['\u2019]Reilly|Zenodo|CRC|Kluwer|North-Holland|Packt|Manning|CEUR-WS\.org|PMLR"
)
_PUBLISHER = re.compile(
    rf"(?:^|[.,:;]\s*)(?P<house>(?:[A-Z][\w&.\u2019'-]*\s){{0,3}}(?:{_PUBLISHER_WORDS})\b"
    r"[\w &\u2019'-]{0,30})"
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
_STRAY_WORD = re.compile(
    r"^(?:and|in|of|the|vol|volume|no|pp|pages|p|to appear|in press|submitted|accepted|unpublished|\W)*$",
    re.IGNORECASE,
)
_BOOK_WORDS = re.compile(
    r"\b(?:Proc(?:eedings|s)?\b|Conference|Conf\.|Symposium|Symp\.|Workshop|Meeting|Congress"
    r"|Advances in|Handbook|Encyclop)",
    re.IGNORECASE,
)
_ABBREVIATIONS = frozenset(
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
_SENTENCE_END = re.compile(r"(?P<word>[\w)\u201d]+)\.\s+(?=[A-Z])")
_DAYS = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Winter|Spring|Summer|Fall|Autumn)\b\.?(?:\s?\d{1,2}(?:[-\u2013]\d{1,2})?,?)?"
)


@dataclass(slots=True)
class ContainerFields:
    """Fields of a reference that follow its title; None or empty if not found."""

    journal: str | None = None
    book_title: str | None = None
    series_title: str | None = None
    editors: tuple[Author, ...] = ()
    publisher: str | None = None
    institution: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None


def parse_container(text: str) -> ContainerFields:
    """Parse the text after the title of a reference."""
    fields = ContainerFields()
    text = text.strip(" ,;:.")
    in_match = _IN_PREFIX.match(text)
    if in_match:
        text = in_match["rest"]
        editors_match = _LEADING_EDITORS.match(text) if "d" in text[:320] else None
        if (
            editors_match
            and not re.search(r"\d{3}", editors_match["names"])
            and not _BOOK_WORDS.search(editors_match["names"])
        ):
            fields.editors = parse_names(editors_match["names"])
            text = editors_match["rest"]
    numbers = parse_numbers(text)
    fields.volume, fields.issue, fields.pages = numbers.volume, numbers.issue, numbers.pages
    is_report = _add_institution(text, fields)
    if not is_report:
        _add_publisher(text, fields)
    head = text[: numbers.begin] if numbers.begin else text
    name = None if is_report else _find_container_name(head, fields)
    if name:
        is_book = bool(in_match) or (bool(_BOOK_WORDS.search(name)) and not numbers.has_volume)
        if is_book:
            fields.book_title = name
        elif numbers.volume or numbers.pages or in_match or not fields.publisher:
            fields.journal = name
    return fields


def _add_institution(text: str, fields: ContainerFields) -> bool:
    """Add the institution of a thesis or report to `fields`. Return whether the text names one."""
    match = _THESIS.search(text) or _REPORT.search(text)
    if match is None:
        return False
    fields.institution = (match["place"] or "").strip(_ENDS) or None
    return True


def _add_publisher(text: str, fields: ContainerFields) -> None:
    """Find the publisher and the series in a text, and add them to `fields`."""
    city = _CITY.search(text)
    house = _PUBLISHER.search(text)
    if city and not parse_numbers(city["city"]).volume:
        fields.publisher = city["house"].strip(_ENDS) or None
    elif house:
        fields.publisher = (house["house"] or house["body"]).strip(_ENDS) or None
    series = _SERIES.search(text)
    if series:
        fields.series_title = series[0]


def _cut_first_sentence(text: str) -> str:
    """Return the text before the first full stop that ends a sentence.

    A full stop after an abbreviation ends no sentence. If no sentence ends, return the whole text.
    """
    for stop in _SENTENCE_END.finditer(text):
        word = stop["word"]
        if (
            len(word) > 1
            and word[-1] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
            and word not in _ABBREVIATIONS
        ):
            return text[: stop.start("word") + len(word)]
    return text


def _find_container_name(head: str, fields: ContainerFields) -> str | None:
    """Return the name of the journal or book in `head`, or None.

    `head` is the text between the title and the volume, issue or pages. Year, publisher and series
    are removed from the name.
    """
    name = _BRACKETS.sub("", head)
    year = YEAR.search(name)
    if year and year.start() > 3:
        name = (
            name[: year.end()]
            if _BOOK_WORDS.search(name[: year.end()]) and name[year.end() :].strip(_ENDS) == ""
            else name[: year.start()]
        )
    for part in (fields.publisher, fields.series_title):
        position = name.find(part) if part else -1
        if position > 3:
            name = name[:position]
    name = _DAYS.sub("", name) if _DAYS.search(name) else name
    name = _cut_first_sentence(name.lstrip(_ENDS))
    pieces = name.split(", ")
    if _BOOK_WORDS.search(pieces[0]) or fields.volume:
        name_pieces = pieces[:1] if _BOOK_WORDS.search(pieces[0]) else pieces
        name = ", ".join(name_pieces)
    name = " ".join(name.split()).strip(' ,;:([\u201c\u201d"*_/')
    if "." not in name[:-1] and name[:-1] not in _ABBREVIATIONS:
        name = name.rstrip(". ")
    return (
        None
        if _STRAY_WORD.match(name) or sum(map(str.isalpha, name)) < 2 or len(name) > 300
        else name
    )
