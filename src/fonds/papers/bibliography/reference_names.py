"""The names at the beginning of a reference, in the orders and punctuations styles have.

Bound: linear in the text, which is cut at 3,000 characters; 200 names.
"""

from __future__ import annotations

import re

from fonds.papers.bibliography.paper import Author

TEXT_MAX_CHARS, NAMES_MAX = 3_000, 200
UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017d\u0386-\u03ab\u0410-\u042f"
_WORD = rf"[{UPPER}][\w\u2019'\u2010-\u2011-]*[\w]"
_PARTICLE = (
    r"(?:(?:[Vv]an|[Vv]on|[Dd]e|[Dd]er|[Dd]en|[Dd]el|[Dd]ella|[Dd]i|[Dd]a|[Dd]os|[Dd]u|[Ll]a|[Ll]e|[Tt]en|[Tt]er"
    r"|[Bb]in|[Ii]bn|[Aa]l|[Ee]l|[Zz]u|[Zz]ur|y|d\u2019|d')[ -]|[dDO]['\u2019])"
)
SURNAME = rf"(?:{_PARTICLE}{{0,3}}{_WORD}(?:[ -]{_PARTICLE}{{0,2}}{_WORD}){{0,2}})"
_SURNAME = rf"(?:{_PARTICLE}{{0,3}}{_WORD})"
_INITIAL = rf"(?:(?:Ch|Chr|Dz|Kh|Ph|Sh|St|Th|Ts|Ya|Ye|Yu|Zh|[{UPPER}])\.)"
INITIALS = rf"(?:{_INITIAL}(?:[ ,]?-?{_INITIAL}){{0,4}}|[{UPPER}](?:\. ?|[ -])[{UPPER}]\.)"
_BARE_INITIALS = rf"(?:[{UPPER}](?:[ -]?[{UPPER}]){{0,3}})(?!\w)(?!\.[{UPPER}])"
_SUFFIX = r"(?:,? (?:Jr|Sr|II|III|IV)\b\.?)?"
_GIVEN_NAMES = rf"{_WORD}(?:[ -](?:[{UPPER}]\.|{_WORD})){{0,2}}"

# Each form of one name; the first that goes on the longest is taken for the whole list.
_FORMS = {
    "inverted": re.compile(rf"(?P<surname>{SURNAME}),? ?(?P<given>{INITIALS}){_SUFFIX}"),
    "initials": re.compile(rf"(?P<given>{INITIALS}) ?(?P<surname>{SURNAME}){_SUFFIX}"),
    "dotless": re.compile(
        rf"(?P<given>[{UPPER}](?:[ -]?[{UPPER}]){{0,2}}) (?P<surname>{SURNAME}){_SUFFIX}"
    ),
    "bare": re.compile(rf"(?P<surname>{SURNAME}),? (?P<given>{_BARE_INITIALS}){_SUFFIX}"),
    "full": re.compile(
        rf"(?P<given>{_WORD}(?: (?:[{UPPER}]\.(?:[ -]?[{UPPER}]\.)*"
        rf"|{_WORD})){{0,2}}) (?P<surname>{_SURNAME}){_SUFFIX}"
    ),
}
_INVERTED_FULL = re.compile(rf"(?P<surname>{SURNAME}), (?P<given>{_GIVEN_NAMES})(?!\w)")
_BETWEEN = re.compile(
    r"\s*(?:[,;]\s*(?:and\b|&|und\b|et\b(?! al)|y\b)?|\band\b|&|\bund\b|\bet\b(?! al)"
    r"|\by\b)\s*(?:\.\s?\.\s?\.|…|\. \. \.)?\s*"
)
_ET_AL = re.compile(r"\s*[,;]?\s*(?:and |& )?(?:et\.? ?al\b\.?|others\b\.?|u\. ?a\.)")
_EDITORS = re.compile(r"[,.]?\s*[(\[]?\b(?:eds?|editors?|Hrsg)\b\.?[)\]]?\.?", re.IGNORECASE)
_NO_NAME = re.compile(
    r"(?:(?:The|On|An?|In|Using|Towards?|How|What|Why|From|For|With|Proceedings|Journal|International|University"
    r"|Introduction|Handbook|Advances|Analysis|Learning|Lecture|New) |(?:Proc|Phys|Rev|Nature"
    r"|IEEE|ACM|Vol)\b)"
)
_SPLIT_LIST = re.compile(r"\s*;\s*")


