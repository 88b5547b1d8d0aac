"""When a page was published and when it was changed: what it states, and what is written on it.

Asked are JSON-LD, meta tags, microdata and time elements, the address, what is written near the headline, and
only where there is nothing better scripts and comments. Of days that differ the one most kinds of places
agree on is taken. A day is the one on the page's own calendar where it gives an offset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from lxml.etree import _Element as Element

from fonds.extract.article.blocks import PLACES, Block, Node
from fonds.extract.article.dates.days import days, first_day, turned_day
from fonds.extract.article.dates.signs import (
    BESIDE,
    DATE_IN_NAMES,
    IN_URL,
    MODIFIED_IN_NAMES,
    MODIFIED_META,
    MODIFIED_WORDS,
    PUBLISHED_IN_NAMES,
    PUBLISHED_META,
    PUBLISHED_WORDS,
    SCRIPTED,
    SCRIPTED_CHANGE,
)
from fonds.extract.article.head import PageHead
from fonds.extract.article.linked_data import LinkedData

OLDEST = date(1990, 1, 1)
MARKUP_CHARS_MAX = 600_000
ELEMENTS_MAX = 200
LABEL_CHARS_MAX = 25
"""How much is searched: of the markup for scripts and comments, and of elements that hold times."""

_COMMENT = re.compile(r"<!--([^<>]{6,200})-->")
_STAMP = re.compile(r"1[0-9]{9}(?:[0-9]{3})?")
_UTC_HOUR = re.compile(r"[T ](\d\d):\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]00:?00)$")
_NUMBERS = re.compile(r"\d{4}|\d[./-]\d")
_MONTH_FIRST = frozenset({"en", "en-us", "en-ph", ""})
_SCORE_MIN = 1.2
STATED = frozenset({"json-ld", "meta", "microdata"})
"""Kinds of places in which pages state when they were published, for machines."""
_AROUND = sum(1 << PLACES[tag] for tag in ("aside", "nav", "footer"))
_CHANGED_WORTH = 0.8


@dataclass(frozen=True, slots=True)
class Dated:
    """A day, the kind of place it was found in, and how far that is to be believed, 0 to 1.

    `source` is `json-ld`, `meta`, `microdata`, `time`, `url`, `text`, `script` or `comment`. `utc_hour` is
    None where the moment was not given in UTC.
    """

    day: date
    source: str
    confidence: float
    utc_hour: int | None = None


@dataclass(frozen=True, slots=True)
class Dates:
    """When a page was published and changed; None where nothing tells."""

    published: Dated | None = None
    modified: Dated | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """A page's blocks in order, and which the article's text is made of; empty for trees too large."""

    blocks: Sequence[Block] = ()
    nodes: Sequence[Node] = ()
    kept: Sequence[int] = ()


@dataclass(slots=True)
class _Search:
    newest: date
    month_first: bool
    published: list[Dated] = field(default_factory=list)
    modified: list[Dated] = field(default_factory=list)
    turned: dict[date, date] = field(default_factory=dict)
    """Of days that may be read two ways, as 11/01/2023, the way they were not read."""

    def is_possible(self, day: date) -> bool:
        return OLDEST <= day <= self.newest

    def read(self, said: str) -> tuple[date, int | None] | None:
        said = said.strip()[:200]
        if _STAMP.fullmatch(said):
            day: date | None = datetime.fromtimestamp(int(said[:10]), UTC).date()
        else:
            day = first_day(said, month_first=self.month_first)
        if day is None or not self.is_possible(day):
            return None
        if (other := turned_day(said, day)) is not None and self.is_possible(other):
            self.turned[day] = other
        hour = _UTC_HOUR.search(said)
        return day, int(hour[1]) if hour else None

    def add(self, into: list[Dated], said: str | None, source: str, confidence: float) -> bool:
        found = self.read(said) if said else None
        if found:
            into.append(Dated(found[0], source, confidence, found[1]))
        return found is not None


def find_dates(
    tree: Element,
    marked: Sequence[Element],
    head: PageHead,
    linked: LinkedData,
    layout: Layout,
    markup: str,
    url: str | None,
    newest: date,
) -> Dates:
    """Search a page for its dates; none after `newest` is taken. Never raises.

    `marked` are the elements with an `itemprop`, in their order.
    """
    language = (head.language or "").lower().replace("_", "-")
    search = _Search(newest, language in _MONTH_FIRST)
    search.add(search.published, linked.published, "json-ld", 0.95)
    search.add(search.modified, linked.modified, "json-ld", 0.95)
    for name, value in head.meta.items():
        if name in PUBLISHED_META:
            search.add(search.published, value, "meta", 0.85 if name == "date" else 0.9)
        elif name in MODIFIED_META:
            search.add(search.modified, value, "meta", 0.9)
    _from_elements(tree, marked, search)
    if (day := url_day(url)) and search.is_possible(day):
        search.published.append(Dated(day, "url", 0.8))
    _from_text(layout, search)
    _from_source(markup[:MARKUP_CHARS_MAX], linked, search)
    _turn(search)
    return _decided(search)


def _turn(search: _Search) -> None:
    """Read a day the other way where another place, which can be read in one way only, says that day."""
    sure = {one.day for one in search.published if one.day not in search.turned}
    for found in (search.published, search.modified):
        found[:] = [
            replace(one, day=search.turned[one.day])
            if search.turned.get(one.day) in sure and one.day not in sure
            else one
            for one in found
        ]


def url_day(url: str | None) -> date | None:
    """The day an address names: `/2024/05/31/`, `-20240531`, `/31-05-2024`; None for none."""
    if not url:
        return None
    found = IN_URL.search(url)
    if not found:
        return first_day(url.rstrip("/").rpartition("/")[2][:100])
    try:
        return date(*(int(part) for part in found.groups() if part))
    except ValueError:
        return None


def _from_elements(tree: Element, marked: Sequence[Element], search: _Search) -> None:
    said_by = [one for one in tree.iter("time", "abbr") if one.tag == "time" or one.get("title")]
    said_by += (one for one in marked if one.tag != "time")
    for element in said_by[:ELEMENTS_MAX]:
        role = element.get("itemprop") or ("pubdate" if element.get("pubdate") is not None else "")
        names = f"{role} {element.get('class') or ''} {element.get('id') or ''}"
        if (
            element.tag != "time"
            and "date" not in role.lower()
            and not _is_dated_abbr(element, names)
        ):
            continue
        said = element.get("content") or element.get("datetime") or element.get("title") or ""
        if not search.read(said):
            said = "".join(element.itertext())[:100]
        parent = element.getparent()
        around = (
            "" if parent is None else f"{parent.get('class') or ''} {(parent.text or '')[:100]}"
        )
        if MODIFIED_IN_NAMES.search(names) or (not role and MODIFIED_IN_NAMES.search(around)):
            search.add(search.modified, said, "time", 0.8)
        elif PUBLISHED_IN_NAMES.search(names):
            search.add(search.published, said, "microdata" if role else "time", 0.85)
        elif element.tag == "time" and not _is_beside(element):
            search.add(search.published, said, "time", 0.6)


def _is_dated_abbr(element: Element, names: str) -> bool:
    return element.tag == "abbr" and any(word in names for word in ("published", "date", "time"))


def _is_beside(element: Element) -> bool:
    """Whether an element belongs to something beside the article."""
    for distance, above in enumerate(element.iterancestors()):
        if above.tag in ("aside", "footer", "nav"):
            return True
        if above.tag in ("main", "body") or distance > 8:
            return False
        if BESIDE.search(f"{above.get('class') or ''} {above.get('id') or ''}"):
            return True
    return False


def _from_text(layout: Layout, search: _Search) -> None:
    """Days written on the page: near the headline, alone on a line, in elements named after dates."""
    blocks, nodes = layout.blocks, layout.nodes
    headline = next((row for row, block in enumerate(blocks) if nodes[block.node].tag == "h1"), 0)
    best: tuple[float, int, date] | None = None
    for row, block in enumerate(blocks):
        text = block.text if len(block.text) <= 300 else block.text[:60]
        if not _NUMBERS.search(text):
            continue
        for position, day in days(text, month_first=search.month_first):
            if not search.is_possible(day):
                continue
            before = text[max(0, position - 40) : position] or _label(row, blocks)
            if MODIFIED_WORDS.search(before):
                search.modified.append(Dated(day, "text", 0.5))
                continue
            score = _named(block, nodes, _is_at_the_text(row, layout)) + _placed(
                row, headline, layout
            )
            score += 1.2 if PUBLISHED_WORDS.search(before) else 0
            score += 0.8 * (len(text) < 60) + 0.4 * (len(text) < 25)
            score -= 2 if "©" in text or "copyright" in text.lower() else 0
            best = max(best or (score, -row, day), (score, -row, day))
    if best and best[0] >= _SCORE_MIN:
        search.published.append(Dated(best[2], "text", min(0.75, 0.3 + best[0] / 10)))


def _label(row: int, blocks: Sequence[Block]) -> str:
    """What stands before a day that begins its block: a short block, as the term of a list of facts."""
    text = blocks[row - 1].text if row else ""
    return text if len(text) < LABEL_CHARS_MAX else ""


def _is_at_the_text(row: int, layout: Layout) -> bool:
    """Whether a block stands within the article's text or right before or behind it."""
    return bool(layout.kept) and layout.kept[0] - 2 <= row <= layout.kept[-1] + 1


