"""Extract the article of a page: its text, date, title, authors and rights.

A classifier selects the blocks of the article. If the classifier is uncertain, the library
trafilatura is run too. If the page has much more text than was selected, the results of other
methods are compared. Nothing is fetched.

Limits: pages of up to 10 MB. In pages with over 20,000 elements, 5,000 links or 250 levels,
paragraphs are extracted tag by tag, without the tree of the page.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import trafilatura
from lxml import etree
from lxml.etree import _Element as Element
from lxml.html import HTMLParser
from numpy.typing import NDArray
from trafilatura.settings import Document

from fonds.extract.article.blocks import Block, Node, read_blocks
from fonds.extract.article.byline import find_authors
from fonds.extract.article.classifier import (
    KEEP_THRESHOLD,
    apply_opinion,
    compute_uncertainty,
    load_layers,
    score_blocks,
)
from fonds.extract.article.dates import PageDates, PageLayout, find_dates
from fonds.extract.article.features import PageClaims, compute_features
from fonds.extract.article.head import PageHead, choose_title, read_head
from fonds.extract.article.linked_data import LinkedData, read_linked_data
from fonds.extract.article.paragraphs import ENOUGH_CHARS, extract_paragraphs
from fonds.extract.article.rights import read_page_rights
from fonds.model.rights import Statement

ELEMENTS_MAX = 20_000
LINKS_MAX = 5_000
DEPTH_MAX = 250
"""Limits of a page's tree: elements, links and levels. The text of pages with larger trees is read
tag by tag, without the tree.

