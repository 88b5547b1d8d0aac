"""Find when a page was published and modified.

Sources are JSON-LD, meta tags, microdata and time elements, the URL, text near the headline, and as
a last resort scripts and comments. If sources state different dates, the date that most kinds of
sources state is used. If a page states a time with an offset from UTC, its date is the date at that
offset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from lxml.etree import _Element as Element

from fonds.extract.article.blocks import PLACES, Block, Node
from fonds.extract.article.days import find_days, find_first_day, swap_day_and_month
from fonds.extract.article.head import PageHead
from fonds.extract.article.linked_data import LinkedData

# Names and words that mark dates in meta tags, elements, scripts and URLs.


_PUBLISHED_NAMES = """
    article:published_time article:published og:article:published_time og:published_time bt:pubdate
    datepublished date_published published published_date published_time published-date publish-date
    publish_date publishdate publication_date publication-date publicationdate pubdate pub_date pub-date
    parsely-pub-date sailthru.date dc.date dc.date.issued dc.date.created dc.created dc.issued dcterms.date
    dcterms.created dcterms.issued dcterms.available dc:date dc:created article.published article.created
    article:publicationdate article_date_original date date.created cxenseparse:recs:publishtime
    citation_publication_date citation_date citation_online_date rnews:datepublished
    originalpublicationdate displaydate lw.publish_date analyticsattributes.articledate
    dcsext.articlefirstpublished shareaholic:article_published_time gentime news:published
    vr:published_time ptime article:post_date eprints.date created creation_date datecreated
    video:release_date ob:publish_date sort_date publishedat published_at mediator_published_time
    article:create_at dateline release_date content_create_date
"""
_MODIFIED_NAMES = """
    article:modified_time og:updated_time og:article:modified_time article:updated_time article:modified
    datemodified modified modified_time last-modified lastmodified last_modified dcterms.modified
    dc.date.modified dc.modified lastmod date.modified date_modified updated_time updated revised lastupdate