_RUN_TOGETHER = re.compile(rf"(?<=[{UPPER}])(?=[{UPPER}](?:[{UPPER}]|$|\b))")
_PARTS = re.compile(r"[.\s]+")
_CONTINUATION = re.compile(r"[\s:](?!(?:and|et|und|y)\s[^a-z])[a-z]")
_LIST = re.compile(r",| and | & ")
_NameMatches = tuple[list["re.Match[str]"], int]


def parse_leading_names(text: str) -> tuple[tuple[Author, ...], int]:
    """The names a text begins with, and where they end; (), 0 where it begins with none."""
    found, end = _find_longest_match(text[:TEXT_MAX_CHARS])
    return tuple(build_author(one["given"], one["surname"]) for one in found), end


def find_names_end(text: str) -> int:
    """Where the names a text begins with end; 0 where it begins with none."""
    return _find_longest_match(text[:TEXT_MAX_CHARS])[1]


def _find_longest_match(text: str) -> _NameMatches:
    """The form that reaches farthest is the list's: no style mixes two but for its first name."""
    best: _NameMatches = ([], 0)
    for name in _FORMS:
        found = _run(text, name)
        if found[1] > best[1]:
            best = found
            if len(found[0]) > 1 and text[found[1] : found[1] + 1] not in ",;":
                break
    return best


def _run(text: str, form: str) -> _NameMatches:
    found: list[re.Match[str]] = []
    place = end = 0
    while len(found) < NAMES_MAX:
        match = _match_next(text, place, form, first=not found)
        if match is None or _NO_NAME.match(match[0]):
            break
        found.append(match)
        end = match.end()
        between = _BETWEEN.match(text, end)
        place = between.end() if between else end
        others = _ET_AL.match(text, end) or _ET_AL.match(text, place)
        if others:
            return found, others.end()
        if place == end:
            break
    if form == "full" and found and _CONTINUATION.match(text, end):
        # `Hill A. Rivers that rise`: what looks like a family name begins a title.
        found.pop()
        end = found[-1].end() if found else 0
    return found, end


def _match_next(text: str, place: int, form: str, *, first: bool) -> re.Match[str] | None:
    match = _FORMS[form].match(text, place)
    if match is None and not first and form in ("inverted", "bare"):
        # Chicago and MLA turn the first name alone round.
        match = _FORMS["initials" if form == "inverted" else "full"].match(text, place)
    if match is None and first and form == "full":
        match = _INVERTED_FULL.match(text, place)
    return match


def build_author(given_name: str, surname: str) -> Author:
    """An author of a given and a family name, the first apart from the middle ones; initials without dots,
    as GROBID writes them."""
    spaced = _RUN_TOGETHER.sub(" ", given_name.strip(" ,"))
    parts = [one.strip("-") for one in _PARTS.split(spaced.replace(".-", ". -")) if one.strip("-")]
    surname = " ".join(surname.split())
    return Author(
        name=" ".join((*parts, surname)),
        given_name=parts[0] if parts else None,
        middle_name=" ".join(parts[1:]) or None,
        surname=surname,
    )


def parse_names(block: str) -> tuple[Author, ...]:
    """All names of a block that is nothing but names; what is none in any form is one name as it stands."""
    block = _EDITORS.sub("", block[:TEXT_MAX_CHARS]).lstrip(" ,.;:&").rstrip(" ,;:&")
    if not block:
        return ()
    found, end = parse_leading_names(block)
    if end >= len(block) - 2:
        return found
    rest = block[end:].strip(" ,;.&")
    if ";" in block:
        parts = [one for one in _SPLIT_LIST.split(block) if one][:NAMES_MAX]
        return tuple(
            parse_leading_names(one)[0][0]
            if parse_leading_names(one)[0]
            else _build_bare_author(one)
            for one in parts
        )
    if found:
        return (
            *found,
            *(_parse_single_name(one) for one in _LIST.split(rest)[:20] if _is_bare(one)),
        )
    return (_build_bare_author(block),)


def _parse_single_name(text: str) -> Author:
    found, end = parse_leading_names(text)
    return found[0] if len(found) == 1 and end >= len(text) - 2 else _build_bare_author(text)


def _is_bare(text: str) -> bool:
    return sum(map(str.isalpha, text)) > 2 and len(text) < 80


def _build_bare_author(text: str) -> Author:
    return Author(name=" ".join(text.split())[:200])
