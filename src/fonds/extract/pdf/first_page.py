"""Find title and authors on the first page of a PDF: the title by its type size, the authors in the
lines below.

Limits: linear in the number of characters; the numbers of lines in a title and of lines with names
are limited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fonds.extract.pdf.characters import Box, PageCharacters

TITLE_MAX_CHARS = 300
_LINES_MAX, _TITLE_LINES_MAX, _AUTHOR_LINES_MAX, _AUTHORS_MAX = 60, 8, 25, 100
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_MEASURED_WORDS_MAX = 3
_CAPITAL_MIN, _CAPITAL = 0.45, 0.7  # of a font's height
_SIZE_TOLERANCE = 0.07
_SIZES_MAX, _FIRST_LINES, _NAMES_MIN = 5, 5, 0.7
_LINE_MAX_CHARS, _PROSE_MIN_CHARS = 400, 60
_LARGER_MIN = 1.08
_GAP_MAX = 2.2
_NAME_GAP = 0.9
_WORDS = re.compile(r"\w+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NOT_A_TITLE = re.compile(
    "|".join(
        (
            r"arxiv\s*:|(?:https?|ftp)://|www\.|doi\b|microsoft (?:word|powerpoint|excel)\b|untitled\b",
            r"layout 1$|powerpoint presentation$|slide \d|document\d*$|(?:table of )?contents$|references$",
            r"abstract\b|introduction$|appendix$|chapter \d+$|part \w+$|page \d|p\.? ?\d+$|draft\b",
            r"preprint\b",
            r"vol(?:ume)?\b\.? ?\d|no\. ?\d|issn\b|isbn\b|copyright\b|©|open access$|cite this",
            r"proceedings of\b|in proc(?:eedings|\.)|ieee [a-z ]*(?:transactions|journal|letters)",
            r"(?:[\w&]+ ){0,6}(?:journal|transactions|letters|magazine|bulletin) (?:of|on|for)\b",
            r"(?:the )?[\w&]+ (?:journal|magazine)$|editorial$|letter(?: to the editor)?$",
            r"supplementary (?:material|information)$",
            r"(?:(?:original|regular|short|invited|full|conference|workshop) )?"
            r"(?:research )?(?:paper|article|communication)$",
            r"(?:case|technical) report(?: \d+)?$|(?:book |mini)?review(?: article)?$|under review",
            r"published (?:in|as|online|by)\b|accepted (?:for|manuscript)|submitted to|received:?\s",
            r"available online|contents lists available|downloaded from|see discussions",
        )
    ),
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"\S+\.(?:docx?|dvi|pdf|tex|p65|qxd|qxp|indd|pptx?|ps|eps|rtf|odt|fm|xlsx?|wpd|txt|html?)",
    re.IGNORECASE,
)
_END = re.compile(
    r"\W*(?:abstract\b|(?:summary|r[ée]sum[ée]|zusammenfassung|resumen|resumo|key ?words|index terms"
    r"|contents|(?:\d+|i)?\.? ?introduction)\s*(?:[:.\u2013\u2014-]|$))",
    re.IGNORECASE,
)
_PLACES = """
universi institu depart school college facult laborator research center centre hospital academ corporation
company division google microsoft inria cnrs école e-mail email avenue street germany france china japan
italy spain canada india switzerland netherlands australia brazil fellow editor review science engineering
technology statistics mathematics proceedings conference society association press journal systems creative
license licence attribution consulting abstract
"""
_PLACE_STEMS = tuple(_PLACES.split())  # matched within words; the next are whole words
_PLACE_WORDS = frozenset(
    {
        "lab",
        "labs",
        "inc",
        "ltd",
        "gmbh",
        "ibm",
        "road",
        "box",
        "usa",
        "uk",
        "member",
        "group",
        "team",
    }
    | {"tech", "eth", "ut", "ag"}
)
_PARTICLES = frozenset(
    {"van", "von", "der", "den", "de", "del", "della", "di", "da", "dos", "das", "du"}
    | {"la", "le", "el", "al", "bin", "ibn", "ter", "ten", "zu", "y"}
)
_MARKS = re.compile(r"\bID\b|[\d*†‡§¶∗⋆‖#^◦♦♠♣♥$+]+(?:,[\d*†‡§¶∗⋆‖#]+)*|\([a-z]{1,2}\)")
_FOOTNOTE_MARKS = " *∗⋆†‡§¶"
_NAME_SEPARATOR = re.compile(r"\s*(?:[,;·•|&]|\band\b|\bund\b|\bet\b)\s*(?:\band\b\s*)?")
_AUTHOR_PREFIX = re.compile(r"^(?:by|authors?)\b:?\s+", re.IGNORECASE)
_DEGREE = re.compile(
    r"(?:ph\.? ?d|m\.? ?d|m\.? ?sc|b\.? ?sc|jr|sr|prof|dr|i{2,3}|iv)\.?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Title and authors on the first page; None and () if they are not found."""

    title: str | None = None
    authors: tuple[str, ...] = ()