The run time of tree walkers grows with the square of some sizes: 300,000 links kept trafilatura
busy for a minute. The largest of 526 news pages has 7,417 elements and 2,492 links.
"""

SCRIPT_MAX_CHARS = 1_000_000
"""Maximum length of a script of a page in which trafilatura searches for an article. One of 9 MB
took 18 seconds and 1.7 GB.
"""

DOUBT_MAX = 0.18
"""Uncertainty (0 to about 1) of the classifier above which trafilatura is run too. One page in five
is above.
"""

OPINION_STRENGTH = 1.8
"""Change of a block's logit by the result of trafilatura: added if trafilatura's text contains the
block, otherwise subtracted.
"""

STUB_SHARE = 0.4
"""A text is a stub if its prose is shorter than this share of the prose that another
method found.
"""

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_CONTROLS_TO_SPACES = bytes(
    32 if _CONTROLS.match(chr(code)) and code < 128 else code for code in range(256)
)
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "؟", "”", '"', "»")
_PROSE_LINE_CHARS = 40
_NOT_WORD = re.compile(r"\W+")

Floats = NDArray[np.float32]

# Its complaints about single pages would otherwise go to standard error.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Article:
    """The article of a page.

    - `text`: text with one paragraph per line, in NFC; '' if there is none.
    - `method`: how the text was found: `blocks` (classifier), `blocks+trafilatura`, `json-ld`,
      `trafilatura` or `paragraphs`; None without text.
    - `head`: what the head of the page states, such as its title and meta tags.
    - `linked`: what the JSON-LD of the page states.
    - `authors_source`: where the authors' names were found; None without authors.
    - `rights`: statements of the page about its licence and permitted use.
    """

    text: str
    method: str | None
    title: str | None
    dates: PageDates
    head: PageHead
    linked: LinkedData = field(default_factory=LinkedData)
    authors: tuple[str, ...] = ()
    authors_source: str | None = None
    rights: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """A parsed page, with what the extraction of its article needs.

    - `markup`: the parsed markup, as UTF-8.
    - `marked`: elements with an attribute `itemprop`.
    - `head`, `linked`: what the head and the JSON-LD of the page state.
    - `blocks`, `nodes`: blocks of the page in reading order, and the block elements of the page.
    - `features`: features of the blocks for the classifier, one row per block; None without blocks,
      or if the tree is too large.
    """

    markup: bytes
    tree: Element
    marked: list[Element]
    head: PageHead
    linked: LinkedData
    blocks: list[Block]
    nodes: list[Node]
    features: Floats | None


_NO_HEAD = PageHead(meta={}, title="", headings=(), canonical="", language=None)


def extract_article(markup: str, url: str | None, newest: date) -> Article:
    """Extract the article of a page. `url` is its web URL, or None. Dates after `newest` are
    ignored.
    """
    page = read_page(markup)
    if page is None:
        text = normalize_text(extract_paragraphs(_CONTROLS.sub(" ", markup)))
        return Article(text, "paragraphs" if text else None, None, PageDates(), _NO_HEAD)
    likely = None if page.features is None else score_blocks(load_layers(), page.features)
    dates = _find_dates(page, likely, markup, url, newest)
    authors, source = find_authors(
        page.tree, page.marked, page.head, page.linked, page.blocks, page.nodes
    )
    title = choose_title(page.head, page.linked.headline, url or "")
    text, method = _choose_text(page, likely, markup)
    rights = read_page_rights(page.markup, page.tree, page.linked, url or "")
    return Article(text, method, title, dates, page.head, page.linked, authors, source, rights)


def read_page(markup: str) -> PageAnalysis | None:
    """Parse a page and compute the features of its blocks; None if the markup has no elements."""
    data = markup.encode("utf-8", "replace").translate(_CONTROLS_TO_SPACES)
    # Python's element classes for HTML cost a call for each element visited.
    tree = _parse(data, etree.HTMLParser)
    if tree is None:
        return None
    head = read_head(tree)
    if _is_too_large(tree):
        return PageAnalysis(data, tree, [], head, LinkedData(), [], [], None)
    marked_elements = tree.xpath("//*[@itemprop]") if b"itemprop" in data.lower() else []
    linked_data = read_linked_data(tree)
    blocks, nodes = read_blocks(tree)
    meta = head.meta
    claims = PageClaims(
        title=meta.get("og:title") or linked_data.headline or head.title,
        description=meta.get("description") or meta.get("og:description") or "",
        body=linked_data.body,
    )
    features = compute_features(blocks, nodes, claims) if blocks else None
    return PageAnalysis(data, tree, marked_elements, head, linked_data, blocks, nodes, features)


def _parse(data: bytes, kind: type[etree.HTMLParser]) -> Element | None:
    """Parse a page in UTF-8; None if it has no elements.

    The parser stops at a depth of 2,048. A tree of that depth counts as too large, so the article
    is extracted without the tree.
    """
    parser = kind(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        default_doctype=False,
        huge_tree=True,
    )
    try:
        return etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError):
        return None


def _is_too_large(tree: Element) -> bool:
    if tree.xpath("count(//*)") > ELEMENTS_MAX or tree.xpath("count(//a)") > LINKS_MAX:
        return True
    deeper = "/*" * DEPTH_MAX
    return bool(tree.getroottree().xpath(f"boolean({deeper})"))


def _find_head(tree: Element) -> Element | None:
    head = tree.find("head")
    return None if head is None or len(head) > ELEMENTS_MAX else head


def _choose_text(page: PageAnalysis, scores: Floats | None, markup: str) -> tuple[str, str | None]:
    """Return the text of the article and the name of the method that found it.

    The text is that of the blocks the classifier selected (`scores` are their probabilities),
    unless the text of another method is better. Without `scores`, it is the paragraphs of the
    markup.
    """
    if scores is None or page.features is None:
        text = normalize_text(extract_paragraphs(_CONTROLS.sub(" ", markup)))
        return text, "paragraphs" if text else None
    method, opinion = "blocks", ""
    if compute_uncertainty(scores, page.features) > DOUBT_MAX:
        opinion = _run_trafilatura(page.markup)
        if len(opinion) >= ENOUGH_CHARS:
            squashed_opinion = _squash(opinion)
            agrees = np.array(
                [_squash(score.text[:400]) in squashed_opinion for score in page.blocks]
            )
            scores = apply_opinion(scores, agrees, OPINION_STRENGTH)
            method = "blocks+trafilatura"
    kept_texts = (
        block.text
        for block, score in zip(page.blocks, scores, strict=True)
        if score >= KEEP_THRESHOLD
    )
    text = normalize_text("\n".join(kept_texts))
    return _improve_text(text, method, opinion, page, markup)


def _improve_text(
    text: str, method: str, opinion: str, page: PageAnalysis, markup: str
) -> tuple[str, str | None]:
    """Return the text of another method and that method's name if `text` is only a stub of the
    article; otherwise `text` and `method`.

    The other texts come from JSON-LD, trafilatura (`opinion` is its text if it was run before) and
    the paragraphs of the markup.
    """
    readings = [
        (normalize_text(page.linked.body), "json-ld"),
        (normalize_text(opinion), "trafilatura"),
    ]
    if len(text) < ENOUGH_CHARS:
        if not opinion:
            readings.append((normalize_text(_run_trafilatura(page.markup)), "trafilatura"))
        readings.append(
            (normalize_text(extract_paragraphs(_CONTROLS.sub(" ", markup))), "paragraphs")
        )
    prose = count_prose_chars(text)
    for reading, name in readings:
        if len(reading) >= ENOUGH_CHARS or not text:
            reading_prose = count_prose_chars(reading)
            if prose < STUB_SHARE * reading_prose or (not text and reading):
                text, method, prose = reading, name, reading_prose
    return text, method if text else None


def _run_trafilatura(markup: bytes) -> str:
    """Return the text of the article that the library trafilatura finds; '' if it finds none or
    fails.

    The markup is parsed again, because trafilatura modifies the tree.
    """
    tree = _parse(markup, HTMLParser)
    if tree is None:
        return ""
    _remove_expensive_parts(tree)
    try:
        document = trafilatura.bare_extraction(
            tree, fast=True, include_comments=False, favor_recall=True
        )
    except Exception:  # noqa: BLE001 A fault in the library costs this page one candidate, not its text.
        return ""
    return (document.text or "") if isinstance(document, Document) else ""


def _remove_expensive_parts(tree: Element) -> None:
    """Remove what makes trafilatura slow: the attributes `colspan` and `rowspan` of table cells,
    and the text of scripts longer than any article.

    For 40,000 cells of 99 by 99, trafilatura took over eight minutes.
    """
    etree.strip_attributes(tree, "colspan", "rowspan")
    for script in tree.iter("script"):
        if script.text and len(script.text) > SCRIPT_MAX_CHARS:
            script.text = None


def _find_dates(
    page: PageAnalysis, scores: Floats | None, markup: str, url: str | None, newest: date
) -> PageDates:
    """Return the dates of a page. If its tree is too large, only its head and URL are searched."""
    if scores is None:
        head = _find_head(page.tree)
        if head is None:
            return PageDates()
        dated_elements = head.xpath(".//*[@itemprop]")
        return find_dates(
            head, dated_elements, page.head, page.linked, PageLayout(), "", url, newest
        )
    article_rows = [
        row
        for row, score in enumerate(scores)
        if score >= KEEP_THRESHOLD and len(page.blocks[row].text) > 80
    ]
    layout = PageLayout(page.blocks, page.nodes, article_rows)
    return find_dates(page.tree, page.marked, page.head, page.linked, layout, markup, url, newest)


def count_prose_chars(text: str) -> int:
    """Return the number of characters in lines that read like sentences: lines of at least 40
    characters, and lines that end like a sentence.
    """
    lines = text.split("\n")
    return sum(
        len(line)
        for line in lines
        if len(line) >= _PROSE_LINE_CHARS or line.endswith(_SENTENCE_ENDS)
    )


def normalize_text(text: str) -> str:
    """Normalize a text: NFC, one paragraph per line, no blank lines, single spaces, no control
    characters.
    """
    text = unicodedata.normalize("NFC", _CONTROLS.sub("", text))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _squash(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()