"""
PUBLISHED_META = frozenset(_PUBLISHED_NAMES.split())
MODIFIED_META = frozenset(_MODIFIED_NAMES.split())

PUBLISHED_IN_NAMES = re.compile(
    r"datepublished|\bpublished\b|entry-date|pubdate|post-?date|published_?(?:date|time)|publish[-_]?date|datecreated",
    re.I,
)
MODIFIED_IN_NAMES = re.compile(r"modified|update|aktualis|modific|changed|revision", re.I)
DATE_IN_NAMES = re.compile(
    r"date|datum|fecha|publi|posted|time|byline|meta|created|submitted|info|zeit|data\b|pub"
    r"|(?:post|entry|article)-footer",
    re.I,
)
MODIFIED_WORDS = re.compile(
    r"updat|modif|aktualisiert|ge[aä]ndert|actualiz|mis à jour|maj\b|aggiorn|edited|обновл|gewijzigd|stand\b",
    re.I,
)
PUBLISHED_WORDS = re.compile(
    r"publish|posted|ver[öo]ffentlicht|publi[cé]|pubblicat|erschienen|erstellt|written|created|geschrieben"
    r"|опубл|geplaatst|datum|date|am\b",
    re.I,
)
UNRELATED_NAMES = re.compile(
    r"comment|related|sidebar|widget|recent|latest|teaser|more|aside|popular|card|promo|recommend"
    r"|(?<!post-)(?<!entry-)(?<!article-)footer",
    re.I,
)
"""Classes and ids of elements that do not belong to the article. The footer of an article is not
matched, because it may state date and authors.
"""
_KEY = r"""["'](?:{})\\?["']\s*[:=,]\s*\\?["']([^"'\\]{{8,40}})"""
SCRIPT_DATE = re.compile(
    _KEY.format(
        r"datePublished|publish(?:ed)?_?(?:date|time|at|on)|pub_?date|publication_?date|dateCreated"
        r"|created_?(?:at|on|time)|post_?date|first_?published(?:_?at)?"
    ),
    re.I,
)
SCRIPT_CHANGE_DATE = re.compile(
    _KEY.format(r"dateModified|modif(?:ied)?_?(?:date|time|at|on)|updated_?(?:at|on|time|date)?"),
    re.I,
)
URL_DATE = re.compile(
    r"[/_.-]((?:19[89]|20[0-4])\d)[/_.-]?(0[1-9]|1[0-2])[/_.-]?(0[1-9]|[12]\d|3[01])(?!\d)"
    r"|[/-]((?:19[89]|20[0-4])\d)/(1[0-2]|[1-9])/(3[01]|[12]\d|[1-9])(?=[/-])"
)


OLDEST = date(1990, 1, 1)
MARKUP_MAX_CHARS = 600_000
ELEMENTS_MAX = 200
LABEL_MAX_CHARS = 25
"""Limits of the search: characters of scripts and comments, number of elements with times, and
length of a date's label.
"""

_COMMENT = re.compile(r"<!--([^<>]{6,200})-->")
_STAMP = re.compile(r"1[0-9]{9}(?:[0-9]{3})?")
_UTC_HOUR = re.compile(r"[T ](\d\d):\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]00:?00)$")
_NUMBERS = re.compile(r"\d{4}|\d[./-]\d")
_MONTH_FIRST = frozenset({"en", "en-us", "en-ph", ""})
_SCORE_MIN = 1.2
STATED_SOURCES = frozenset({"json-ld", "meta", "microdata"})
"""Sources in which pages state their publication date for programs."""
_UNRELATED_PLACES = sum(1 << PLACES[tag] for tag in ("aside", "nav", "footer"))
_MODIFIED_WEIGHT = 0.8


@dataclass(frozen=True, slots=True)
class DateFinding:
    """A date found in a page.

    - `day`: the date.
    - `source`: where the date was found: `json-ld`, `meta`, `microdata`, `time` (element), `url`,
      `text`, `script` or `comment`.
    - `confidence`: confidence that the date is right, 0 to 1.
    - `utc_hour`: hour of the stated time, if it is in UTC; otherwise None.
    """

    day: date
    source: str
    confidence: float
    utc_hour: int | None = None


@dataclass(frozen=True, slots=True)
class PageDates:
    """When a page was published and when it was modified; None if unknown."""

    published: DateFinding | None = None
    modified: DateFinding | None = None


@dataclass(frozen=True, slots=True)
class PageLayout:
    """Blocks of a page, and which of them are the article.

    - `blocks`, `nodes`: blocks in reading order, and the block elements of the page.
    - `article_rows`: indexes in `blocks` of the article's blocks with over 80 characters.

    All fields are empty for a page whose tree is too large.
    """

    blocks: Sequence[Block] = ()
    nodes: Sequence[Node] = ()
    article_rows: Sequence[int] = ()


@dataclass(slots=True)
class _DateSearch:
    newest: date
    is_month_first: bool
    published: list[DateFinding] = field(default_factory=list)
    modified: list[DateFinding] = field(default_factory=list)
    ambiguous_days: dict[date, date] = field(default_factory=dict)
    """Other meaning of each ambiguous date: 11/01/2023 is 11 January or 1 November."""

    def is_possible(self, day: date) -> bool:
        return OLDEST <= day <= self.newest

    def parse(self, text: str) -> tuple[date, int | None] | None:
        text = text.strip()[:200]
        if _STAMP.fullmatch(text):
            day: date | None = datetime.fromtimestamp(int(text[:10]), UTC).date()
        else:
            day = find_first_day(text, month_first=self.is_month_first)
        if day is None or not self.is_possible(day):
            return None
        if (swapped_day := swap_day_and_month(text, day)) is not None and self.is_possible(
            swapped_day
        ):
            self.ambiguous_days[day] = swapped_day
        hour = _UTC_HOUR.search(text)
        return day, int(hour[1]) if hour else None

    def add_finding(
        self, findings: list[DateFinding], text: str | None, source: str, confidence: float
    ) -> bool:
        parsed_date = self.parse(text) if text else None
        if parsed_date:
            findings.append(DateFinding(parsed_date[0], source, confidence, parsed_date[1]))
        return parsed_date is not None


def find_dates(
    tree: Element,
    marked_elements: Sequence[Element],
    head: PageHead,
    linked_data: LinkedData,
    layout: PageLayout,
    markup: str,
    url: str | None,
    newest: date,
) -> PageDates:
    """Search a page for the dates when it was published and modified; dates after `newest` are
    ignored. Never raises.

    `marked_elements` are the elements with an `itemprop`, in page order.
    """
    language = (head.language or "").lower().replace("_", "-")
    search = _DateSearch(newest, language in _MONTH_FIRST)
    search.add_finding(search.published, linked_data.published, "json-ld", 0.95)
    search.add_finding(search.modified, linked_data.modified, "json-ld", 0.95)
    for name, value in head.meta.items():
        if name in PUBLISHED_META:
            search.add_finding(search.published, value, "meta", 0.85 if name == "date" else 0.9)
        elif name in MODIFIED_META:
            search.add_finding(search.modified, value, "meta", 0.9)
    _search_elements(tree, marked_elements, search)
    if (day := find_url_day(url)) and search.is_possible(day):
        search.published.append(DateFinding(day, "url", 0.8))
    _search_text(layout, search)
    _search_source(markup[:MARKUP_MAX_CHARS], linked_data, search)
    _resolve_ambiguous(search)
    return _choose_dates(search)


def _resolve_ambiguous(search: _DateSearch) -> None:
    """Replace an ambiguous date, such as 11/1/2023, by its other meaning if an unambiguous source
    states the other date.
    """
    sure_days = {
        finding.day for finding in search.published if finding.day not in search.ambiguous_days
    }
    for findings in (search.published, search.modified):
        findings[:] = [
            replace(finding, day=search.ambiguous_days[finding.day])
            if search.ambiguous_days.get(finding.day) in sure_days and finding.day not in sure_days
            else finding
            for finding in findings
        ]


def find_url_day(url: str | None) -> date | None:
    """Return the date in a URL: `/2024/05/31/`, `-20240531`, `/31-05-2024`; None if there is
    none."""
    if not url:
        return None
    match = URL_DATE.search(url)
    if not match:
        return find_first_day(url.rstrip("/").rpartition("/")[2][:100])
    try:
        return date(*(int(part) for part in match.groups() if part))
    except ValueError:
        return None


def _search_elements(
    tree: Element, marked_elements: Sequence[Element], search: _DateSearch
) -> None:
    elements = [
        element_or_abbr
        for element_or_abbr in tree.iter("time", "abbr")
        if element_or_abbr.tag == "time" or element_or_abbr.get("title")
    ]
    elements += (
        element_or_abbr for element_or_abbr in marked_elements if element_or_abbr.tag != "time"
    )
    for element in elements[:ELEMENTS_MAX]:
        role = element.get("itemprop") or ("pubdate" if element.get("pubdate") is not None else "")
        names = f"{role} {element.get('class') or ''} {element.get('id') or ''}"
        if (
            element.tag != "time"
            and "date" not in role.lower()
            and not _is_dated_abbr(element, names)
        ):
            continue
        text = element.get("content") or element.get("datetime") or element.get("title") or ""
        if not search.parse(text):
            text = "".join(element.itertext())[:100]
        parent = element.getparent()
        parent_text = (
            "" if parent is None else f"{parent.get('class') or ''} {(parent.text or '')[:100]}"
        )
        if MODIFIED_IN_NAMES.search(names) or (not role and MODIFIED_IN_NAMES.search(parent_text)):
            search.add_finding(search.modified, text, "time", 0.8)
        elif PUBLISHED_IN_NAMES.search(names):
            search.add_finding(search.published, text, "microdata" if role else "time", 0.85)
        elif element.tag == "time" and not _is_unrelated(element):
            search.add_finding(search.published, text, "time", 0.6)


def _is_dated_abbr(element: Element, names: str) -> bool:
    return element.tag == "abbr" and any(word in names for word in ("published", "date", "time"))


def _is_unrelated(element: Element) -> bool:
    """Return whether an element is in a part of the page that does not belong to the article, such
    as `<aside>` or a list of related articles.
    """
    for distance, ancestor in enumerate(element.iterancestors()):
        if ancestor.tag in ("aside", "footer", "nav"):
            return True
        if ancestor.tag in ("main", "body") or distance > 8:
            return False
        if UNRELATED_NAMES.search(f"{ancestor.get('class') or ''} {ancestor.get('id') or ''}"):
            return True
    return False


def _search_text(layout: PageLayout, search: _DateSearch) -> None:
    """Search the text of a page for its dates, and add the findings to `search`.

    The likeliest publication date is near the headline, alone on a line, or in an element with a
    date-like class or id. This date is added only if it is likely enough.
    """
    blocks, nodes = layout.blocks, layout.nodes
    headline = next((row for row, block in enumerate(blocks) if nodes[block.node].tag == "h1"), 0)
    best: tuple[float, int, date] | None = None
    for row, block in enumerate(blocks):
        text = block.text if len(block.text) <= 300 else block.text[:60]
        if not _NUMBERS.search(text):
            continue
        for position, day in find_days(text, month_first=search.is_month_first):
            if not search.is_possible(day):
                continue
            preceding = text[max(0, position - 40) : position] or _find_label(row, blocks)
            if MODIFIED_WORDS.search(preceding):
                search.modified.append(DateFinding(day, "text", 0.5))
                continue
            score = _score_names(block, nodes, _is_near_text(row, layout)) + _score_position(
                row, headline, layout
            )
            score += 1.2 if PUBLISHED_WORDS.search(preceding) else 0
            score += 0.8 * (len(text) < 60) + 0.4 * (len(text) < 25)
            score -= 2 if "©" in text or "copyright" in text.lower() else 0
            best = max(best or (score, -row, day), (score, -row, day))
    if best and best[0] >= _SCORE_MIN:
        search.published.append(DateFinding(best[2], "text", min(0.75, 0.3 + best[0] / 10)))


def _find_label(row: int, blocks: Sequence[Block]) -> str:
    """Return the label of a date at the beginning of block number `row`: the text of the previous
    block, as in a list of facts.

    Return '' if the previous block is long or does not exist.
    """
    text = blocks[row - 1].text if row else ""
    return text if len(text) < LABEL_MAX_CHARS else ""


def _is_near_text(row: int, layout: PageLayout) -> bool:
    """Return whether block number `row` is in the text of the article or close to it."""
    return (
        bool(layout.article_rows)
        and layout.article_rows[0] - 2 <= row <= layout.article_rows[-1] + 1
    )


def _score_names(block: Block, nodes: Sequence[Node], at_the_text: bool) -> float:
    """Return how likely a date in a block is the publication date, by the classes and ids of the
    elements around it, and by its links.

    Names such as `published` increase the score. Names of unrelated parts and much linked text
    decrease it. With `at_the_text` (the block is near the article), an unrelated name of the parent
    element is ignored, because that element may contain the article too.
    """
    node = nodes[block.node]
    parent_node = nodes[max(node.parent, 0)]
    score = (
        1.5
        if DATE_IN_NAMES.search(node.names)
        else 0.8 * bool(DATE_IN_NAMES.search(parent_node.names))
    )
    if PUBLISHED_IN_NAMES.search(node.names):
        score += 0.8
    if UNRELATED_NAMES.search(node.names) or (
        UNRELATED_NAMES.search(parent_node.names) and not at_the_text
    ):
        score -= 1.2
    if node.places & _UNRELATED_PLACES:
        score -= 1.5
    return score - 0.5 * (block.linked_chars * 2 > len(block.text))


def _score_position(row: int, headline: int, layout: PageLayout) -> float:
    """Return how likely a date in block number `row` is the publication date, by its position.

    The score is higher near the headline (block number `headline`) and near the beginning of the
    article than within or far after the article.
    """
    score = 1.5 * max(0.0, 1 - abs(row - headline) / 8) if row >= headline - 3 else 0.0
    first_row, last_row = (
        (layout.article_rows[0], layout.article_rows[-1])
        if layout.article_rows
        else (headline, len(layout.blocks))
    )
    score += 1.5 * max(0.0, 1 - abs(row - first_row) / 8)
    if layout.article_rows and first_row <= row <= last_row and len(layout.blocks[row].text) > 60:
        score -= 0.5
    return score - (row > last_row + 6)


def _search_source(markup: str, linked_data: LinkedData, search: _DateSearch) -> None:
    """Search scripts and comments for dates that are not stated elsewhere, and add the findings to
    `search`.

    Scripts are searched for a publication date if JSON-LD states none. They are skipped if another
    source states one and the markup does not mention `datePublished`. They are searched for a
    modification date, and comments for a publication date, only if no such date was found before.
    """
    is_stated = bool(linked_data.published) or (search.published and "datePublished" not in markup)
    if not is_stated and (match := SCRIPT_DATE.search(markup)):
        confidence = 0.85 if "datepublished" in match[0].lower() else 0.6
        search.add_finding(search.published, match[1], "script", confidence)
    if not search.modified and (match := SCRIPT_CHANGE_DATE.search(markup)):
        search.add_finding(search.modified, match[1], "script", 0.6)
    if not search.published:
        for comment in _COMMENT.finditer(markup):
            if search.add_finding(search.published, comment[1], "comment", 0.4):
                return


def _choose_dates(search: _DateSearch) -> PageDates:
    modified_finding = max(search.modified, key=lambda finding: finding.confidence, default=None)
    published_finding = _choose_most_agreed(search)
    if published_finding is None:
        # A modified page existed before; nothing better is known.
        return PageDates(
            replace(modified_finding, confidence=modified_finding.confidence / 2)
            if modified_finding
            else None,
            modified_finding,
        )
    return PageDates(_localize(published_finding, search), modified_finding)


def _choose_most_agreed(search: _DateSearch) -> DateFinding | None:
    """Return the publication date that most kinds of sources state, as the finding with the highest
    confidence; None if none was found.

    A date that is also the modification date has less weight.
    """
    if not search.published:
        return None
    changes = {finding.day for finding in search.modified if finding.source in ("json-ld", "meta")}
    is_stated_earlier = any(
        finding.source in ("json-ld", "meta") and finding.day < min(changes)
        for finding in search.published
        if changes
    )
    best: dict[tuple[date, str], DateFinding] = {}
    for finding in search.published:
        best_known = best.get((finding.day, finding.source))
        if best_known is None or best_known.confidence < finding.confidence:
            best[finding.day, finding.source] = finding
    weights: dict[date, float] = {}
    for (day, source), finding in best.items():
        is_of_change = day in changes and (is_stated_earlier or source in ("text", "time"))
        weights[day] = weights.get(day, 0) + finding.confidence * (
            _MODIFIED_WEIGHT if is_of_change else 1
        )
    best_day = max(weights, key=lambda day: (weights[day], -day.toordinal()))
    return max(
        (finding for finding in best.values() if finding.day == best_day),
        key=lambda finding: finding.confidence,
    )


def _localize(finding: DateFinding, search: _DateSearch) -> DateFinding:
    """Return the finding with the date in the page's own time zone, if its date is in UTC and
    another source states the neighbouring day.

    At times from 14:00 UTC the neighbouring day is the next day, as in time zones further east.
    Before 8:00 UTC it is the previous day, as in America. The date stays unchanged if the
    neighbouring day is a modification date.
    """
    hour = finding.utc_hour
    if hour is None or 8 <= hour < 14:
        return finding
    neighbour_day = finding.day + timedelta(days=1 if hour >= 14 else -1)
    written_sources = ("url", "text", "time", "microdata")
    is_confirmed = neighbour_day not in {
        date_finding.day for date_finding in search.modified
    } and any(
        date_finding.day == neighbour_day
        and date_finding.utc_hour is None
        and date_finding.source in written_sources
        for date_finding in search.published
    )
    return replace(finding, day=neighbour_day) if is_confirmed else finding