EMPTY_FRONT_MATTER = FrontMatter()


@dataclass(slots=True)
class _TextLine:
    """A line of the first page. Its text and exact type size are computed on demand.

    - `begin`, `end`: index of its first character, and the index after its last one.
    - `first`: index of its first letter or digit.
    - `box`: area of that letter or digit on the page.
    - `size`: type size in points: at first the height of `box`, later measured more exactly for
      large lines.
    - `cached_text`: text of the line, once it was computed.
    """

    begin: int
    end: int
    first: int
    box: Box
    size: float
    cached_text: str | None = None


@dataclass(frozen=True, slots=True)
class _FrontPage:
    page: PageCharacters
    clean_text: Callable[[int, int], str]

    def get_text(self, line: _TextLine) -> str:
        if line.cached_text is None:
            line.cached_text = " ".join(self.clean_text(line.begin, line.end).split())
        return line.cached_text


def read_front(
    page: PageCharacters, units: Sequence[str], clean_text: Callable[[int, int], str]
) -> FrontMatter:
    """Find title and authors on the first page of a PDF.

    - `page`: the page's characters as pdfium reads them.
    - `units`: the same characters after cleaning, with the same indexes. A removed character is "".
    - `clean_text`: function that returns the cleaned text between two indexes.
    """
    front_page = _FrontPage(page, clean_text)
    lines = _split_lines(page, units)
    title_rows = _find_title(front_page, lines)
    if title_rows is None:
        return EMPTY_FRONT_MATTER
    begin, end = title_rows
    title = " ".join(clean_text(lines[begin].begin, lines[end - 1].end).split())
    title = title.rstrip(_FOOTNOTE_MARKS)[:TITLE_MAX_CHARS]
    return FrontMatter(title, _find_authors(front_page, lines[end : end + _AUTHOR_LINES_MAX]))


def is_title(text: str) -> bool:
    """Return whether a text may be the title of a document. Running heads, file names, stamps and
    labels may not.
    """
    stripped_text = " ".join(text.split())
    words = _WORD.findall(stripped_text)
    letters = sum(map(str.isalpha, stripped_text))
    return (
        bool(words)
        and (len(words) > 1 or letters >= 4)
        and 4 <= len(stripped_text) <= TITLE_MAX_CHARS
        and 2 * letters > len(stripped_text)
        and "@" not in stripped_text
        and (" " in stripped_text or "_" not in stripped_text)
        and _NOT_A_TITLE.match(stripped_text) is None
        and _FILE_NAME.fullmatch(stripped_text) is None
    )


