"""Find the reference list in the text of a paper and split it into entries of one line each.

Lines of an entry are joined: hyphenation is removed, and URLs and DOIs stay whole.
Limits: linear in the text; at most 300,000 characters of a list and 5,000 entries of 4,000
characters are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from fonds.papers.bibliography.identifiers import DOI_PREFIX
from fonds.papers.bibliography.reference_names import INITIALS, SURNAME, UPPER
from fonds.papers.bibliography.reference_parser import match_names_before_year

ENTRIES_MAX, ENTRY_MAX_CHARS = 5_000, 4_000
_IN_ADDRESS = re.compile(
    r"(?:https?:|https?://\S*|www\.\S*|doi:\s?\S*|\b10\.\d*|\b"
    + DOI_PREFIX
    + r"\S*|\bdoi\.org\S*)$",
    re.IGNORECASE,
)
_HYPHENS = "-\u2010\u00ad"
_HYPHEN = re.compile(rf"(?<=[a-z])[{_HYPHENS}]$")


def join_entries(entries: Sequence[Sequence[str]]) -> list[str]:
    """Join the lines of each reference list entry to one line.

    Entries with fewer than three letters are dropped.
    """
    joined_entries = []
    for lines in entries[:ENTRIES_MAX]:
        entry = ""
        for line in lines:
            entry = _join_line(entry, line.strip())
        entry = entry[:ENTRY_MAX_CHARS].strip()
        if sum(map(str.isalpha, entry)) >= 3:
            joined_entries.append(entry)
    return joined_entries


def _join_line(joined_text: str, line: str) -> str:
    if not joined_text:
        return line
    # The tests of single characters come first: almost no line gets to the patterns.
    if joined_text[-1] in _HYPHENS and line[:1].islower() and _HYPHEN.search(joined_text[-2:]):
        return joined_text[:-1] + line
    if joined_text[-1] in "-\u2010\u2013/" and line[:1].isdigit():
        return joined_text + line
    if _is_continued(joined_text, line) and _IN_ADDRESS.search(joined_text[-150:]):
        return joined_text + line
    return f"{joined_text} {line}"


def _is_continued(joined_text: str, line: str) -> bool:
    """Return whether a URL or DOI at the end of `joined_text` continues at the beginning of `line`.

    It does, for example, if `joined_text` ends with `/` or `-`, or if `line` begins with `/`.
    """
    return (
        joined_text[-1] in "/:-_=?&%#"
        or line.startswith(("//", "/"))
        or (joined_text[-1] == "." and (line[:1].isdigit() or line[:1].islower()))
    )


LIST_MAX_CHARS, HEADINGS_MAX = 300_000, 20
DATED_SHARE = 0.55
PAGES_JUDGED_MAX, UNHEADED_MIN = 400, 3
FOLLOWING_LINES, TAIL_LINES_MIN = 8, 6
_FIRST_LABEL = re.compile(r"^[ \t]*\[1\]", re.MULTILINE)
_HEADING = re.compile(
    r"^[ \t]*(?:(?:\d{1,2}|[IVX]{1,5}"
    r"|[A-Z])[.)]?[ \t]+)?(?:references?(?:[ \t]+(?:and[ \t]+notes|cited|list))?|bibliography"
    r"|bibliographical[ \t]+references|cited[ \t]+(?:literature|references)"
    r"|literature(?:[ \t]+cited)?|works[ \t]+cited|literaturverzeichnis|literatur"
    r"|r[ \t]?e[ \t]?f[ \t]?e[ \t]?r[ \t]?e[ \t]?n[ \t]?c[ \t]?e[ \t]?s|bibliographie"
    r"|r\u00e9f\u00e9rences|referencias|bibliograf\u00eda|refer\u00eancias)"
    r"[ \t]*[:.]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_STEMS = (
    "referenc",
    "bibliogra",
    "literatur",
    "works cited",
    "r e f e r",
    "r\u00e9f\u00e9ren",
    "refer\u00ean",
)
HEADING_PREFIX_MAX_CHARS = 24
_RUN_IN_HEADING = re.compile(
    r"^(?:references|REFERENCES)[:.]?[ \t]+(?=\[1\]|1\.[ \t]|\(1\)[ \t])", re.MULTILINE
)
_END = re.compile(
    r"^[ \t]*(?:(?:\d{1,2}|[A-Z])[.)]?[ \t]+)?(?:appendi(?:x|ces)\b.{0,80}|acknowledge?ments?"
    r"|supplement(?:ary|al)\b.{0,60}|about the authors?"
    r"|author (?:information|contributions|biograph).{0,40}|biograph(?:y|ies).{0,20}"
    r"|figure captions?|list of figures|proof of .{0,60}|funding"
    r"|received:? .{0,60}\d{4}.{0,60}|affiliation:|_{8,})[ \t]*[:.]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKETED = re.compile(r"^[ \t]*\[(?P<label>[^\]\n]{1,24})\]", re.MULTILINE)
_NUMBERED = re.compile(
    r"^[ \t]*\(?(?P<label>\d{1,4})(?:[.)][ \t]*(?=[^\d\s]|\d+[A-Za-z])|[ \t]+(?=[A-Z\u201c\"]))",
    re.MULTILINE,
)
_PAGE_NUMBER = re.compile(
    r"^\W{0,3}\d{1,4}\W{0,3}$|^[ivxlc]{1,6}$|^page \d+(?: of \d+)?$", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_YEAR = re.compile(
    r"(?<!\d)(?:1[5-9]\d\d|20[0-4]\d)[a-z]?(?!\d)|\bn\. ?d\.|\bin press\b|forthcoming",
    re.IGNORECASE,
)
_NAME_START = re.compile(
    rf"(?:{SURNAME}, ?(?:{INITIALS}|[{UPPER}][\w-]+(?:[ ,.&(]|$))"
    rf"|{INITIALS} ?{SURNAME}(?:[,.:;(]| and | & | et al|$| [A-Z\u201c])"
    rf"|{SURNAME} [{UPPER}]{{1,3}}(?:[,.:]| and | ?\(|$)"
    rf"|[{UPPER}][\w'\u2019-]+ (?:[{UPPER}]\. ?)*(?:[a-z]{{2,3}} )?[{UPPER}][\w'\u2019-]+(?:,"
    rf"| and | & |\. |\.$| et al|$)"
    rf"|{SURNAME}(?:,? and |,? & | et al)|{SURNAME}, & )"
)
_SURE_START = re.compile(
    rf"{SURNAME},? {INITIALS}(?: (?:de|van|von|der|den|la|di|da)){{0,3}}(?:,|;| &| and|\s?\(|$)"
    rf"|{SURNAME}(?:, [{UPPER}][\w-]+)?, & |"
    r"[A-Z][^.()]{2,80}\. \((?:(?:1[5-9]|20)\d\d|n\.d\.)"
)
_OPEN_END = re.compile(r"(?:\b[A-Z]\.|[,;:]|\b(?:the|of|and|in|for|on|an?|to|with|by|from|at))$")
_BODY_START = re.compile(
    r"[A-Z\d\u201c\"*(].{1,160}?[.,]? ?\(?(?:(?:1[5-9]|20)\d\d[a-z]?(?:, [A-Z][\w ]{2,20})?"
    r"|n\. ?d\.)\)?[.,:)]"
)
_CONTINUES = re.compile(
    r"(?:in|and|of|the|for|on|at|by|with|to|from|pp|pages?|vol|no|doi|https?|www|eds?|press|university|springer|journal|proceedings|conference"
    r"|transactions|letters|retrieved|available|cambridge|oxford|new york|london|berlin|boston"
    r"|computational|in:|arxiv|zenodo|international"
    r"|lecture|mit|acm|ieee|association|society|technical|ph)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"(?:[.)\]\u201d\"/]|\d|\bURL|https?://\S+|"
    + DOI_PREFIX
    + r"\S+|\S[./]\S*\.(?:pdf|html?|php|aspx?|txt|[a-z]{2,3}))\s*$"
)


def split_entries(text: str) -> list[str]:
    """Return the entries of the reference list in a paper's text, in order, each on one line.

    Returns an empty list if the text has no reference list.
    """
    list_starts = _find_lists(text)
    for begin in reversed(list_starts[-HEADINGS_MAX:]):
        if begin < 0.08 * len(text) and len(list_starts) > 1:
            continue
        lines = _collect_lines(text, begin)
        entries = _split(lines)
        if entries:
            return entries
    return _find_unheaded_entries(text)


def _find_unheaded_entries(text: str) -> list[str]:
    """Find a reference list without a heading in the second half of a text.

    The labels of the entries must count up, and most entries must contain a year.
    """
    flat = text.replace("\f", "\n")
    for match in reversed(list(_FIRST_LABEL.finditer(flat, len(flat) // 2))[-20:]):
        lines = _collect_lines(text, match.start())
        starts = _find_labels("\n".join(lines), _BRACKETED)
        entries = _split(lines) if len(starts) >= UNHEADED_MIN else []
        if entries and sum(bool(_YEAR.search(entry)) for entry in entries) >= 0.6 * len(entries):
            return entries
    return []


def _find_lists(text: str) -> list[int]:
    """Return the positions directly after headings of reference lists, such as "References".

    A page break counts as a line break.
    """
    flat = text.replace("\f", "\n")
    lowered_text = flat.lower()
    if len(lowered_text) != len(flat):
        return sorted({match.end() for match in _HEADING.finditer(flat)})
    ends = set()
    for stem in _STEMS:
        place = lowered_text.find(stem)
        while place >= 0:
            begin = flat.rfind("\n", 0, place) + 1
            if place - begin < HEADING_PREFIX_MAX_CHARS:
                ends |= {
                    match.end()
                    for match in (_HEADING.match(flat, begin), _RUN_IN_HEADING.match(flat, begin))
                    if match
                }
            place = lowered_text.find(stem, place + len(stem))
    return sorted(ends)


def _collect_lines(text: str, begin: int) -> list[str]:
    """Return the lines of the reference list that begins at `begin`, up to the next heading.

    Page numbers and running headers are omitted.
    """
    repeated_lines = _find_repeated_lines(text)
    part = text[begin : begin + LIST_MAX_CHARS]
    lines = []
    for page in part.split("\f"):
        page_lines = [" ".join(line.split()) for line in page.split("\n")]
        page_lines = [line for line in page_lines if line]
        edges = {0, 1, 2, *range(len(page_lines) - 5, len(page_lines))}
        lines += [
            line
            for position, line in enumerate(page_lines)
            if not (
                position in edges
                and (_DIGITS.sub("#", line) in repeated_lines or _PAGE_NUMBER.match(line))
            )
        ]
    for position, line in enumerate(lines):
        if position and _END.match(line):
            return lines[:position]
    return lines


def _find_repeated_lines(text: str) -> set[str]:
    """Return lines that occur at the top or bottom of several pages, such as running headers.

    Digits in the lines are replaced by `#`, so that lines with different page numbers are equal.
    """
    counts: Counter[str] = Counter()
    for page in text.split("\f")[:PAGES_JUDGED_MAX]:
        lines = [" ".join(line.split()) for line in (page[:500] + "\n" + page[-800:]).split("\n")]
        lines = [line for line in lines if line]
        counts.update(
            {_DIGITS.sub("#", line) for line in (*lines[:3], *lines[-5:]) if len(line) > 3}
        )
    return {line for line, count in counts.items() if count > 1}


def _split(lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    text = "\n".join(lines)
    for pattern in (_BRACKETED, _NUMBERED):
        starts = _find_labels(text, pattern)
        if starts:
            return join_entries(
                [
                    text[a:b].split("\n")
                    for a, b in zip(starts, [*starts[1:], len(text)], strict=True)
                ]
            )
    return join_entries(_split_by_names(lines))


def _find_labels(text: str, pattern: re.Pattern[str]) -> list[int]:
    """Return the positions at which labels of reference list entries begin, such as `[1]` or `2.`.

    The list must begin with a label, and numbers must increase by one. Otherwise the result is
    empty.
    """
    first = pattern.match(text)
    if first is None:
        return []
    if not first["label"].isdigit():
        return [match.start() for match in pattern.finditer(text)][:ENTRIES_MAX]
    number = int(first["label"])
    if pattern is _NUMBERED and number != 1:
        return []
    starts, place = [0], first.end()
    while len(starts) < ENTRIES_MAX:
        number += 1
        next_start = _find_next_label(text, place, number, pattern)
        if next_start is None:
            break
        starts.append(next_start)
        place = next_start + 1
    return starts if len(starts) > 1 or pattern is _BRACKETED or len(text) < 600 else []


def _find_next_label(text: str, place: int, number: int, pattern: re.Pattern[str]) -> int | None:
    """Return the nearest position after `place` at which `number` is the label of an entry.

    Returns None if there is none. A label in brackets may occur within a line.
    """
    if pattern is _BRACKETED:
        position = text.find(f"[{number}]", place)
        return position if 0 <= position < place + 6 * ENTRY_MAX_CHARS else None
    for match in pattern.finditer(text, place, place + 2 * ENTRY_MAX_CHARS):
        if int(match["label"]) == number:
            return match.start()
    return None


def _split_by_names(lines: Sequence[str]) -> list[list[str]]:
    """Split the lines of a reference list whose entries have no labels, such as `[1]`, into
    entries.

    An entry begins at a line that begins with a name, if the line before can be the end of an
    entry. If most entries have the year after the names, an entry begins only at a line with names
    before a year, or with an unmistakable name.
    """
    width = sorted(map(len, lines))[int(0.9 * (len(lines) - 1))]
    possible_starts = [
        position for position in range(1, len(lines)) if _can_begin(lines, position, width)
    ]
    named_starts = [
        position for position in possible_starts if _is_entry_start(lines, position, width)
    ]
    dated_starts = [position for position in possible_starts if _is_dated(lines, position)]
    if len(dated_starts) >= max(1, DATED_SHARE * len(named_starts)) and _is_dated(lines, 0):
        sure_starts = {
            *dated_starts,
            *(position for position in possible_starts if _SURE_START.match(lines[position])),
        }
        starts = _filter_dated_starts(lines, sorted(sure_starts))
    else:
        starts = _filter_alphabetic(lines, _filter_dated_starts(lines, named_starts))
    starts = starts[:ENTRIES_MAX]
    entries = [list(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    if len(entries) > 1:
        # The last entry has no following entry to end it, so text after the list may be attached.
        longest = max(TAIL_LINES_MIN, *(2 * len(entry) for entry in entries[:-1]))
        entries[-1] = entries[-1][:longest]
    return entries


def _is_dated(lines: Sequence[str], place: int) -> bool:
    following = " ".join(lines[place : place + FOLLOWING_LINES])
    return match_names_before_year(following) is not None


def _filter_dated_starts(lines: Sequence[str], start_lines: Sequence[int]) -> list[int]:
    """Return those line numbers at which an entry of the reference list can begin.

    `start_lines` are the candidates. A candidate is kept if the text since the last kept one
    contains a year, since each entry has a year.
    """
    starts = [0]
    for place in start_lines:
        if _YEAR.search(" ".join(lines[starts[-1] : place])):
            starts.append(place)
    return starts


def _can_begin(lines: Sequence[str], place: int, width: int) -> bool:
    """Return whether an entry of the reference list can begin at line number `place`.

    The line before it must look like the end of an entry, and the line itself must not. `width` is
    a length that few lines exceed, in characters.
    """
    line, previous_line = lines[place], lines[place - 1]
    tail = previous_line[-60:]
    if len(previous_line) >= 0.6 * width and not _ENDS.search(tail):
        return False
    if _OPEN_END.search(tail[-12:]):
        return False
    if " " not in line and "," not in line:
        return False
    if previous_line.endswith(("https:", "http:", "doi:", "10.")) or not (
        line[0].isupper() or line[0].isalpha()
    ):
        return False
    if line.startswith(("http", "doi")):
        return False
    if _YEAR.search(line) or (place + 1 < len(lines) and _YEAR.match(lines[place + 1])):
        return True
    return not (line.endswith(".") and len(line) < 0.5 * width)


def _is_entry_start(lines: Sequence[str], place: int, width: int) -> bool:
    """Return whether line number `place` looks like the beginning of an entry of a reference list.

    The year may be anywhere in the entry. `width` is a length that few lines exceed, in characters.
    """
    line, previous_line = lines[place], lines[place - 1]
    is_short = len(previous_line) < 0.8 * width
    if _CONTINUES.match(line):
        return is_short and bool(_BODY_START.match(line) and _NAME_START.match(line))
    following = " ".join(lines[place : place + 4])
    if _NAME_START.match(line):
        return _YEAR.search(following) is not None
    has_ended = is_short or previous_line.endswith((".", "/"))
    return has_ended and line[0].isupper() and _BODY_START.match(following) is not None


def _filter_alphabetic(lines: Sequence[str], starts: Sequence[int]) -> list[int]:
    """Remove those entry starts (line numbers) that break the order of an alphabetical list.

    The starts of a list in another order are returned unchanged.
    """
    keys = [_sort_key(lines[key]) for key in starts]
    ascending_count = sum(a <= b for a, b in pairwise(keys))
    if len(starts) < 6 or ascending_count < 0.75 * (len(starts) - 1):
        return list(starts)
    ordered_starts = [starts[0]]
    for number in range(1, len(starts)):
        last_key = _sort_key(lines[ordered_starts[-1]])
        following = keys[number + 1 : number + 3]
        is_back = keys[number] < last_key and any(key >= last_key for key in following)
        leaps = any(key < keys[number] for key in following) and all(
            last_key <= key < keys[number] for key in following
        )
        if not is_back and not leaps:
            ordered_starts.append(starts[number])
    return ordered_starts


def _sort_key(line: str) -> str:
    """Return the first three letters of the first word with at least two letters, in lower case.

    In an entry of a reference list, this word is usually the first author's family name.
    """
    words = re.findall(r"[^\W\d_]{2,}", line)
    return (words[0] if words else line).lower()[:3]
