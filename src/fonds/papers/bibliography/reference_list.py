"""The list of references in the text of a paper, and its entries, each on one line.

Bound: linear in the text; of a list 300,000 characters and 5,000 entries are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from fonds.papers.bibliography.identifiers import DOI_PREFIX
from fonds.papers.bibliography.reference_names import INITIALS, SURNAME, UPPER
from fonds.papers.bibliography.reference_parser import match_names_before_year

# The lines of each entry of a list of references become one: hyphens undone, addresses whole.
#
# Bound: linear in the lines; 5,000 entries of 4,000 characters.


ENTRIES_MAX, ENTRY_MAX_CHARS = 5_000, 4_000
_IN_ADDRESS = re.compile(
    r"(?:https?:|https?://\S*|www\.\S*|doi:\s?\S*|\b10\.\d*|\b"
    + DOI_PREFIX
    + r"\S*|\bdoi\.org\S*)$",
    re.IGNORECASE,
)
_HYPHEN = re.compile(r"(?<=[a-z])[-\u2010\u00ad]$")


def join_entries(entries: Sequence[Sequence[str]]) -> list[str]:
    """Each entry on one line; what has no words in it is none."""
    found = []
    for lines in entries[:ENTRIES_MAX]:
        whole = ""
        for line in lines:
            whole = _join_line(whole, line.strip())
        whole = whole[:ENTRY_MAX_CHARS].strip()
        if sum(map(str.isalpha, whole)) >= 3:
            found.append(whole)
    return found


def _join_line(joined: str, line: str) -> str:
    if not joined:
        return line
    if _HYPHEN.search(joined) and line[:1].islower():
        return joined[:-1] + line
    if joined[-1] in "-\u2010\u2013/" and line[:1].isdigit():
        return joined + line
    if _IN_ADDRESS.search(joined[-150:]) and _is_continued(joined, line):
        return joined + line
    return f"{joined} {line}"


def _is_continued(joined: str, line: str) -> bool:
    """Whether an address that fills a line is continued on the next."""
    return (
        joined[-1] in "/:-_=?&%#"
        or line.startswith(("//", "/"))
        or (joined[-1] == "." and (line[:1].isdigit() or line[:1].islower()))
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
_RUN_IN = re.compile(
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
_UNENDED = re.compile(r"(?:\b[A-Z]\.|[,;:]|\b(?:the|of|and|in|for|on|an?|to|with|by|from|at))$")
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
    """The entries of the list of references, in order, without their line breaks; [] where there is none."""
    found = _find_lists(text)
    for begin in reversed(found[-HEADINGS_MAX:]):
        if begin < 0.08 * len(text) and len(found) > 1:
            continue
        lines = _collect_lines(text, begin)
        entries = _split(lines)
        if entries:
            return entries
    return _find_unheaded_entries(text)


def _find_unheaded_entries(text: str) -> list[str]:
    """The entries of a list without a heading: labels that count up, in the second half, most with years."""
    flat = text.replace("\f", "\n")
    for match in reversed(list(_FIRST_LABEL.finditer(flat, len(flat) // 2))[-20:]):
        lines = _collect_lines(text, match.start())
        starts = _find_labels("\n".join(lines), _BRACKETED)
        entries = _split(lines) if len(starts) >= UNHEADED_MIN else []
        if entries and sum(bool(_YEAR.search(one)) for one in entries) >= 0.6 * len(entries):
            return entries
    return []


def _find_lists(text: str) -> list[int]:
    """Where lists of references may begin. A page's end stands for a line's."""
    flat = text.replace("\f", "\n")
    lowered = flat.lower()
    if len(lowered) != len(flat):
        return sorted({one.end() for one in _HEADING.finditer(flat)})
    ends = set()
    for stem in _STEMS:
        place = lowered.find(stem)
        while place >= 0:
            begin = flat.rfind("\n", 0, place) + 1
            if place - begin < HEADING_PREFIX_MAX_CHARS:
                ends |= {
                    one.end()
                    for one in (_HEADING.match(flat, begin), _RUN_IN.match(flat, begin))
                    if one
                }
            place = lowered.find(stem, place + len(stem))
    return sorted(ends)


def _collect_lines(text: str, begin: int) -> list[str]:
    """The lines of the list: without page numbers, without what repeats at the edges of pages, up to the next
    heading."""
    repeated = _find_repeated_lines(text)
    part = text[begin : begin + LIST_MAX_CHARS]
    lines = []
    for page in part.split("\f"):
        kept = [" ".join(line.split()) for line in page.split("\n")]
        kept = [line for line in kept if line]
        edges = {0, 1, 2, *range(len(kept) - 5, len(kept))}
        lines += [
            line
            for place, line in enumerate(kept)
            if not (
                place in edges and (_DIGITS.sub("#", line) in repeated or _PAGE_NUMBER.match(line))
            )
        ]
    for place, line in enumerate(lines):
        if place and _END.match(line):
            return lines[:place]
    return lines


def _find_repeated_lines(text: str) -> set[str]:
    """Lines at the edges of pages that come more than once, whatever numbers are in them."""
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
    """Where labelled entries begin, if the list is one of labels: the first stands at its beginning, numbers
    count up by one."""
    first = pattern.match(text)
    if first is None:
        return []
    if not first["label"].isdigit():
        return [one.start() for one in pattern.finditer(text)][:ENTRIES_MAX]
    number = int(first["label"])
    if pattern is _NUMBERED and number != 1:
        return []
    starts, place = [0], first.end()
    while len(starts) < ENTRIES_MAX:
        number += 1
        at = _find_next_label(text, place, number, pattern)
        if at is None:
            break
        starts.append(at)
        place = at + 1
    return starts if len(starts) > 1 or pattern is _BRACKETED or len(text) < 600 else []


def _find_next_label(text: str, place: int, number: int, pattern: re.Pattern[str]) -> int | None:
    """The nearest place where this number is a label; a bracketed one may stand within a line."""
    if pattern is _BRACKETED:
        at = text.find(f"[{number}]", place)
        return at if 0 <= at < place + 6 * ENTRY_MAX_CHARS else None
    for match in pattern.finditer(text, place, place + 2 * ENTRY_MAX_CHARS):
        if int(match["label"]) == number:
            return match.start()
    return None


def _split_by_names(lines: Sequence[str]) -> list[list[str]]:
    """Entries without labels: one begins where a line begins with a name and the one before may be an end.

    Where most have the year behind the names, all have to.
    """
    width = sorted(map(len, lines))[int(0.9 * (len(lines) - 1))]
    may = [place for place in range(1, len(lines)) if _can_begin(lines, place, width)]
    named = [place for place in may if _is_entry_start(lines, place, width)]
    dated = [place for place in may if _is_dated(lines, place)]
    sure = {*dated, *(place for place in may if _SURE_START.match(lines[place]))}
    if len(dated) >= max(1, DATED_SHARE * len(named)) and _is_dated(lines, 0):
        starts = _filter_dated_starts(lines, sorted(sure))
    else:
        starts = _filter_alphabetic(lines, _filter_dated_starts(lines, named))
    starts = starts[:ENTRIES_MAX]
    entries = [list(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    if len(entries) > 1:
        # Nothing ends the last one but what stands behind the list.
        longest = max(TAIL_LINES_MIN, *(2 * len(one) for one in entries[:-1]))
        entries[-1] = entries[-1][:longest]
    return entries


def _is_dated(lines: Sequence[str], place: int) -> bool:
    following = " ".join(lines[place : place + FOLLOWING_LINES])
    return match_names_before_year(following) is not None


def _filter_dated_starts(lines: Sequence[str], start_lines: Sequence[int]) -> list[int]:
    """Those before which, since the last one, there was a year."""
    starts = [0]
    for place in start_lines:
        if _YEAR.search(" ".join(lines[starts[-1] : place])):
            starts.append(place)
    return starts


def _can_begin(lines: Sequence[str], place: int, width: int) -> bool:
    """Whether the line before may be an end, and this one is not one."""
    line, before = lines[place], lines[place - 1]
    tail = before[-60:]
    if len(before) >= 0.6 * width and not _ENDS.search(tail):
        return False
    if _UNENDED.search(tail[-12:]):
        return False
    if " " not in line and "," not in line:
        return False
    if before.endswith(("https:", "http:", "doi:", "10.")) or not (
        line[0].isupper() or line[0].isalpha()
    ):
        return False
    if line.startswith(("http", "doi")):
        return False
    if _YEAR.search(line) or (place + 1 < len(lines) and _YEAR.match(lines[place + 1])):
        return True
    return not (line.endswith(".") and len(line) < 0.5 * width)


def _is_entry_start(lines: Sequence[str], place: int, width: int) -> bool:
    """Whether this line looks like the beginning of an entry, wherever its year stands."""
    line, before = lines[place], lines[place - 1]
    is_short = len(before) < 0.8 * width
    if _CONTINUES.match(line):
        return is_short and bool(_BODY_START.match(line) and _NAME_START.match(line))
    following = " ".join(lines[place : place + 4])
    if _NAME_START.match(line):
        return _YEAR.search(following) is not None
    has_ended = is_short or before.endswith((".", "/"))
    return has_ended and line[0].isupper() and _BODY_START.match(following) is not None


def _filter_alphabetic(lines: Sequence[str], starts: Sequence[int]) -> list[int]:
    """Of a list in alphabetical order, without those that stand out of it on both sides."""
    keys = [_sort_key(lines[one]) for one in starts]
    rising = sum(a <= b for a, b in pairwise(keys))
    if len(starts) < 6 or rising < 0.75 * (len(starts) - 1):
        return list(starts)
    kept = [starts[0]]
    for number in range(1, len(starts)):
        last = _sort_key(lines[kept[-1]])
        following = keys[number + 1 : number + 3]
        is_back = keys[number] < last and any(one >= last for one in following)
        leaps = any(one < keys[number] for one in following) and all(
            last <= one < keys[number] for one in following
        )
        if not is_back and not leaps:
            kept.append(starts[number])
    return kept


def _sort_key(line: str) -> str:
    """By family name: the first word that is more than an initial."""
    words = re.findall(r"[^\W\d_]{2,}", line)
    first = re.match(rf"{INITIALS}", line)
    return (words[0] if words and not first else (words[0] if words else line)).lower()[:3]