def _split_lines(page: PageCharacters, units: Sequence[str]) -> list[_TextLine]:
    lines = []
    begin = 0
    ends = [n.start() for n in re.finditer("\r\n", page.text) if units[n.start()] == "\r"]
    for end in [*ends[: _LINES_MAX - 1], len(page.text)]:
        match = _LETTER_OR_DIGIT.search(page.text, begin, end)
        if match is not None:
            box = page.get_cell_box(match.start())
            lines.append(_TextLine(begin, end, match.start(), box, box.top - box.bottom))
        begin = end + 2
    return lines


def _measure_type_size(page: PageCharacters, first: int, end: int) -> float:
    """Return the type size of the line from `first` to `end` in points.

    It is the median of the heights at the beginnings of the line's first words. Where a font claims
    too much height, the height of the drawn capital is used.
    """
    places = [first]
    while len(places) < _MEASURED_WORDS_MAX:
        later = page.text.find(" ", places[-1], end) + 1
        if not 0 < later < end:
            break
        places.append(later)
    heights = sorted(_measure_height(page, place) for place in places)
    return heights[(len(heights) - 1) // 2]


def _measure_height(page: PageCharacters, place: int) -> float:
    cell = page.get_cell_box(place)
    height = cell.top - cell.bottom
    if page.text[place].isupper():
        ink = page.get_ink_box(place)
        # Fonts of signs claim much more height than they cover.
        if ink.top - ink.bottom < _CAPITAL_MIN * height:
            return (ink.top - ink.bottom) / _CAPITAL
    return height


def _find_title(sheet: _FrontPage, lines: Sequence[_TextLine]) -> tuple[int, int] | None:
    """Return the number of the title's first line and the number after its last line; None if there
    is no title.

    The title is the text with the largest type size that may be a title. If no text in larger type
    may be a title, the title is the first of the top five lines that may be one and is no list of
    names.
    """
    heights = sorted(line.size for line in lines if line.size > 0)
    if not heights:
        return None
    size_min = _LARGER_MIN * heights[len(heights) // 2]
    for line in lines:
        if line.size >= size_min:
            line.size = _measure_type_size(sheet.page, line.first, line.end)
    tried_sizes: list[float] = []
    for size in sorted({line.size for line in lines if line.size >= size_min}, reverse=True):
        if any(abs(size - tried_siz) <= _SIZE_TOLERANCE * tried_siz for tried_siz in tried_sizes):
            continue
        if len(tried_sizes) >= _SIZES_MAX:
            break
        tried_sizes.append(size)
        title_rows = _find_title_of_size(sheet, lines, size)
        if title_rows is not None:
            return title_rows
    for number, line in enumerate(lines[:_FIRST_LINES]):
        if is_title(sheet.get_text(line)) and not _parse_names(sheet.get_text(line)):
            return number, number + 1
    return None


def _find_title_of_size(
    sheet: _FrontPage, lines: Sequence[_TextLine], size: float
) -> tuple[int, int] | None:
    begin = 0
    while begin < len(lines):
        end = begin
        while (
            end < len(lines)
            and end - begin < _TITLE_LINES_MAX
            and _is_title_continued(sheet, lines, begin, end, size)
        ):
            end += 1
        if end > begin:
            while begin < end and _NOT_A_TITLE.match(sheet.get_text(lines[begin])):
                begin += 1
            text = " ".join(sheet.get_text(line) for line in lines[begin:end])
            if is_title(text) and (len(_WORD.findall(text)) > 1 or len(lines) < 8):
                return begin, end
        begin = max(end, begin + 1)
    return None


def _is_title_continued(
    sheet: _FrontPage, lines: Sequence[_TextLine], begin: int, end: int, size: float
) -> bool:
    line = lines[end]
    if abs(line.size - size) > _SIZE_TOLERANCE * size or _END.match(sheet.get_text(line)):
        return False
    if end == begin:
        return True
    distance = lines[end - 1].box.bottom - line.box.bottom
    return 0 <= distance <= _GAP_MAX * size


def _find_authors(sheet: _FrontPage, lines: Sequence[_TextLine]) -> tuple[str, ...]:
    """Return the names of persons in the lines below the title (`lines`), up to the abstract."""
    names: list[str] = []
    number = 0
    while number < len(lines):
        line, text = lines[number], sheet.get_text(lines[number])
        number += 1
        if _END.match(text) or len(text) > _LINE_MAX_CHARS:
            break
        if has_place_word(text):
            continue
        pieces = [text] if text.count(",") > 1 else list(_iter_columns(sheet, line))
        while len(pieces) == 1 and number < len(lines):
            following = sheet.get_text(lines[number])
            if not _is_list_continued(pieces[0], following):
                break
            pieces = [f"{pieces[0]} {following}"]
            number += 1
        line_names = [name for piece in pieces for name in _parse_names(piece)]
        if not line_names and names and len(text) > _PROSE_MIN_CHARS and "@" not in text:
            break
        names += line_names
    return tuple(dict.fromkeys(names))[:_AUTHORS_MAX]


def _is_list_continued(text: str, following: str) -> bool:
    """Return whether a list of names in a line (`text`) continues in the next line
    (`following`).
    """
    if has_place_word(following) or _END.match(following) or len(text) > _LINE_MAX_CHARS:
        return False
    if text.rstrip().endswith((",", "&", " and")):
        return True
    if text.count(",") > 1 and len(_NAME_SEPARATOR.split(_MARKS.sub(",", text))[-1].split()) == 1:
        return True
    return len(text) > _PROSE_MIN_CHARS and text.count(",") > 1 and "," in following


def _iter_columns(sheet: _FrontPage, line: _TextLine) -> Iterator[str]:
    """Yield the texts of the pieces of a line that are separated by wide gaps, as between
    columns.
    """
    page, begin = sheet.page, line.begin
    for blanks in re.finditer(" +", page.text[line.begin : line.end]):
        place, gap_end = line.begin + blanks.start(), line.begin + blanks.end()
        if begin < place and gap_end < line.end:
            left, right = page.get_cell_box(place - 1), page.get_cell_box(gap_end)
            if right.left - left.right > _NAME_GAP * line.size:
                yield sheet.clean_text(begin, place)
                begin = gap_end
    yield sheet.clean_text(begin, line.end)


def _parse_names(text: str) -> list[str]:
    """Return the names of persons in a text that consists almost only of names; [] for any other
    text.
    """
    bare = _AUTHOR_PREFIX.sub("", _MARKS.sub(",", " ".join(text.split())), count=1)
    parts = [part.strip(" .,;:") for part in _NAME_SEPARATOR.split(bare)]
    parts = [part for part in parts if part and not _DEGREE.fullmatch(part)]
    names = [part for part in parts if is_name(part)]
    return names if len(names) == len(parts) or len(names) > _NAMES_MIN * len(parts) else []


def has_place_word(text: str) -> bool:
    """Return whether a text has a word that is typical of addresses, headings or lists of editors,
    and so is no list of authors.
    """
    lower = text.lower()
    if any(stem in lower for stem in _PLACE_STEMS):
        return True
    return not _PLACE_WORDS.isdisjoint(_WORDS.findall(lower))


def is_name(text: str) -> bool:
    """Return whether a text looks like a person's name: two to five capitalised parts; particles
    may be lower case.
    """
    parts = text.replace("\N{NO-BREAK SPACE}", " ").split()
    if not 2 <= len(parts) <= 5 or len(text) > 60:
        return False
    main_parts = [part for part in parts if part.lower() not in _PARTICLES]
    return (
        len(main_parts) >= 2
        and all(
            part[0].isupper() and not any(c.isdigit() or c in "@/()[]" for c in part)
            for part in main_parts
        )
        and any(len(part.rstrip(".")) > 1 for part in main_parts)
        and not (len(main_parts[-1]) == 2 and main_parts[-1].isupper())
        and not has_place_word(text)
    )