def _named(block: Block, nodes: Sequence[Node], at_the_text: bool) -> float:
    """What the names of elements and the links around a day say for its being the page's.

    What encloses the article's text too may be called what it likes.
    """
    node = nodes[block.node]
    around = nodes[max(node.parent, 0)]
    score = (
        1.5 if DATE_IN_NAMES.search(node.names) else 0.8 * bool(DATE_IN_NAMES.search(around.names))
    )
    if PUBLISHED_IN_NAMES.search(node.names):
        score += 0.8
    if BESIDE.search(node.names) or (BESIDE.search(around.names) and not at_the_text):
        score -= 1.2
    if node.places & _AROUND:
        score -= 1.5
    return score - 0.5 * (block.linked_chars * 2 > len(block.text))


def _placed(row: int, headline: int, layout: Layout) -> float:
    """What a day's place says: near the headline and the text's beginning, not inside or far behind it."""
    score = 1.5 * max(0.0, 1 - abs(row - headline) / 8) if row >= headline - 3 else 0.0
    first, last = (
        (layout.kept[0], layout.kept[-1]) if layout.kept else (headline, len(layout.blocks))
    )
    score += 1.5 * max(0.0, 1 - abs(row - first) / 8)
    if layout.kept and first <= row <= last and len(layout.blocks[row].text) > 60:
        score -= 0.5
    return score - (row > last + 6)


