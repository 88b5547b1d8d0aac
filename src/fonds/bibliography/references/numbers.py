"""Year, volume, issue and pages in what a reference says of where it appeared.

Bound: linear in the text, which the caller limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_RANGE = (
    r"[A-Za-z]{0,2}\d{1,7}(?:[.:]\d{1,5})?\s?[-\u2010-\u2015\u2212]{1,2}\s?[A-Za-z]{0,2}\d{1,7}"
)
_PAGES_SAID = re.compile(
    rf"[(,\[]?\s*\b(?:pp?|pages?|pgs?|S|str)\b\.?:?\s?(?P<pages>{_RANGE}|[A-Za-z]{{0,2}}\d{{1,7}})[)\]]?",
    re.IGNORECASE,
)
_VOLUME_SAID = re.compile(r"\bvol(?:ume|\.)?\s?(?P<volume>[\dIVXLC]{1,6}[A-Z]?)\b", re.IGNORECASE)
_ISSUE_SAID = re.compile(
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
_VOLUME_BEFORE = re.compile(r"[,.:]\s(?P<volume>\d{1,4})(?=[,:]\s?(?:pp?|pages?|no)\b|\s?$)")
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
class Numbers:
    """What was found, and where in the text its first number begins; `begin` is the length where there is
    none."""

    volume: str | None
    issue: str | None
    pages: str | None
    begin: int
    has_volume: bool


def numbers_in(text: str) -> Numbers:
    """Volume, issue and pages: those that say which they are, else by how they stand together."""
    found: dict[str, str] = {}
    begin = len(text)
    for pattern in (_PAGES_SAID, _VOLUME_SAID, _ISSUE_SAID):
        match = pattern.search(text)
        if match:
            found |= match.groupdict()
            begin = min(begin, match.start())
    bare = _YEAR_APART.sub(lambda one: " " * len(one[0]), text)
    for pattern, source in (
        (_VOLUME_COMMA_ISSUE, text),
        (_VOLUME_ISSUE, text),
        (_VOLUME_BEFORE, bare),
        (_VOLUME_PAGES, bare),
        (_VOLUME_YEAR, text),
        (_BARE_RANGE, bare),
    ):
        if "volume" in found and "pages" in found:
            break
        match = pattern.search(source)
        if match and not _is_year(match.groupdict().get("volume")):
            for name, value in match.groupdict().items():
                if value:
                    found.setdefault(name, value)
            begin = min(begin, match.start())
    pages = found.get("pages")
    return Numbers(
        volume=found.get("volume"),
        issue=found.get("issue"),
        pages=_DASHES.sub("-", pages) if pages else None,
        begin=begin,
        has_volume="volume" in found,
    )


_YEAR_APART = re.compile(r"(?:(?<=[,.] )|(?<=^))(?:1[5-9]|20)\d\d(?=[.,;)]|$)")


def _is_year(text: str | None) -> bool:
    return bool(text and YEAR.fullmatch(text))


def date_at(text: str, place: int, year: str) -> str:
    """The year with the month and day that stand beside it."""
    beside = text[max(0, place - 14) : place + 24]
    month = _MONTH.search(beside)
    if month is None:
        return year
    number = _MONTHS.index(month["month"].lower()) + 1
    day = int(month["day"]) if month["day"] else 0
    return f"{year}-{number:02d}" + (f"-{day:02d}" if 1 <= day <= 31 else "")
