"""The article in a page: its text, its date, its title.

A model judges the page's blocks; where it is in doubt trafilatura is asked, and where the page holds
much more than what was kept, other readings are weighed against it. Nothing is ever fetched here.
Bound: pages of up to 10 MB; those with over 20,000 elements, 5,000 links or 250 levels are read by
`extract_paragraphs` alone.
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
"""Larger trees are read paragraph by paragraph: the time of what walks them grows with the square of some
shapes, 300,000 links held trafilatura for a minute. The largest of 526 news pages has 7,417 elements and
2,492 links."""

SCRIPT_MAX_CHARS = 1_000_000
"""Longer scripts are not searched for embedded articles: one of 9 MB took 18 seconds and 1.7 GB."""

DOUBT_MAX = 0.18
"""With more doubt than this trafilatura is asked too: one page of five."""

OPINION_STRENGTH = 1.8
"""What trafilatura's opinion adds to the logit of a block it has too, or takes from one it has not."""

STUB_SHARE = 0.4
"""A text with less than this share of the prose another reading found is a stub of it."""

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_CONTROLS_TO_SPACES = bytes(
    32 if _CONTROLS.match(chr(one)) and one < 128 else one for one in range(256)
)
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "؟", "”", '"', "»")
_PROSE_LINE_CHARS = 40
_NOT_WORD = re.compile(r"\W+")

Floats = NDArray[np.float32]

# Its complaints about single pages would otherwise go to standard error.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Article:
    """What a page holds. `text` has a paragraph a line, in NFC; "" when there is none.

    `method` names what found the text: `blocks`, `blocks+trafilatura`, `json-ld`, `trafilatura` or
    `extract_paragraphs`; None without text. `head`, `linked` and `rights` are what the page says of itself.
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
    """A page taken apart. `features` has a row a block; None for a tree too large to be walked.

    `markup` is what was parsed; `marked` are the elements with an `itemprop`.
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
    """Read a page. `url` is its address on the web, None when unknown; no date after `newest` is taken."""
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
    """Take a page apart; None when there is no tree in it."""
    data = markup.encode("utf-8", "replace").translate(_CONTROLS_TO_SPACES)
    # Python's classes for elements of HTML cost a call for each one that is looked at.
    tree = _parse(data, etree.HTMLParser)
    if tree is None:
        return None
    head = read_head(tree)
    if _is_heavy(tree):
        return PageAnalysis(data, tree, [], head, LinkedData(), [], [], None)
    marked = tree.xpath("//*[@itemprop]") if b"itemprop" in data.lower() else []
    linked = read_linked_data(tree)
    blocks, nodes = read_blocks(tree)
    meta = head.meta
    said = PageClaims(
        title=meta.get("og:title") or linked.headline or head.title,
        description=meta.get("description") or meta.get("og:description") or "",
        body=linked.body,
    )
    features = compute_features(blocks, nodes, said) if blocks else None
    return PageAnalysis(data, tree, marked, head, linked, blocks, nodes, features)


def _parse(data: bytes, kind: type[etree.HTMLParser]) -> Element | None:
    """The tree of a page in UTF-8; None when there is none.

    The parser stops 2,048 elements deep; such a tree is heavy, and its page is read without it.
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


def _is_heavy(tree: Element) -> bool:
    if tree.xpath("count(//*)") > ELEMENTS_MAX or tree.xpath("count(//a)") > LINKS_MAX:
        return True
    deeper = "/*" * DEPTH_MAX
    return bool(tree.getroottree().xpath(f"boolean({deeper})"))


def _find_head(tree: Element) -> Element | None:
    head = tree.find("head")
    return None if head is None or len(head) > ELEMENTS_MAX else head


def _choose_text(page: PageAnalysis, scores: Floats | None, markup: str) -> tuple[str, str | None]:
    """The best text and what found it: the blocks judged, and weighed against what else the page holds."""
    if scores is None or page.features is None:
        text = normalize_text(extract_paragraphs(_CONTROLS.sub(" ", markup)))
        return text, "paragraphs" if text else None
    method, opinion = "blocks", ""
    if compute_uncertainty(scores, page.features) > DOUBT_MAX:
        opinion = _run_trafilatura(page.markup)
        if len(opinion) >= ENOUGH_CHARS:
            squashed = _squash(opinion)
            agrees = np.array([_squash(one.text[:400]) in squashed for one in page.blocks])
            scores = apply_opinion(scores, agrees, OPINION_STRENGTH)
            method = "blocks+trafilatura"
    kept = (
        block.text for block, one in zip(page.blocks, scores, strict=True) if one >= KEEP_THRESHOLD
    )
    text = normalize_text("\n".join(kept))
    return _improve_text(text, method, opinion, page, markup)


def _improve_text(
    text: str, method: str, opinion: str, page: PageAnalysis, markup: str
) -> tuple[str, str | None]:
    """The text, unless it is a stub beside what the page states, another reader or its paragraphs hold."""
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
    for other, name in readings:
        if len(other) >= ENOUGH_CHARS or not text:
            found = count_prose_chars(other)
            if prose < STUB_SHARE * found or (not text and other):
                text, method, prose = other, name, found
    return text, method if text else None


def _run_trafilatura(markup: bytes) -> str:
    """What trafilatura finds; it wants elements of classes of their own, and changes them."""
    tree = _parse(markup, HTMLParser)
    if tree is None:
        return ""
    _defuse(tree)
    try:
        document = trafilatura.bare_extraction(
            tree, fast=True, include_comments=False, favor_recall=True
        )
    except Exception:  # noqa: BLE001 A fault in the library costs this page one candidate, not its text.
        return ""
    return (document.text or "") if isinstance(document, Document) else ""


def _defuse(tree: Element) -> None:
    """Take out of a tree what multiplies: spans of cells (40,000 of 99 by 99 held trafilatura for over
    eight minutes), and scripts of a size no article has.
    """
    etree.strip_attributes(tree, "colspan", "rowspan")
    for script in tree.iter("script"):
        if script.text and len(script.text) > SCRIPT_MAX_CHARS:
            script.text = None


def _find_dates(
    page: PageAnalysis, scores: Floats | None, markup: str, url: str | None, newest: date
) -> PageDates:
    """The page's dates; of a tree too large to be walked, those its head and address tell."""
    if scores is None:
        head = _find_head(page.tree)
        if head is None:
            return PageDates()
        stated = head.xpath(".//*[@itemprop]")
        return find_dates(head, stated, page.head, page.linked, PageLayout(), "", url, newest)
    kept = [
        row
        for row, one in enumerate(scores)
        if one >= KEEP_THRESHOLD and len(page.blocks[row].text) > 80
    ]
    layout = PageLayout(page.blocks, page.nodes, kept)
    return find_dates(page.tree, page.marked, page.head, page.linked, layout, markup, url, newest)


def count_prose_chars(text: str) -> int:
    """How much of a text is in lines that read like sentences, in characters."""
    lines = text.split("\n")
    return sum(
        len(line)
        for line in lines
        if len(line) >= _PROSE_LINE_CHARS or line.endswith(_SENTENCE_ENDS)
    )


def normalize_text(text: str) -> str:
    """NFC, a paragraph a line, no blank lines, single spaces, no control characters."""
    text = unicodedata.normalize("NFC", _CONTROLS.sub("", text))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _squash(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()