def _from_source(markup: str, linked: LinkedData, search: _Search) -> None:
    """What scripts and comments hold, where the page states nothing in JSON-LD."""
    is_stated = bool(linked.published) or (search.published and "datePublished" not in markup)
    if not is_stated and (found := SCRIPTED.search(markup)):
        confidence = 0.85 if "datepublished" in found[0].lower() else 0.6
        search.add(search.published, found[1], "script", confidence)
    if not search.modified and (found := SCRIPTED_CHANGE.search(markup)):
        search.add(search.modified, found[1], "script", 0.6)
    if not search.published:
        for comment in _COMMENT.finditer(markup):
            if search.add(search.published, comment[1], "comment", 0.4):
                return


def _decided(search: _Search) -> Dates:
    changed = max(search.modified, key=lambda one: one.confidence, default=None)
    published = _most_agreed(search)
    if published is None:
        # A page that was changed was there before; nothing better is known.
        return Dates(
            replace(changed, confidence=changed.confidence / 2) if changed else None, changed
        )
    return Dates(_local(published, search), changed)


def _most_agreed(search: _Search) -> Dated | None:
    """Of the day most kinds of places agree on, the best finding; a day of change is worth less."""
    if not search.published:
        return None
    changes = {one.day for one in search.modified if one.source in ("json-ld", "meta")}
    is_stated_earlier = any(
        one.source in ("json-ld", "meta") and one.day < min(changes)
        for one in search.published
        if changes
    )
    best: dict[tuple[date, str], Dated] = {}
    for one in search.published:
        known = best.get((one.day, one.source))
        if known is None or known.confidence < one.confidence:
            best[one.day, one.source] = one
    worth: dict[date, float] = {}
    for (day, source), one in best.items():
        is_of_change = day in changes and (is_stated_earlier or source in ("text", "time"))
        worth[day] = worth.get(day, 0) + one.confidence * (_CHANGED_WORTH if is_of_change else 1)
    chosen = max(worth, key=lambda day: (worth[day], -day.toordinal()))
    return max((one for one in best.values() if one.day == chosen), key=lambda one: one.confidence)


def _local(chosen: Dated, search: _Search) -> Dated:
    """The day on the page's own calendar, where the moment is in UTC and the page writes the day beside it.

    Late in Greenwich it is the next day further east; early there it is still the day before in America.
    A day the page was changed on is written for that.
    """
    hour = chosen.utc_hour
    if hour is None or 8 <= hour < 14:
        return chosen
    beside = chosen.day + timedelta(days=1 if hour >= 14 else -1)
    written = ("url", "text", "time", "microdata")
    agree = beside not in {one.day for one in search.modified} and any(
        one.day == beside and one.utc_hour is None and one.source in written
        for one in search.published
    )
    return replace(chosen, day=beside) if agree else chosen
