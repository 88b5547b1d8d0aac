"""Parse the author names at the beginning of a reference, in the forms of many citation styles.

Limits: linear in the text, which is cut at 3,000 characters; at most 200 names.
"""

from __future__ import annotations

import re

from fonds.model.bibliography import Author

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

# Forms of one name. The form that matches the longest part is used for the whole list.
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
_SEPARATOR = re.compile(
    r"\s*(?:[,;]\s*(?:and\b|&|und\b|et\b(?! al)|y\b)?|\band\b|&|\bund\b|\bet\b(?! al)"
    r"|\by\b)\s*(?:\.\s?\.\s?\.|…|\. \. \.)?\s*"
)
_ET_AL = re.compile(r"\s*[,;]?\s*(?:and |& )?(?:et\.? ?al\b\.?|others\b\.?|u\. ?a\.)")
_EDITORS = re.compile(r"[,.]?\s*[(\[]?\b(?:eds?|editors?|Hrsg)\b\.?[)\]]?\.?", re.IGNORECASE)
_NOT_A_NAME = re.compile(
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
    """Return the names at the beginning of a text, and the position where they end.

    Returns ((), 0) if the text begins with no names.
    """
    matches, end = _find_longest_match(text[:TEXT_MAX_CHARS])
    return tuple(build_author(match["given"], match["surname"]) for match in matches), end


def find_names_end(text: str) -> int:
    """Return the position at which the author names at the beginning of a text end.

    Returns 0 if the text does not begin with names.
    """
    return _find_longest_match(text[:TEXT_MAX_CHARS])[1]


def _find_longest_match(text: str) -> _NameMatches:
    """Match the names at the beginning of a text with each known form of author names.

    Return the longest match: the names and the position where they end. A citation style uses one
    form for all names, except for the first name.
    """
    best: _NameMatches = ([], 0)
    for name in _FORMS:
        result = _match_names(text, name)
        if result[1] > best[1]:
            best = result
            if len(result[0]) > 1 and text[result[1] : result[1] + 1] not in ",;":
                break
    return best


def _match_names(text: str, form: str) -> _NameMatches:
    matches: list[re.Match[str]] = []
    position = end = 0
    while len(matches) < NAMES_MAX:
        match = _match_next(text, position, form, first=not matches)
        if match is None or _NOT_A_NAME.match(match[0]):
            break
        matches.append(match)
        end = match.end()
        separator = _SEPARATOR.match(text, end)
        position = separator.end() if separator else end
        et_al = _ET_AL.match(text, end) or _ET_AL.match(text, position)
        if et_al:
            return matches, et_al.end()
        if position == end:
            break
    if form == "full" and matches and _CONTINUATION.match(text, end):
        # In `Hill A. Rivers that rise` the word that looks like a family name begins the title.
        matches.pop()
        end = matches[-1].end() if matches else 0
    return matches, end


def _match_next(text: str, place: int, form: str, *, first: bool) -> re.Match[str] | None:
    match = _FORMS[form].match(text, place)
    if match is None and not first and form in ("inverted", "bare"):
        # Chicago and MLA invert only the first name.
        match = _FORMS["initials" if form == "inverted" else "full"].match(text, place)
    if match is None and first and form == "full":
        match = _INVERTED_FULL.match(text, place)
    return match


def build_author(given_name: str, surname: str) -> Author:
    """Build an author, separating first and middle names.

    Initials lose their dots, as in the results of GROBID.
    """
    spaced_name = _RUN_TOGETHER.sub(" ", given_name.strip(" ,"))
    parts = [
        part.strip("-")
        for part in _PARTS.split(spaced_name.replace(".-", ". -"))
        if part.strip("-")
    ]
    surname = " ".join(surname.split())
    return Author(
        name=" ".join((*parts, surname)),
        given_name=parts[0] if parts else None,
        middle_name=" ".join(parts[1:]) or None,
        surname=surname,
    )


def parse_names(block: str) -> tuple[Author, ...]:
    """Parse a text that contains only names.

    A text in no known form of names becomes the name of one author.
    """
    block = _EDITORS.sub("", block[:TEXT_MAX_CHARS]).lstrip(" ,.;:&").rstrip(" ,;:&")
    if not block:
        return ()
    authors, end = parse_leading_names(block)
    if end >= len(block) - 2:
        return authors
    remaining_text = block[end:].strip(" ,;.&")
    if ";" in block:
        parts = [part for part in _SPLIT_LIST.split(block) if part][:NAMES_MAX]
        return tuple(
            parse_leading_names(part)[0][0]
            if parse_leading_names(part)[0]
            else _build_bare_author(part)
            for part in parts
        )
    if authors:
        return (
            *authors,
            *(
                _parse_single_name(part)
                for part in _LIST.split(remaining_text)[:20]
                if _is_bare(part)
            ),
        )
    return (_build_bare_author(block),)


def _parse_single_name(text: str) -> Author:
    authors, end = parse_leading_names(text)
    return authors[0] if len(authors) == 1 and end >= len(text) - 2 else _build_bare_author(text)


def _is_bare(text: str) -> bool:
    return sum(map(str.isalpha, text)) > 2 and len(text) < 80


def _build_bare_author(text: str) -> Author:
    return Author(name=" ".join(text.split())[:200])
